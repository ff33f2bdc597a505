# Tests of the CUDA backend's own logic, over the kernels that cuda.cmake compiles for the CPU, and those that need a GPU.
if(TARGET epochbench_kernels_cuda_on_cpu)
  add_library(epochbench_cuda_fakes STATIC support/cuda_fake_device.cpp support/cuda_fake_libraries.cpp)
  target_link_libraries(epochbench_cuda_fakes PUBLIC epochbench_cuda_kernel_sweep epochbench_kernels_reference)

  epochbench_test(cuda_executable_test LABEL unit
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_kernels_cuda_on_cpu)
  epochbench_test(cuda_backend_test LABEL parity
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_workload epochbench_kernels_cuda_on_cpu)
endif()
