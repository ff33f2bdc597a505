# Tests of src/measure. fake_case stands in for the binary whose `case` subcommand the driver starts.
add_executable(fake_case support/fake_case_main.cpp)
target_link_libraries(fake_case PRIVATE epochbench_options epochbench_test_support epochbench_measure)

epochbench_tests(measure_tests LABEL unit LIBRARIES epochbench_measure TESTS
  energy_meter_test environment_test gpu_state_test latency_test metered_test rapl_test statistics_test stopping_rule_test)
foreach(test runner_test case_process_test case_server_test peaks_test amx_peak_test)
  epochbench_test(${test} LABEL unit LIBRARIES epochbench_measure)
endforeach()
foreach(test case_process_test peaks_test)
  add_dependencies(${test} fake_case)
  target_compile_definitions(${test} PRIVATE FAKE_CASE_BINARY="$<TARGET_FILE:fake_case>")
endforeach()

# Binaries that take turns as their names say.
add_executable(turn_taker support/turn_taker_main.cpp)
target_link_libraries(turn_taker PRIVATE epochbench_options nlohmann_json::nlohmann_json)
epochbench_test(turns_test LABEL unit LIBRARIES epochbench_measure)
add_dependencies(turns_test turn_taker)
target_compile_definitions(turns_test PRIVATE TURN_TAKER_BINARY="$<TARGET_FILE:turn_taker>")

# NVIDIA's management library, made up: as drivers have it, as those of before Volta had it, and one that is no such library.
foreach(variant "" _before_volta _empty)
  add_library(fake_nvml${variant} MODULE support/fake_nvml.cpp)
  target_link_libraries(fake_nvml${variant} PRIVATE epochbench_options epochbench_test_support)
endforeach()
target_compile_definitions(fake_nvml_before_volta PRIVATE FAKE_NVML_OLD)
target_compile_definitions(fake_nvml_empty PRIVATE FAKE_NVML_EMPTY)

foreach(test metering_test nvml_test)
  epochbench_test(${test} LABEL unit LIBRARIES epochbench_measure)
  add_dependencies(${test} fake_nvml fake_nvml_before_volta fake_nvml_empty)
  target_compile_definitions(${test} PRIVATE FAKE_NVML="$<TARGET_FILE:fake_nvml>"
    FAKE_NVML_BEFORE_VOLTA="$<TARGET_FILE:fake_nvml_before_volta>" FAKE_NVML_EMPTY="$<TARGET_FILE:fake_nvml_empty>")
endforeach()
add_dependencies(metering_test fake_case)
target_compile_definitions(metering_test PRIVATE FAKE_CASE_BINARY="$<TARGET_FILE:fake_case>")
