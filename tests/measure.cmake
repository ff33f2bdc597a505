# Tests of src/measure. fake_case stands in for the binary whose `case` subcommand the driver starts.
add_executable(fake_case support/fake_case_main.cpp)
target_link_libraries(fake_case PRIVATE epochbench_options epochbench_test_support epochbench_measure)

foreach(test latency_test statistics_test stopping_rule_test runner_test environment_test case_process_test case_server_test peaks_test
        amx_peak_test)
  epochbench_test(${test} LABEL unit LIBRARIES epochbench_measure)
endforeach()
foreach(test case_process_test peaks_test)
  add_dependencies(${test} fake_case)
  target_compile_definitions(${test} PRIVATE FAKE_CASE_BINARY="$<TARGET_FILE:fake_case>")
endforeach()
