# Tests of src/machine.
epochbench_tests(machine_tests LABEL unit LIBRARIES epochbench_worker TESTS
  machine/energy_meter_test machine/environment_test machine/gpu_state_test machine/metered_test machine/rapl_test
  machine/system_state_test)
foreach(test peaks_test amx_peak_test)
  epochbench_test(machine/${test} LABEL unit LIBRARIES epochbench_worker)
endforeach()
add_dependencies(peaks_test fake_case)
target_compile_definitions(peaks_test PRIVATE FAKE_CASE_BINARY="$<TARGET_FILE:fake_case>")

# Fakes of NVIDIA's management library: that of current drivers, that of drivers before Volta, and one that is not NVML.
foreach(variant "" _before_volta _empty)
  add_library(fake_nvml${variant} MODULE support/fake_nvml.cpp)
  target_link_libraries(fake_nvml${variant} PRIVATE epochbench_options epochbench_test_support)
endforeach()
target_compile_definitions(fake_nvml_before_volta PRIVATE FAKE_NVML_OLD)
target_compile_definitions(fake_nvml_empty PRIVATE FAKE_NVML_EMPTY)

epochbench_test(machine/metering_test LABEL unit LIBRARIES epochbench_worker)
epochbench_test(machine/nvml_test LABEL unit LIBRARIES epochbench_worker)
epochbench_test(backend/nvidia_management_test LABEL unit LIBRARIES epochbench_backend)
foreach(test metering_test nvml_test nvidia_management_test)
  add_dependencies(${test} fake_nvml fake_nvml_before_volta fake_nvml_empty)
  target_compile_definitions(${test} PRIVATE FAKE_NVML="$<TARGET_FILE:fake_nvml>"
    FAKE_NVML_BEFORE_VOLTA="$<TARGET_FILE:fake_nvml_before_volta>" FAKE_NVML_EMPTY="$<TARGET_FILE:fake_nvml_empty>")
endforeach()
add_dependencies(metering_test fake_case)
target_compile_definitions(metering_test PRIVATE FAKE_CASE_BINARY="$<TARGET_FILE:fake_case>")
