# The program on hosts, and with files and calls, that are not like ours: one ctest per class of tests/anywhere/*.py, which share
# tests/cli/support.py. What this machine lacks for a test is said where it is skipped.
function(epochbench_anywhere_test class)
  epochbench_cli_test(${class} unit WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/anywhere ${ARGN})
  set_property(TEST cli.${class} APPEND PROPERTY ENVIRONMENT PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/cli)
endfunction()
epochbench_anywhere_test(test_inherited.Inherited)
epochbench_anywhere_test(test_places.Places)
epochbench_anywhere_test(test_sandboxes.RefusedCalls ${may_skip})
epochbench_anywhere_test(test_sandboxes.PartsOfTheSystem)
epochbench_anywhere_test(test_launchers.Copies)
epochbench_anywhere_test(test_launchers.RankHosts ${may_skip})
epochbench_anywhere_test(test_settings.Settings)
