# Tests of the layer between our code and CUDA's libraries. None needs a device.

if(TARGET epochbench_kernels_cuda_on_cpu)
  add_library(epochbench_cuda_fakes STATIC support/cuda_fake_device.cpp support/cuda_fake_libraries.cpp
              support/cuda_fake_ranks.cpp support/cuda_fake_attention.cpp)
  target_link_libraries(epochbench_cuda_fakes PUBLIC epochbench_cuda_kernel_sweep epochbench_kernels_reference)
endif()

# Products with a fake cuBLASLt, wherever its headers are; where CUDA is built, also with the real one.
if(TARGET epochbench_cuda_kernel_sweep AND NOT EPOCHBENCH_TESTS STREQUAL "GPU")
  find_path(EPOCHBENCH_CUBLASLT_HEADERS cublasLt.h HINTS ${EPOCHBENCH_CUDA_HEADERS})
  find_path(EPOCHBENCH_CUDNN_HEADERS cudnn.h HINTS ${EPOCHBENCH_CUDA_HEADERS} ${CUDNN_INCLUDE_DIR})
endif()
if(EPOCHBENCH_CUBLASLT_HEADERS AND EPOCHBENCH_CUDNN_HEADERS)
  set(cuda ${PROJECT_SOURCE_DIR}/kernels/cuda)
  add_library(epochbench_cuda_products STATIC support/cuda_fake_cublas.cpp ${cuda}/error.cpp
              ${cuda}/libraries/cublas_product.cpp ${cuda}/libraries/library_error.cpp)
  target_include_directories(epochbench_cuda_products SYSTEM PUBLIC
    ${EPOCHBENCH_CUDA_HEADERS} ${EPOCHBENCH_CUBLASLT_HEADERS} ${EPOCHBENCH_CUDNN_HEADERS})
  target_link_libraries(epochbench_cuda_products PUBLIC epochbench_cuda_fakes epochbench_cuda_logic
                        epochbench_kernels_cuda_on_cpu)
  epochbench_test(kernels_cuda/cublas_choice_test LABEL unit LIBRARIES epochbench_cuda_products)
  epochbench_test(kernels_cuda/cublas_product_test LABEL parity LIBRARIES epochbench_cuda_products)
  epochbench_test(backend/cuda_choices_test LABEL parity LIBRARIES epochbench_cuda_products epochbench_workload)
endif()

if(NOT EPOCHBENCH_HAS_CUDA)
  return()
endif()

epochbench_gpu_kernel_tests(cublas_product_test TESTS kernels_cuda/cublas_product_test)

if(NCCL_INCLUDE_DIR)
  epochbench_test(kernels_cuda/nccl_test LABEL unit LIBRARIES epochbench_kernels_cuda)
endif()
# A release has code for every GPU.
epochbench_test(kernels_cuda/cudnn_graphs_test LABEL unit RELEASE CudnnSums.*:CudnnGelu.*:*OnEveryGpu* LIBRARIES epochbench_cuda
                epochbench_workload)
target_compile_definitions(cudnn_graphs_test PRIVATE
  EPOCHBENCH_CUDA_STUB="${CUDAToolkit_LIBRARY_DIR}/stubs/libcuda.so")

# Every kernel file of the program holds code for every requested architecture.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT CMAKE_CUDA_ARCHITECTURES MATCHES "native|all")
  add_test(NAME CudaProgram.HoldsCodeOfEveryArchitecture COMMAND
           Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/cuda_architectures.py $<TARGET_FILE:epochbench>
           ${CMAKE_CUDA_ARCHITECTURES})
  set_tests_properties(CudaProgram.HoldsCodeOfEveryArchitecture PROPERTIES LABELS unit)
endif()

# What each kernel takes of a multiprocessor, by the files' names: CudaResources.layer_norm. Asks nvcc for every file again.
add_test(NAME CudaResources.SelfTest COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/cuda_resources_test.py)
set_tests_properties(CudaResources.SelfTest PROPERTIES LABELS unit)
foreach(file IN LISTS cuda_kernel_sources)
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME CudaResources.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/cuda_resources.py
           ${CMAKE_BINARY_DIR}/compile_commands.json ${file})
  set_tests_properties(CudaResources.${name} PROPERTIES LABELS release)
endforeach()
