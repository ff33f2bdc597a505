# Tests of bench/.
epochbench_tests(bench_tests LABEL unit LIBRARIES epochbench_bench_parts TESTS
  bench/contest_test bench/match_table_test bench/standings_test bench/work_test)

if(EPOCHBENCH_BENCHMARKS)
  # Our kernels in a match without peers, on both numbers of threads.
  add_test(NAME Bench.PlaysAMatch COMMAND epochbench_bench --scaling --threads=2 --rounds=1 --shapes=${PROJECT_SOURCE_DIR}/bench/shapes/lenet5.txt)
  set_tests_properties(Bench.PlaysAMatch PROPERTIES LABELS slow PASS_REGULAR_EXPRESSION "convolutions, geometric mean\n.*total")
  add_test(NAME Bench.NamesAnUnknownPeer COMMAND epochbench_bench --peers=atlas)
  set_tests_properties(Bench.NamesAnUnknownPeer PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "--peers=atlas is not one of")
endif()
