# Tests of a build that has CUDA: what its libraries say and what lies in its program. None needs a device.
if(NOT EPOCHBENCH_HAS_CUDA)
  return()
endif()

epochbench_test(cudnn_graphs_test LABEL unit LIBRARIES epochbench_cuda epochbench_workload)
target_compile_definitions(cudnn_graphs_test PRIVATE
  EPOCHBENCH_CUDA_STUB="${CUDAToolkit_LIBRARY_DIR}/stubs/libcuda.so")

# Every kernel file of the program holds code of every architecture that was asked for.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT CMAKE_CUDA_ARCHITECTURES MATCHES "native|all")
  add_test(NAME CudaProgram.HoldsCodeOfEveryArchitecture COMMAND
           Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cuda_architectures.py $<TARGET_FILE:epochbench>
           ${CMAKE_CUDA_ARCHITECTURES})
  set_tests_properties(CudaProgram.HoldsCodeOfEveryArchitecture PROPERTIES LABELS unit)
endif()
