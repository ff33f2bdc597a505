# Tests of the repository: its structure and its set-up scripts.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME Structure.IncludesKeepToTheLayers COMMAND ${PROJECT_SOURCE_DIR}/scripts/check_structure)
add_test(NAME Structure.SelfTest COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_structure_test.py)
add_test(NAME Language.KeepsToTheWordList COMMAND ${PROJECT_SOURCE_DIR}/scripts/check_words)
add_test(NAME Language.SelfTest COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_words_test.py)
add_test(NAME Docs COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/docs_test.py)
set_tests_properties(Docs PROPERTIES LABELS unit
  ENVIRONMENT "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>;EPOCHBENCH_PARSE_CALL=$<TARGET_FILE:parse_call>")
add_test(NAME Completion COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/completion_test.py)
set_tests_properties(Completion PROPERTIES LABELS unit ENVIRONMENT "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>")
add_test(NAME Scripts.SetUp COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/setup_test.py)
add_test(NAME Scripts.CheckGpu COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_gpu_test.py)
add_test(NAME Scripts.CheckGpuPack COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_gpu_pack_test.py)
add_test(NAME Scripts.CheckGpuParts COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_gpu_parts_test.py)
add_test(NAME Scripts.CheckGpuState COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_gpu_state_test.py)
set_tests_properties(Scripts.CheckGpuParts PROPERTIES
  ENVIRONMENT "EPOCHBENCH_PARSE_CALL=$<TARGET_FILE:parse_call>;EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>")
add_test(NAME Scripts.CheckCpu COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_cpu_test.py)
add_test(NAME Scripts.Commands COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/commands_test.py)
add_test(NAME Scripts.BareImage COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/bare_image_test.py)
add_test(NAME Scripts.TrainPytorch COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/train_pytorch_test.py)
add_test(NAME Scripts.CountPytorch COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/count_pytorch_test.py)
add_test(NAME Scripts.CompareQuality COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/compare_quality_test.py)
add_test(NAME Scripts.CalibrateTarget COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/calibrate_target_test.py)
add_test(NAME Scripts.RecordHistory COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/record_history_test.py)
add_test(NAME Scripts.TrainRecipe COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/train_recipe_test.py)
add_test(NAME Scripts.UpdatePrices COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/update_prices_test.py)
add_test(NAME Scripts.Packages COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/packages_test.py)
add_test(NAME Scripts.FmaThroughput COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/fma_throughput_test.py)
add_test(NAME Scripts.BisectTrials COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/bisect_trials_test.py)
add_test(NAME Scripts.GateTrials COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/gate_trials_test.py)
# Needs the articles, which are not part of this repository: EPOCHBENCH_ARTICLES names their folder.
add_test(NAME Claims.QuotesStandInTheArticles COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/claim_quotes_test.py)
set_tests_properties(Claims.QuotesStandInTheArticles PROPERTIES LABELS "unit;scripts" SKIP_REGULAR_EXPRESSION "OK \\(skipped=")
add_test(NAME Scripts.MutateResults COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/mutate_results_test.py)
add_test(NAME Scripts.TakeTurns COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/take_turns_test.py)
foreach(class MadeUp Real)  # Real is skipped where this Python has no PyTorch
  add_test(NAME Scripts.ProfileModule.${class} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/profile_module_test.py ${class})
  set_tests_properties(Scripts.ProfileModule.${class} PROPERTIES LABELS "unit;scripts" SKIP_REGULAR_EXPRESSION "OK \\(skipped=" ENVIRONMENT
    "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>;EPOCHBENCH_SCHEMA=${PROJECT_SOURCE_DIR}/results/schema.json")
endforeach()
set_tests_properties(Scripts.MutateResults Scripts.TrainPytorch Scripts.TakeTurns PROPERTIES ENVIRONMENT
  "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>;EPOCHBENCH_SCHEMA=${PROJECT_SOURCE_DIR}/results/schema.json")
foreach(class Refusals Set)  # Set is skipped without EPOCHBENCH_SOURCES
  add_test(NAME Scripts.UpdatePublished.${class} COMMAND Python3::Interpreter
           ${CMAKE_CURRENT_SOURCE_DIR}/scripts/update_published_test.py ${class})
  set_tests_properties(Scripts.UpdatePublished.${class} PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION "OK \\(skipped="
    ENVIRONMENT "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>")
endforeach()
foreach(class Rows Set)  # Set is skipped without EPOCHBENCH_SOURCES
  add_test(NAME Scripts.CheckThroughputs.${class} COMMAND Python3::Interpreter
           ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_throughputs_test.py ${class})
  set_tests_properties(Scripts.CheckThroughputs.${class} PROPERTIES LABELS "unit;scripts" SKIP_REGULAR_EXPRESSION "OK \\(skipped=")
endforeach()
# Tests of scripts, which are the same in every build.
set_tests_properties(Scripts.TrainPytorch Scripts.TakeTurns Structure.IncludesKeepToTheLayers Structure.SelfTest
  Language.KeepsToTheWordList Language.SelfTest Scripts.SetUp
  Scripts.CheckGpu Scripts.CheckGpuParts Scripts.CheckGpuState Scripts.CheckCpu Scripts.Commands Scripts.BareImage
  Scripts.CountPytorch Scripts.CompareQuality Scripts.UpdatePrices Scripts.FmaThroughput Scripts.GateTrials
  Scripts.BisectTrials Scripts.MutateResults Scripts.Packages Scripts.RecordHistory
  PROPERTIES LABELS "unit;scripts")

# What docs/ci.md shows: action.yml, nightly.yml, .ci/gitlab.yml and the page's scripts. Yaml is skipped without PyYAML.
foreach(class MadeUp History Nights Unchanged Slower Yaml)
  add_test(NAME CiExamples.${class} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/scripts/ci_examples_test.py ${class})
  set_tests_properties(CiExamples.${class} PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION "OK \\(skipped="
    ENVIRONMENT "EPOCHBENCH_BINARY=$<TARGET_FILE:epochbench>;EPOCHBENCH_SCHEMA=${PROJECT_SOURCE_DIR}/results/schema.json;EPOCHBENCH_DELAYED=$<TARGET_FILE:epochbench_delayed>;EPOCHBENCH_PEAKS=${CMAKE_CURRENT_BINARY_DIR}/peaks")
endforeach()
set_tests_properties(CiExamples.Unchanged CiExamples.Slower PROPERTIES LABELS slow COST 40)
set_tests_properties(Scripts.TakeTurns Scripts.CheckGpu PROPERTIES LABELS "slow;scripts" COST 40)
