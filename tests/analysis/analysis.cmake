# Tests of src/base, src/result, src/figures, src/published, src/case, src/analysis, src/report and src/session.
epochbench_tests(analysis_tests LABEL unit LIBRARIES epochbench_analysis TESTS
  analysis/bisection_test analysis/change_points_test analysis/comparison_test analysis/curves_test
  analysis/decision_simulation_test analysis/decision_test analysis/precision_quality_test
  analysis/rank_scaling_test analysis/scaling_test analysis/turns_comparison_test base/cpu_name_test base/files_test base/gpu_code_test base/json_fields_test
  base/lookup_test base/rank_shift_test base/rounds_test base/statistics_test base/text_test base/process_test base/file_kind_test
  figures/estimate_test figures/figure_test figures/summarize_test analysis/reproduction_test figures/best_choice_test)
epochbench_test(analysis/coverage_test LABEL slow LIBRARIES epochbench_analysis)
epochbench_tests(report_tests LABEL unit LIBRARIES epochbench_report TESTS
  analysis/fairness_test analysis/input_pipeline_test analysis/local_cost_test analysis/peer_ratios_test
  analysis/peak_share_test analysis/published_pairs_test analysis/speedup_test analysis/unusable_test
  report/answers_page_test report/compare_report_test report/energy_text_test report/epochs_text_test
  report/export_failures_test report/export_test
  report/export_tools_test report/history_test report/html_page_test report/load_mark_test report/peak_text_test
  report/report_test result/result_json_test result/schema_test result/turns_json_test analysis/decoding_test
  analysis/time_to_quality_test analysis/identities_test)
target_compile_definitions(report_tests PRIVATE EPOCHBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
epochbench_tests(published_tests LABEL unit LIBRARIES epochbench_published TESTS
  published/curated_test published/dawnbench_test published/mlperf_test)
epochbench_test(report/html_page_without_charts_test LABEL unit LIBRARIES epochbench_analysis)
target_sources(html_page_without_charts_test PRIVATE ${PROJECT_SOURCE_DIR}/src/report/html/html_page.cpp)
epochbench_tests(cli_tests LABEL unit LIBRARIES epochbench_cli TESTS
  analysis/claim_catalog_test analysis/claim_trends_test analysis/claims_test analysis/cost_test case/options_test
  case/settings_test case/suite_test report/many_names_test report/names_are_labels_test report/one_estimator_test
  report/page_data_test
  session/budget_test session/endings_test session/profile_test session/resume_gpus_test session/sweep_test
  session/time_left_test
  analysis/own_claim_test report/page_head_test session/outside_program_test analysis/claims_of_cnns_test
  analysis/claim_conclusion_test analysis/claims_of_owning_test analysis/further_claims_test session/claim_plans_test
  analysis/claims_of_machines_test analysis/claims_of_others_test session/spread_peaks_test
  case/recipe_test session/complete_result_test session/united_suites_test)
target_compile_definitions(cli_tests PRIVATE PUBLISHED_RESULTS="${PROJECT_SOURCE_DIR}/results")
epochbench_tests(prediction_tests LABEL unit LIBRARIES epochbench_fit_parts TESTS
  analysis/device_catalog_test analysis/expected_time_test analysis/prediction_test analysis/price_file_test)
target_compile_definitions(prediction_tests PRIVATE PUBLISHED_RESULTS="${PROJECT_SOURCE_DIR}/results"
  REPOSITORY="${PROJECT_SOURCE_DIR}")
