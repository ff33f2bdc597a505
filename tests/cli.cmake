# Tests of src/report, src/analysis and src/cli.
epochbench_test(result_json_test LABEL unit LIBRARIES epochbench_report)
epochbench_test(report_test LABEL unit LIBRARIES epochbench_report)
epochbench_test(cost_test LABEL unit LIBRARIES epochbench_cli)
epochbench_test(options_test LABEL unit LIBRARIES epochbench_cli)
epochbench_test(suite_test LABEL unit LIBRARIES epochbench_cli)
