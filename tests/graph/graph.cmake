# Tests of src/graph, src/backend, models and src/workload.
add_library(epochbench_gradient_check STATIC support/gradient_check.cpp)
target_include_directories(epochbench_gradient_check PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(epochbench_gradient_check PUBLIC epochbench_graph epochbench_backend GTest::gtest)

epochbench_test(graph/gradient_test LABEL parity LIBRARIES epochbench_gradient_check)
epochbench_test(graph/llama_gradient_test LABEL parity LIBRARIES epochbench_gradient_check)
epochbench_tests(graph_tests LABEL unit LIBRARIES epochbench_workload TESTS
  backend/pass_times_test graph/fusion_test graph/graph_test graph/int8_test graph/joint_products_test graph/passes_test
  graph/precision_test graph/stage_bytes_test graph/weight_copies_test
  models/fingerprint_test models/models_test workload/weights_test graph/packed_weights_test)
target_compile_definitions(graph_tests PRIVATE TOKENIZER_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/data/gpt2")
epochbench_test(backend/reference_backend_test LABEL unit LIBRARIES epochbench_graph epochbench_backend epochbench_kernels_reference)
epochbench_test(workload/forward_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(workload/int8_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(workload/training_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(workload/schedule_test LABEL parity LIBRARIES epochbench_workload epochbench_worker)
epochbench_test(workload/averages_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(workload/accumulation_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(communication/communicator_test LABEL unit LIBRARIES epochbench_communication)
epochbench_test(backend/background_exchange_test LABEL unit LIBRARIES epochbench_backend epochbench_communication)
epochbench_test(backend/exchange_order_test LABEL unit LIBRARIES epochbench_workload)
epochbench_test(workload/ranks_test LABEL parity LIBRARIES epochbench_workload epochbench_communication)
epochbench_test(workload/loss_scale_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(backend/cpu_bf16_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(workload/mixed_training_test LABEL parity LIBRARIES epochbench_workload)
epochbench_test(workload/step_memory_test LABEL slow LIBRARIES epochbench_workload epochbench_worker)
target_sources(step_memory_test PRIVATE support/allocations.cpp)
# The larger models of a family have the nodes of the smaller.
set(larger resnet34 resnet101 resnet152 bertbase bertlarge gpt2128 llama110m128 vitb16 efficientnetb2 nasnetlarge)
list(TRANSFORM larger PREPEND "Models/*/")
list(JOIN larger ":" larger)
epochbench_test(workload/ten_losses_test LABEL slow RELEASE ${larger} LIBRARIES epochbench_workload epochbench_worker)
target_compile_definitions(ten_losses_test PRIVATE TEN_LOSSES_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/workload/ten_losses")
