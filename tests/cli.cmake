# Tests of src/report, src/analysis and src/cli.
epochbench_test(result_json_test LABEL unit LIBRARIES epochbench_report)
epochbench_test(report_test LABEL unit LIBRARIES epochbench_report)
epochbench_test(local_cost_test LABEL unit LIBRARIES epochbench_report)
epochbench_test(cost_test LABEL unit LIBRARIES epochbench_cli)
epochbench_test(estimate_test LABEL unit LIBRARIES epochbench_analysis)
epochbench_test(speedup_test LABEL unit LIBRARIES epochbench_report)
epochbench_test(profile_test LABEL unit LIBRARIES epochbench_report)
epochbench_test(options_test LABEL unit LIBRARIES epochbench_cli)
epochbench_test(suite_test LABEL unit LIBRARIES epochbench_cli)

# The binary as its users call it: one ctest a class of tests/cli/*.py.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import jsonschema" RESULT_VARIABLE no_jsonschema ERROR_QUIET)
if(no_jsonschema)
  message(FATAL_ERROR "The command-line tests need Python's jsonschema: install python3-jsonschema")
endif()
function(epochbench_cli_test class label)  # further properties of the test may follow
  add_test(NAME cli.${class} COMMAND ${Python3_EXECUTABLE} -B -m unittest -v ${class}
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/cli)
  set_tests_properties(cli.${class} PROPERTIES LABELS ${label} TIMEOUT 600
    ENVIRONMENT "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>;EPOCHBENCH_SCHEMA=${PROJECT_SOURCE_DIR}/results/schema.json;EPOCHBENCH_SANITIZED=${EPOCHBENCH_SANITIZE}" ${ARGN})
endfunction()
epochbench_cli_test(test_calls.BadInput unit)
epochbench_cli_test(test_calls.OtherCommands unit)
epochbench_cli_test(test_results.Results unit)
epochbench_cli_test(test_cost.Cost unit)
epochbench_cli_test(test_weights.Weights unit)
epochbench_cli_test(test_speedup.Speedup unit)
epochbench_cli_test(test_faults.Faults slow)
# Classes that are skipped whole or not at all, so that a skipped test cannot hide a failed one.
set(may_skip SKIP_REGULAR_EXPRESSION "OK \\(skipped=")
if(EPOCHBENCH_HAS_CUDA)
  epochbench_cli_test(test_cuda.Drivers unit)
  epochbench_cli_test(test_cuda.NoDriver unit ${may_skip})
endif()
epochbench_cli_test(test_faults.MemoryLimit slow ${may_skip})
epochbench_cli_test(test_faults.FullDisk slow ${may_skip})
epochbench_cli_test(test_memory.Memory slow ${may_skip})
