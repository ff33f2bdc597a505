# The GPUs for which a build contains code. Runs without a toolkit too: tests/kernels_cuda/cuda_lowest_architecture.cmake.

set(supported_architectures 75 80 90 100 120)  # 8.6 and 8.9 run the machine code of 8.0

# SASS for every supported architecture that this nvcc knows, and PTX of the highest for later ones.
function(epochbench_cuda_architectures result)
  if(EPOCHBENCH_CUDA_ARCHITECTURES)
    set(${result} ${EPOCHBENCH_CUDA_ARCHITECTURES} PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${EPOCHBENCH_NVCC} --list-gpu-arch OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE)
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

# The lowest architecture by number, 75 before 100; 0, which accepts every GPU, if CMake chooses (as with native).
function(epochbench_lowest_architecture result architectures)
  string(REGEX MATCHALL "[0-9]+" numbers "${architectures}")
  if(NOT numbers)
    set(numbers 0)
  endif()
  list(SORT numbers COMPARE NATURAL)
  list(GET numbers 0 lowest)
  set(${result} ${lowest} PARENT_SCOPE)
endfunction()
