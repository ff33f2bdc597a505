# Tests of src/worker. fake_case stands in for the binary whose `case` subcommand the driver starts.
add_executable(fake_case support/fake_case_main.cpp)
target_link_libraries(fake_case PRIVATE epochbench_options epochbench_test_support epochbench_worker)

epochbench_tests(worker_tests LABEL unit LIBRARIES epochbench_worker TESTS worker/latency_test worker/stopping_rule_test)
foreach(test runner_test case_process_test case_server_test)
  epochbench_test(worker/${test} LABEL unit LIBRARIES epochbench_worker)
endforeach()
add_dependencies(case_process_test fake_case)
target_compile_definitions(case_process_test PRIVATE FAKE_CASE_BINARY="$<TARGET_FILE:fake_case>")

# Binaries that take turns as their names say.
add_executable(turn_taker support/turn_taker_main.cpp)
target_link_libraries(turn_taker PRIVATE epochbench_options nlohmann_json::nlohmann_json)
epochbench_test(worker/turns_test LABEL unit LIBRARIES epochbench_worker)
add_dependencies(turns_test turn_taker)
target_compile_definitions(turns_test PRIVATE TURN_TAKER_BINARY="$<TARGET_FILE:turn_taker>")
