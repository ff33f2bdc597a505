# Tests of the repository itself: its structure, and the scripts that set it up.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME Structure.KeepsTheRulesOfTheHouse COMMAND ${PROJECT_SOURCE_DIR}/scripts/check_structure)
add_test(NAME Structure.SelfTest COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_structure_test.py)
add_test(NAME Scripts.SetUp COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/setup_test.py)
add_test(NAME Scripts.CheckGpu COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_gpu_test.py)
add_test(NAME Scripts.TrainPytorch COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/train_pytorch_test.py)
add_test(NAME Scripts.CompareQuality COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/compare_quality_test.py)
add_test(NAME Scripts.TakeTurns COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/take_turns_test.py)
set_tests_properties(Scripts.TrainPytorch Scripts.TakeTurns PROPERTIES ENVIRONMENT
  "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>;EPOCHBENCH_SCHEMA=${PROJECT_SOURCE_DIR}/results/schema.json")
set_tests_properties(Structure.KeepsTheRulesOfTheHouse Structure.SelfTest Scripts.SetUp Scripts.CheckGpu Scripts.TrainPytorch
  Scripts.CompareQuality Scripts.TakeTurns PROPERTIES LABELS unit)
