# Tests of bench/.
epochbench_tests(bench_tests LABEL unit LIBRARIES epochbench_bench_parts TESTS
  bench/comparison_table_test bench/figures_test bench/interleaved_calls_test bench/work_test)
add_library(epochbench_cblas_peers OBJECT)
foreach(peer openblas mkl)  # each makes its peer by a function of the same name
  target_sources(epochbench_cblas_peers PRIVATE ${PROJECT_SOURCE_DIR}/kernels/libraries/${peer}.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/libraries/${peer}.cpp PROPERTIES COMPILE_DEFINITIONS "epochbench_library=${peer}_peer;EPOCHBENCH_SCIPY_OPENBLAS")
endforeach()
target_link_libraries(epochbench_cblas_peers PRIVATE epochbench_options)
epochbench_test(bench/cblas_peers_test LABEL unit LIBRARIES epochbench_cblas_peers epochbench_kernels_reference)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  epochbench_test(bench/plan_share_test LABEL unit LIBRARIES epochbench_plan_share epochbench_bench_parts)
  target_compile_definitions(plan_share_test PRIVATE EPOCHBENCH_SHAPES="${PROJECT_SOURCE_DIR}/bench/shapes")
endif()

if(EPOCHBENCH_BENCHMARKS)
  # Our kernels without other libraries, with both thread counts, in one process and in several.
  add_test(NAME Bench.ComparesKernels COMMAND epochbench_bench --scaling --threads=2 --rounds=1 --shapes=${PROJECT_SOURCE_DIR}/bench/shapes/lenet5.txt)
  add_test(NAME Bench.ComparesKernelsInProcesses COMMAND epochbench_bench --scaling --threads=2 --rounds=1 --processes=5 --shapes=${PROJECT_SOURCE_DIR}/bench/shapes/lenet5.txt)
  set_tests_properties(Bench.ComparesKernels PROPERTIES LABELS slow PASS_REGULAR_EXPRESSION "convolutions, geometric mean\n.*total")
  set_tests_properties(Bench.ComparesKernelsInProcesses PROPERTIES LABELS slow
    PASS_REGULAR_EXPRESSION "processes: 5, rounds: 1.*threads gain [0-9.]+ \\[[0-9.]+, .*convolutions, geometric mean")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME Bench.CheckCpuReadsTables
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/scripts/check_cpu_test.py RealTable)
  set_tests_properties(Bench.CheckCpuReadsTables PROPERTIES LABELS slow ENVIRONMENT "EPOCHBENCH_BENCH=$<TARGET_FILE:epochbench_bench>")
  add_test(NAME Bench.NamesAnUnknownPeer COMMAND epochbench_bench --peers=atlas)
  set_tests_properties(Bench.NamesAnUnknownPeer PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "--peers=atlas is not one of")
endif()
