# Tests of src/data.
epochbench_test(philox_test LABEL unit LIBRARIES epochbench_random)
epochbench_test(embedded_test LABEL unit LIBRARIES epochbench_embedded)
target_compile_definitions(embedded_test PRIVATE EPOCHBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                           EPOCHBENCH_D3="${EPOCHBENCH_D3}")
epochbench_tests(data_tests LABEL unit LIBRARIES epochbench_data TESTS
  cifar10_test dataset_test idx_test order_test prepared_dataset_test safetensors_test text_test)
epochbench_test(loader_test LABEL unit LIBRARIES epochbench_data)
target_sources(loader_test PRIVATE support/allocations.cpp)
