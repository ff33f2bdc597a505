# Tests of src/data.
epochbench_test(data/philox_test LABEL unit LIBRARIES epochbench_random)
epochbench_test(data/embedded_test LABEL unit LIBRARIES epochbench_embedded)
target_compile_definitions(embedded_test PRIVATE EPOCHBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                           EPOCHBENCH_D3="${EPOCHBENCH_D3}")
epochbench_tests(data_tests LABEL unit LIBRARIES epochbench_data TESTS
  data/cifar10_test data/dataset_test data/idx_test data/mixup_test data/order_test data/prepared_dataset_test data/safetensors_test
  data/text_test data/tokenizer_test data/word_pieces_test data/weight_files_test)
target_compile_definitions(data_tests PRIVATE TOKENIZER_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/data/gpt2"
                           WORDPIECE_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/data/wordpiece")
if(EPOCHBENCH_HAS_IMAGES)
  epochbench_tests(image_tests LABEL unit LIBRARIES epochbench_data TESTS
    data/images/augmentation_test data/images/decoder_test data/images/image_files_test)
  # Random archives of GNU tar, bsdtar and Python beside the folder that each is unpacked to.
  add_executable(list_images support/list_images_main.cpp)
  target_link_libraries(list_images PRIVATE epochbench_options epochbench_data)
  epochbench_compile_as_tests(list_images)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME data.archives COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/data/images/archives_test.py
           $<TARGET_FILE:list_images>)
  set_tests_properties(data.archives PROPERTIES LABELS unit TIMEOUT 600)
endif()
epochbench_test(data/loader_test LABEL unit INSTRUMENTED LIBRARIES epochbench_data)
target_sources(loader_test PRIVATE support/allocations.cpp)
