# The GPUs for which a build contains code.

set(supported_architectures 75 80 90 100 120)  # 8.6 and 8.9 run the machine code of 8.0

# SASS for every supported architecture that this nvcc knows, and PTX of the highest for later ones; or only the architectures of
# EPOCHBENCH_CUDA_ARCHITECTURES, unless nvcc does not know one of them or it is older than any supported.
function(epochbench_cuda_architectures result)
  execute_process(COMMAND ${EPOCHBENCH_NVCC} --list-gpu-arch OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(unknown "")
  foreach(architecture IN LISTS EPOCHBENCH_CUDA_ARCHITECTURES)
    string(REGEX MATCH "^[0-9]+" number "${architecture}")  # none of "native" and "all", which CMake knows
    if(number AND (number LESS 75 OR NOT known MATCHES "compute_${number}(\n|$)"))
      list(APPEND unknown ${architecture})
    endif()
  endforeach()
  if(EPOCHBENCH_CUDA_ARCHITECTURES AND NOT unknown)
    set(${result} ${EPOCHBENCH_CUDA_ARCHITECTURES} PARENT_SCOPE)
    return()
  elseif(unknown)
    message(STATUS "CUDA backend: ${EPOCHBENCH_NVCC} builds nothing for ${unknown}, so all architectures are built")
  endif()
  set(architectures "")
  foreach(architecture IN LISTS supported_architectures)
    if(known MATCHES "compute_${architecture}(\n|$)")
      list(APPEND architectures ${architecture}-real)
      set(highest ${architecture})
    endif()
  endforeach()
  if(NOT architectures)
    message(FATAL_ERROR "${EPOCHBENCH_NVCC} --list-gpu-arch names none of ${supported_architectures}")
  endif()
  set(${result} ${architectures} ${highest}-virtual PARENT_SCOPE)
endfunction()
