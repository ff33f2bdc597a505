# Tests of src/measure. fake_case stands in for the binary whose `case` subcommand the driver starts.
add_executable(fake_case support/fake_case_main.cpp)
target_link_libraries(fake_case PRIVATE epochbench_options epochbench_test_support epochbench_measure)
