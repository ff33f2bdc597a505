# Finds what the CUDA backend needs: nvcc and the toolkit's headers (12.4 or later), cuDNN 9 and cudnn_frontend. Sets
# EPOCHBENCH_HAS_CUDA, and prints one message that names what is missing if it is off.
#
# EPOCHBENCH_CUDA                AUTO: if everything is found; ON: missing parts are an error; OFF
# EPOCHBENCH_CUDA_ARCHITECTURES  as CMAKE_CUDA_ARCHITECTURES, to build for these GPUs only; scripts/run names those of this machine
# CUDA_HOME (environment)        the toolkit's folder; without it PATH, /usr/local/cuda and EPOCHBENCH_PACKAGES are searched
# EPOCHBENCH_PACKAGES            folder of packages from the Python index (scripts/lib/cuda.sh fetches them), also searched
#                                for cuDNN and cudnn_frontend; may be an environment variable
# EPOCHBENCH_PYTHON              a Python; what its packages have of CUDA's libraries, as PyTorch's wheels bring them, is searched
#                                last. Without one that in PATH
#
# cuBLASLt and cuDNN are not linked: they are loaded when the first CUDA device is used, because linking them costs a CPU run
# 150 MB of memory (kernels/cuda/libraries/loaded_libraries.cpp). Sanitizer builds exclude CUDA.
set(EPOCHBENCH_CUDA AUTO CACHE STRING "CUDA backend: AUTO (if CUDA is found), ON or OFF")
set_property(CACHE EPOCHBENCH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(EPOCHBENCH_CUDA_ARCHITECTURES "" CACHE STRING "GPU architectures; empty: all supported ones that this nvcc knows")
set(default_packages "${PROJECT_BINARY_DIR}/packages")
if(DEFINED ENV{EPOCHBENCH_PACKAGES})
  set(default_packages "$ENV{EPOCHBENCH_PACKAGES}")
endif()
set(EPOCHBENCH_PACKAGES "${default_packages}" CACHE PATH "Folder with packages from the Python index")
set(EPOCHBENCH_HAS_CUDA FALSE)
set(EPOCHBENCH_GPU_CODE "")  # the architectures in the binary

include(EpochbenchCudaArchitectures)
include(EpochbenchFindCuda)

if(EPOCHBENCH_CUDA STREQUAL "OFF")
  message(STATUS "CUDA backend: off (EPOCHBENCH_CUDA)")
  set(EPOCHBENCH_CUDA_MISSING "EPOCHBENCH_CUDA is OFF" CACHE INTERNAL "Why there is no CUDA backend")
elseif(EPOCHBENCH_SANITIZE)
  message(STATUS "CUDA backend: off in sanitizer builds; its logic and kernels are tested on the CPU")
else()
  epochbench_find_cuda(cuda_missing)
  if(NOT cuda_missing)
    epochbench_cuda_architectures(CMAKE_CUDA_ARCHITECTURES)
    set(ENV{CUDACXX} ${EPOCHBENCH_NVCC})
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)  # for example, nvcc does not support the host compiler
      set(cuda_missing "${EPOCHBENCH_NVCC} does not work; see CMakeFiles/CMakeError.log in the build folder")
    endif()
  endif()
  if(NOT cuda_missing)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # nvcc supports C++20 since 12.0; some versions of CMake do not know that
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(EPOCHBENCH_HAS_CUDA TRUE)
    set(EPOCHBENCH_CUDA_MISSING "" CACHE INTERNAL "Why there is no CUDA backend")
    set(EPOCHBENCH_GPU_CODE ${CMAKE_CUDA_ARCHITECTURES})
    message(STATUS "CUDA backend: CUDA ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(EPOCHBENCH_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA backend: left out, ${cuda_missing}")
    set(EPOCHBENCH_CUDA_MISSING "${cuda_missing}" CACHE INTERNAL "Why there is no CUDA backend")
  else()
    message(FATAL_ERROR "EPOCHBENCH_CUDA is ${EPOCHBENCH_CUDA}, but ${cuda_missing}")
  endif()
endif()
