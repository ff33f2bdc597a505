# Tests of src/worker. fake_case stands in for the binary whose `case` subcommand the driver starts.
add_executable(fake_case support/fake_case_main.cpp)
target_link_libraries(fake_case PRIVATE epochbench_options epochbench_test_support epochbench_worker)
epochbench_compile_as_tests(fake_case)

epochbench_tests(worker_tests LABEL unit LIBRARIES epochbench_worker TESTS worker/latency_test worker/run_totals_test worker/series_test worker/stopping_rule_test
  worker/warm_up_rule_test)
foreach(test case_process_test case_server_test)
  epochbench_test(worker/${test} LABEL unit LIBRARIES epochbench_worker)
endforeach()
foreach(test runner_test queued_runner_test)
  epochbench_test(worker/${test} LABEL unit INSTRUMENTED LIBRARIES epochbench_worker)
  target_sources(${test} PRIVATE support/allocations.cpp)
endforeach()
add_dependencies(case_process_test fake_case)
target_compile_definitions(case_process_test PRIVATE FAKE_CASE_BINARY="$<TARGET_FILE:fake_case>")

# Fake workers, named for their behavior.
add_executable(fake_worker support/fake_worker_main.cpp)
target_link_libraries(fake_worker PRIVATE epochbench_options nlohmann_json::nlohmann_json)
epochbench_compile_as_tests(fake_worker)
foreach(test interleaved_pair_test interleaver_test)
  epochbench_test(worker/${test} LABEL unit LIBRARIES epochbench_worker)
  add_dependencies(${test} fake_worker)
  target_compile_definitions(${test} PRIVATE FAKE_WORKER_BINARY="$<TARGET_FILE:fake_worker>")
endforeach()
