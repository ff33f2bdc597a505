# Tests of the CUDA backend's own logic, with the kernels that kernels_cuda.cmake compiles for the CPU, and those that need a GPU.
epochbench_test(backend/cuda_usability_test LABEL unit LIBRARIES epochbench_cuda_logic)
epochbench_test(backend/tuning_time_test LABEL unit)
epochbench_test(backend/choice_store_test LABEL unit LIBRARIES epochbench_cuda_logic)

if(TARGET epochbench_kernels_cuda_on_cpu AND NOT EPOCHBENCH_TESTS STREQUAL "GPU")
  epochbench_test(backend/cuda_fake_device_test LABEL unit
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_kernels_cuda_on_cpu)
  foreach(test choices_test cuda_executable_test cuda_executable_state_test stored_choices_test)
    epochbench_test(backend/${test} LABEL unit
      LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_kernels_cuda_on_cpu)
  endforeach()
  # Its device is one of its own.
  epochbench_test(backend/timeline_test LABEL unit
    LIBRARIES epochbench_cuda_logic epochbench_worker epochbench_kernels_cuda_on_cpu)
  foreach(test cuda_averages_test cuda_backend_test cuda_bytes_test cuda_copies_test cuda_models_test cuda_parts_test
          cuda_tuning_test)
    epochbench_test(backend/${test} LABEL parity
      LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_workload epochbench_kernels_cuda_on_cpu)
  endforeach()
  epochbench_test(backend/cuda_ranks_test LABEL parity
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_communication epochbench_workload
              epochbench_kernels_cuda_on_cpu)
  epochbench_test(backend/cuda_ten_losses_test LABEL slow
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_workload epochbench_kernels_cuda_on_cpu)
  target_compile_definitions(cuda_ten_losses_test PRIVATE TEN_LOSSES_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/workload/ten_losses")
  epochbench_test(backend/cuda_attention_groups_test LABEL parity
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_graph epochbench_backend epochbench_kernels_cuda_on_cpu)
  epochbench_test(backend/cuda_planning_test LABEL unit
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_workload epochbench_kernels_cuda_on_cpu)
  epochbench_test(backend/attention_identities_test LABEL parity
    LIBRARIES epochbench_cuda_fakes epochbench_cuda_logic epochbench_graph epochbench_backend epochbench_kernels_cuda_on_cpu)
endif()

# Whole models on a GPU. Built everywhere, so that it is visibly skipped without a GPU or CUDA.
set(gpu_test_backend epochbench_cuda_logic epochbench_workload)
if(TARGET epochbench_cuda)
  list(APPEND gpu_test_backend epochbench_cuda)
endif()
epochbench_test(backend/gpu_test LABEL gpu ALONE Gpu.TakesTheMemoryThatIsPlanned LIBRARIES ${gpu_test_backend})
