# Finds what the CUDA backend needs: nvcc and the toolkit's headers (12.4 or later), cuDNN 9 and cudnn_frontend. Sets
# EPOCHBENCH_HAS_CUDA, and prints one message that names what is missing if it is off.
#
# EPOCHBENCH_CUDA                AUTO: if everything is found; ON: missing parts are an error; OFF
# EPOCHBENCH_CUDA_ARCHITECTURES  "native", or numbers as in CMAKE_CUDA_ARCHITECTURES, to build for one GPU
# CUDA_HOME (environment)        the toolkit's folder; without it PATH and /usr/local/cuda are searched
# EPOCHBENCH_PACKAGES            folder of packages from the Python index (scripts/lib/cuda.sh fetches them), also searched
#                                for cuDNN and cudnn_frontend; may be an environment variable
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

include(EpochbenchCudaArchitectures)

# Folder with the unpacked wheels of cuDNN and cudnn_frontend, or with include/ and lib/.
set(cuda_package_folders ${EPOCHBENCH_PACKAGES} ${EPOCHBENCH_PACKAGES}/nvidia/cudnn)

# Sets ${missing} to what is missing, or to nothing.
macro(epochbench_find_cuda missing)
  set(${missing} "")
  if(DEFINED ENV{CUDA_HOME})
    find_program(EPOCHBENCH_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin NO_DEFAULT_PATH)
  else()
    find_program(EPOCHBENCH_NVCC nvcc PATHS /usr/local/cuda/bin)
  endif()
  mark_as_advanced(EPOCHBENCH_NVCC)
  if(NOT EPOCHBENCH_NVCC)
    set(${missing} "there is no CUDA toolkit (nvcc)")
  else()
    get_filename_component(CUDAToolkit_ROOT ${EPOCHBENCH_NVCC}/../.. REALPATH)
    find_package(CUDAToolkit QUIET)
    if(NOT CUDAToolkit_FOUND)
      set(${missing} "the headers and libraries of ${EPOCHBENCH_NVCC} are missing")
    elseif(CUDAToolkit_VERSION VERSION_LESS 12.4)
      set(${missing} "the CUDA toolkit ${CUDAToolkit_VERSION} is too old: 12.4 or later is needed")
    endif()
  endif()
  if(NOT ${missing})
    find_path(CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cuda_package_folders}
              PATH_SUFFIXES include)
    find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cuda_package_folders}
              PATH_SUFFIXES include)
    find_library(CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.${CUDAToolkit_VERSION_MAJOR}
                 HINTS ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
    find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${cuda_package_folders}
                 PATH_SUFFIXES lib lib64)
    mark_as_advanced(CUBLASLT_INCLUDE_DIR CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR CUBLASLT_LIBRARY CUDNN_LIBRARY)
    if(NOT CUBLASLT_INCLUDE_DIR OR NOT CUBLASLT_LIBRARY)
      set(${missing} "the toolkit of ${EPOCHBENCH_NVCC} has no cuBLASLt")
    elseif(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)
      set(${missing} "cuDNN 9 is missing (cudnn.h and libcudnn.so.9)")
    elseif(NOT CUDNN_FRONTEND_INCLUDE_DIR)
      set(${missing} "cudnn_frontend is missing (cudnn_frontend.h; on the Python index: nvidia-cudnn-frontend)")
    else()
      file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h major REGEX "^#define CUDNN_MAJOR ")
      if(NOT major MATCHES " 9$")
        set(${missing} "${CUDNN_INCLUDE_DIR} has a cuDNN of another version than 9")
      endif()
    endif()
  endif()
endmacro()

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
    get_filename_component(cublas_folder ${CUBLASLT_LIBRARY} DIRECTORY)
    get_filename_component(cudnn_folder ${CUDNN_LIBRARY} DIRECTORY)
    set(EPOCHBENCH_CUDA_LIBRARY_FOLDERS ${cublas_folder} ${cudnn_folder} ${CUDAToolkit_LIBRARY_DIR})
    list(REMOVE_DUPLICATES EPOCHBENCH_CUDA_LIBRARY_FOLDERS)
    epochbench_lowest_architecture(EPOCHBENCH_CUDA_LOWEST_ARCHITECTURE "${CMAKE_CUDA_ARCHITECTURES}")
    message(STATUS "CUDA backend: CUDA ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(EPOCHBENCH_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA backend: left out, ${cuda_missing}")
    set(EPOCHBENCH_CUDA_MISSING "${cuda_missing}" CACHE INTERNAL "Why there is no CUDA backend")
  else()
    message(FATAL_ERROR "EPOCHBENCH_CUDA is ${EPOCHBENCH_CUDA}, but ${cuda_missing}")
  endif()
endif()
