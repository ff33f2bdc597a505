# Tests of src/graph, src/backend, models and src/workload.
add_library(epochbench_gradient_check STATIC support/gradient_check.cpp)
target_include_directories(epochbench_gradient_check PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(epochbench_gradient_check PUBLIC epochbench_graph epochbench_backend GTest::gtest)

epochbench_test(gradient_test LABEL parity LIBRARIES epochbench_gradient_check)
epochbench_test(graph_test LABEL unit LIBRARIES epochbench_graph)
epochbench_test(passes_test LABEL unit LIBRARIES epochbench_workload)
epochbench_test(precision_test LABEL unit LIBRARIES epochbench_workload)
epochbench_test(models_test LABEL unit LIBRARIES epochbench_workload)
epochbench_test(training_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(weights_test LABEL unit LIBRARIES epochbench_workload)
epochbench_test(ten_losses_test LABEL slow LIBRARIES epochbench_workload)
target_compile_definitions(ten_losses_test PRIVATE TEN_LOSSES_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/data/ten_losses")
