# epochbench_find_cuda(MISSING): finds nvcc, the toolkit, cuBLASLt, cuDNN 9 and cudnn_frontend. Sets MISSING to what is missing, or
# to nothing and then EPOCHBENCH_CUDA_LIBRARY_FOLDERS to the folders that programs load libraries from.
#
# The toolkit's folders come first, then EPOCHBENCH_PACKAGES (unpacked wheels, or include/ and lib/), the system's, and the
# packages of EPOCHBENCH_PYTHON in both of their layouts: nvidia/cudnn, nvidia/cublas and so on, and nvidia/cu13 for CUDA 13. NCCL
# is searched for in the same way; without it (NCCL_INCLUDE_DIR) only ranks on GPUs are left out.

# Folders of CUDA's libraries in the packages of a Python; empty without any.
function(epochbench_python_cuda_folders result)
  find_program(EPOCHBENCH_PYTHON python3 DOC "A Python whose packages may have CUDA's libraries")
  mark_as_advanced(EPOCHBENCH_PYTHON)
  set(folders "")
  if(EPOCHBENCH_PYTHON)
    execute_process(COMMAND ${EPOCHBENCH_PYTHON} -c
"import importlib.util, pathlib
found = importlib.util.find_spec('nvidia')
for place in found.submodule_search_locations if found else []:
    for folder in sorted(pathlib.Path(place).iterdir()):
        if any(name.is_dir() for name in (folder / 'include', folder / 'lib')):
            print(folder.as_posix())"
      OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REPLACE "\n" ";" folders "${folders}")
  endif()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

epochbench_python_cuda_folders(python_cuda_folders)
set(cuda_package_folders ${EPOCHBENCH_PACKAGES} ${EPOCHBENCH_PACKAGES}/nvidia/cudnn ${EPOCHBENCH_PACKAGES}/nvidia/nccl
                         ${python_cuda_folders})

macro(epochbench_find_cuda missing)
  set(${missing} "")
  if(DEFINED ENV{CUDA_HOME})
    find_program(EPOCHBENCH_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin NO_DEFAULT_PATH)
  else()
    find_program(EPOCHBENCH_NVCC nvcc PATHS /usr/local/cuda/bin ${EPOCHBENCH_PACKAGES}/nvidia/cu13/bin)
  endif()
  mark_as_advanced(EPOCHBENCH_NVCC)
  if(NOT EPOCHBENCH_NVCC)
    set(${missing} "the CUDA toolkit (nvcc) is missing")
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
    find_path(CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cuda_package_folders}
              PATH_SUFFIXES include)
    find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cuda_package_folders}
              PATH_SUFFIXES include)
    find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cuda_package_folders}
              PATH_SUFFIXES include)
    find_library(CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.${CUDAToolkit_VERSION_MAJOR}
                 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${cuda_package_folders} PATH_SUFFIXES lib lib64)
    find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${cuda_package_folders}
                 PATH_SUFFIXES lib lib64)
    find_library(NVRTC_LIBRARY NAMES nvrtc libnvrtc.so.${CUDAToolkit_VERSION_MAJOR}
                 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${cuda_package_folders} PATH_SUFFIXES lib lib64)
    find_path(NVRTC_INCLUDE_DIR nvrtc.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cuda_package_folders} PATH_SUFFIXES include)
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
                 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${cuda_package_folders} PATH_SUFFIXES lib lib64)
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cuda_package_folders} PATH_SUFFIXES include)
    mark_as_advanced(NVRTC_LIBRARY NVRTC_INCLUDE_DIR NCCL_LIBRARY NCCL_INCLUDE_DIR)
    mark_as_advanced(CUBLASLT_INCLUDE_DIR CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR CUBLASLT_LIBRARY CUDNN_LIBRARY)
    if(NOT CUBLASLT_INCLUDE_DIR OR NOT CUBLASLT_LIBRARY)
      set(${missing} "cuBLASLt of CUDA ${CUDAToolkit_VERSION_MAJOR} is missing (cublasLt.h and libcublasLt.so)")
    elseif(NOT NVRTC_INCLUDE_DIR)
      set(${missing} "NVRTC of CUDA ${CUDAToolkit_VERSION_MAJOR} is missing (nvrtc.h)")
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
  if(NOT ${missing})
    set(EPOCHBENCH_CUDA_LIBRARY_FOLDERS "")
    foreach(library ${CUBLASLT_LIBRARY} ${CUDNN_LIBRARY} ${NVRTC_LIBRARY} ${NCCL_LIBRARY})
      if(library)
        get_filename_component(library_folder ${library} DIRECTORY)
        list(APPEND EPOCHBENCH_CUDA_LIBRARY_FOLDERS ${library_folder})
      endif()
    endforeach()
    list(APPEND EPOCHBENCH_CUDA_LIBRARY_FOLDERS ${CUDAToolkit_LIBRARY_DIR})
    list(REMOVE_DUPLICATES EPOCHBENCH_CUDA_LIBRARY_FOLDERS)
  endif()
endmacro()
