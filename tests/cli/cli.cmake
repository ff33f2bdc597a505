# Tests of src/cli.

# The binary as users call it: one ctest per class of tests/cli/*.py.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import jsonschema" RESULT_VARIABLE no_jsonschema ERROR_QUIET)
if(no_jsonschema)
  message(FATAL_ERROR "The command-line tests need Python's jsonschema: install python3-jsonschema")
endif()
# epochbench with steps that are slower by a known fraction.
add_executable(epochbench_delayed support/delayed_main.cpp)
target_link_libraries(epochbench_delayed PRIVATE epochbench_options $<TARGET_NAME_IF_EXISTS:epochbench_cuda> epochbench_cli)

add_executable(complete_result support/complete_result_main.cpp)
target_link_libraries(complete_result PRIVATE epochbench_options epochbench_test_support epochbench_report)
function(epochbench_cli_test class label)  # more test properties may follow
  add_test(NAME cli.${class} COMMAND ${Python3_EXECUTABLE} -B -m unittest -v ${class}
           WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR})
  set_tests_properties(cli.${class} PROPERTIES LABELS ${label} TIMEOUT 600
    ENVIRONMENT "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>;EPOCHBENCH_SCHEMA=${PROJECT_SOURCE_DIR}/results/schema.json;EPOCHBENCH_SANITIZED=${EPOCHBENCH_SANITIZE};EPOCHBENCH_DELAYED=$<TARGET_FILE:epochbench_delayed>;EPOCHBENCH_COMPLETE_RESULT=$<TARGET_FILE:complete_result>" ${ARGN})
endfunction()
epochbench_cli_test(test_calls.BadInput unit)
epochbench_cli_test(test_calls.OtherCommands unit)
epochbench_cli_test(test_results.Results unit COST 60)  # the longest single-core test first
epochbench_cli_test(test_hostile.Hostile unit)
epochbench_cli_test(test_schema.Schema unit)
epochbench_cli_test(test_cost.Cost unit)
epochbench_cli_test(test_meters.Meters unit COST 30)
epochbench_cli_test(test_sweep.Sweep unit)
epochbench_cli_test(test_claims.Claims unit COST 30)
epochbench_cli_test(test_cost.Answers unit)
epochbench_cli_test(test_weights.Weights unit)
epochbench_cli_test(test_speedup.Speedup unit)
epochbench_cli_test(test_export.Export unit)
epochbench_cli_test(test_compare.Compare unit)
epochbench_cli_test(test_compare.History unit)
epochbench_cli_test(test_odd_results.OddResults unit COST 60)
epochbench_cli_test(test_faults.Faults slow)
epochbench_cli_test(test_interleave.Refusals unit)
epochbench_cli_test(test_interleave.Interleave slow PROCESSORS 2)
# Classes that are skipped whole or not at all, so that a skipped test cannot hide a failed one.
set(may_skip SKIP_REGULAR_EXPRESSION "OK \\(skipped=")
if(EPOCHBENCH_HAS_CUDA)
  epochbench_cli_test(test_cuda.Drivers unit)
  epochbench_cli_test(test_cuda.NoDriver unit ${may_skip})
endif()
# Readers of exports, where Python has them.
foreach(reader GithubMarkdown Prometheus MlperfLogging GoogleBenchmark)
  epochbench_cli_test(test_export.${reader} unit ${may_skip})
endforeach()
epochbench_cli_test(test_export.Mlflow slow ${may_skip})
epochbench_cli_test(test_export.MlflowMigration slow ${may_skip})
epochbench_cli_test(test_faults.MemoryLimit slow ${may_skip})
epochbench_cli_test(test_faults.FullDisk slow ${may_skip})
epochbench_cli_test(test_report.Report unit)
epochbench_cli_test(test_browser.Report slow ${may_skip} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/report_browser)
epochbench_cli_test(test_memory.Memory slow ${may_skip} PROCESSORS 2)
epochbench_cli_test(test_memory.LargeModels slow ${may_skip} PROCESSORS 2)
