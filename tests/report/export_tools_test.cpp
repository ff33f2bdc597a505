// Exports that other tools read: exact texts of small results, and what their escapes and limits are for.
#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/statistics.h"
#include "src/report/export/export_formats.h"
#include "support/made_exports.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Result two_epochs() {
  Result result = one_run();
  Run& run = result.runs[0];
  run.workload.samples_per_epoch = 32;
  run.workload.optimizer = "adamw lr=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.01 extra=2";
  run.workload.seed = 7;
  run.timing->step_seconds = {0.125, 0.125, 0.25, 0.25};
  run.timing->epoch_kind = EpochKind::measured;
  run.timing->compile_seconds = 2;
  run.timing->wall_seconds = 10;
  run.quality->eval_metric = EvalMetric::accuracy;
  run.quality->eval_history = {0.5, 0.75};
  run.quality->eval_value = 0.75;
  return result;
}

// "key=value@milliseconds after the result's date"
std::vector<std::string> mllog_events(const std::string& text) {
  std::vector<std::string> events;
  for (const std::string& line : lines_of(text)) {
    EXPECT_EQ(line.substr(0, 9), ":::MLLOG ");
    const Json json = parse_json(line.substr(9), "line");
    const Json& value = json["value"];
    events.push_back(json["key"].get<std::string>() + (value.is_null() ? "" : "=" + value.dump()) + "@" +
                     std::to_string(json["time_ms"].get<std::int64_t>() - kMadeMilliseconds));
  }
  return events;
}

TEST(ExportMllog, TellsATrainingInMlperfsKeys) {
  EXPECT_THAT(
      mllog_events(mllog_text(two_epochs())),
      ElementsAre("init_start@0", "seed=7@0", "global_batch_size=16@0", "train_samples=32@0", "opt_name=\"adamw\"@0",
                  "opt_base_learning_rate=0.001@0", "opt_adamw_beta_1=0.9@0", "opt_adamw_beta_2=0.999@0",
                  "opt_adamw_epsilon=1e-08@0", "opt_adamw_weight_decay=0.01@0", "init_stop@2000", "run_start@2000",
                  "epoch_start@2000", "epoch_stop@2250", "eval_accuracy=0.5@2250", "epoch_start@2250", "epoch_stop@2750",
                  "eval_accuracy=0.75@2750", "trained_samples=64.0@10000", "samples_per_second=128.0@10000", "run_stop@10000"));
  const std::string text = mllog_text(two_epochs());
  EXPECT_THAT(text, HasSubstr(R"("key":"opt_name","value":"adamw","metadata":{"extra":2.0}})"));
  EXPECT_THAT(text, HasSubstr(R"("event_type":"INTERVAL_END","key":"epoch_stop","value":null,"metadata":{"epoch_num":2}})"));
  EXPECT_THAT(text, HasSubstr(R"("key":"run_stop","value":null,"metadata":{"status":"success"}})"));
}

TEST(ExportMllog, CountsATrainingToATargetAsMlperfDoes) {
  Result result = two_epochs();  // of 10 s in all
  epochbench::Run& run = result.runs[0];
  run.settings["until"] = std::string("accuracy=0.7");
  run.timing->stopped_by = StopReason::until;
  run.timing->training_seconds = 5;
  run.timing->evaluation_seconds = 1;
  const auto events = mllog_events(mllog_text(result));
  EXPECT_THAT(events, testing::IsSupersetOf({"init_stop@5000", "run_start@5000", "epoch_stop@5250", "eval_start@5250",
                                             "eval_accuracy=0.5@5750", "eval_stop@5750", "epoch_stop@6250",
                                             "eval_accuracy=0.75@6750", "run_stop@10000"}));
  EXPECT_THAT(mllog_text(result), HasSubstr(R"("metadata":{"status":"success","target":"accuracy=0.7"}})"));
  run.timing->stopped_by = StopReason::epochs;
  EXPECT_THAT(mllog_text(result), HasSubstr(R"("metadata":{"status":"aborted","target":"accuracy=0.7"}})"));
}

TEST(ExportMllog, TellsTheWarmUpOfTheLearningRate) {
  Result result = two_epochs();
  result.runs[0].workload.optimizer += " lr_schedule=cosine lr_warmup=100";
  EXPECT_THAT(mllog_events(mllog_text(result)), testing::Contains("opt_learning_rate_warmup_steps=100.0@0"));
}

TEST(ExportMllog, AProjectedEpochIsNoEpoch) {
  Result result = two_epochs();
  result.runs[0].timing->epoch_kind = EpochKind::projected;
  const auto events = mllog_events(mllog_text(result));
  EXPECT_EQ(std::count(events.begin(), events.end(), "eval_accuracy=0.75@10000"), 1);
  EXPECT_THAT(mllog_text(result), Not(HasSubstr("epoch_start")));
  result.runs[0].quality->eval_metric = EvalMetric::loss;
  EXPECT_THAT(mllog_text(result), HasSubstr("eval_loss"));
}

TEST(ExportMllog, RunsLieEndToEndEachInItsNamespace) {
  Result result = result_of({{.rate = 128, .repetitions = 2}});
  for (epochbench::Run& run : result.runs) run.timing->wall_seconds = 10;
  const auto events = mllog_events(mllog_text(result));
  EXPECT_EQ(std::count(events.begin(), events.end(), "init_start@10000"), 1);
  EXPECT_THAT(mllog_text(result), HasSubstr(R"({"namespace":"resnet50/cpu/fp32/b16#1","time_ms":)"));
  const auto files = mllog_folder(result, "/x");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].path, "result_1.txt");
  EXPECT_EQ(files[0].text + files[1].text, mllog_text(result));
}

TEST(ExportMllog, NoTextBreaksALineOrItsMark) {
  const std::string text = mllog_text(one_run("a\n:::MLLOG \"é"));
  EXPECT_THAT(text, HasSubstr(R"({"namespace":"a\n\u003a::MLLOG \"\u00e9#0",)"));
  for (const std::string& line : lines_of(text)) EXPECT_EQ(line.rfind(":::MLLOG"), 0u) << line;
}

TEST(ExportMllog, HasNoPlaceForWhatIsNoTraining) {
  epochbench::Run run = one_run().runs[0];
  EXPECT_EQ(mllog_left_out(run), "");
  run.timing->wall_seconds = std::nan("");
  EXPECT_THAT(mllog_left_out(run), HasSubstr("not known"));
  run.workload.mode = Mode::forward;
  EXPECT_THAT(mllog_left_out(run), HasSubstr("no training"));
  EXPECT_EQ(mllog_left_out(failed_run(RunStatus::skipped)), "skipped");
}

TEST(ExportGithubBenchmark, HasWhatShouldBeSmallAndInAFolderBoth) {
  Result result = result_of({{.rate = 128, .repetitions = 3}});
  result.runs[0].timing->step_seconds_median = 0.120;
  result.runs[2].timing->step_seconds_median = 0.132;
  const Json json = json_of("github-benchmark", result);
  EXPECT_EQ(json[0], (Json{{"name", "resnet50/cpu/fp32/b16: step time, median"},
                           {"unit", "ms"},
                           {"value", geometric_mean(std::vector{0.120, 0.125, 0.132}) * 1e3},
                           {"range", "± 6.00"},
                           {"extra", "3 repetitions\\nSome CPU, threads: 8\\nepochs are projected"}}));
  std::set<std::string> names;
  for (const Json& entry : json)
    EXPECT_TRUE(names.insert(entry["name"].get<std::string>()).second) << "a series is found by its name";
  EXPECT_EQ(names, (std::set<std::string>{"resnet50/cpu/fp32/b16: step time, median", "resnet50/cpu/fp32/b16: epoch time",
                                          "resnet50/cpu/fp32/b16: compile time", "resnet50/cpu/fp32/b16: energy per epoch",
                                          "resnet50/cpu/fp32/b16: cost per epoch", "resnet50/cpu/fp32/b16: failed runs"}))
      << "what should be small, and is comparable";
  const auto files = github_benchmark_folder(result, "/x");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "customSmallerIsBetter.json");
  EXPECT_THAT(files[1].text, HasSubstr("resnet50/cpu/fp32/b16: throughput"));
  EXPECT_THAT(files[1].text, Not(HasSubstr("epoch time")));
}

TEST(ExportBmf, HasBenchersOwnMeasuresInItsUnits) {
  Result result = result_of({{.rate = 128, .repetitions = 3}});
  result.runs[1].throughput->samples_per_second = 64;
  const Json json = json_of("bmf", result);
  const Json& measures = json["resnet50/cpu/fp32/b16"];
  EXPECT_EQ(measures["latency"], (Json{{"value", 125e6}, {"lower_value", 125e6}, {"upper_value", 125e6}}));
  EXPECT_NEAR(measures["throughput"]["value"].get<double>(), std::cbrt(128.0 * 128 * 64), 1e-9);
  EXPECT_EQ(measures["throughput"]["lower_value"], 64.0);
  EXPECT_EQ(measures["throughput"]["upper_value"], 128.0);
  EXPECT_EQ(measures["epoch-seconds"]["value"], 100.0);
  EXPECT_FALSE(measures.contains("peak-bytes")) << "not known";
}

TEST(ExportOpenMetrics, HasUnitsInNamesAndAStateForEveryRun) {
  Result result = one_run();
  result.runs.push_back(failed_run());
  const std::string text = openmetrics_text(result);
  const std::string labels = "{run=\"resnet50/cpu/fp32/b16\",repetition=\"0\"";
  EXPECT_THAT(text, HasSubstr("# TYPE epochbench_step_seconds gauge\n# UNIT epochbench_step_seconds seconds\n"
                              "# HELP epochbench_step_seconds Step time, median.\nepochbench_step_seconds" +
                              labels + "} 0.125\n"));
  EXPECT_THAT(text, HasSubstr("epochbench_run_status" + labels + ",epochbench_run_status=\"ok\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{run=\"mlp/cpu/fp32/b16\",repetition=\"0\",epochbench_run_status=\"failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("epochbench_result_timestamp_seconds 1767323045.0\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE epochbench_run_info gauge\n"));
  for (const std::string& line : lines_of(text))
    EXPECT_EQ(line.starts_with("# TYPE "), line.ends_with(" gauge")) << "known to the older format too: " << line;
  EXPECT_EQ(lines_of(text).back(), "# EOF");
  EXPECT_THAT(text, Not(HasSubstr("epochbench_peak_memory_bytes"))) << "no family without a sample";
}

TEST(ExportOpenMetrics, EscapesLabelsAndRefusesTwins) {
  EXPECT_THAT(openmetrics_text(one_run("a\\b\"c\nd\re")), HasSubstr(R"({run="a\\b\"c\nd e",repetition="0"})"));
  Result result = one_run();
  result.runs.push_back(result.runs[0]);
  EXPECT_THROW(openmetrics_text(result), FormatError);
  EXPECT_THROW(mlflow_text(result), FormatError);
}

TEST(ExportGoogleBenchmark, HasRepetitionsApart) {
  Result result = result_of({{.rate = 128, .repetitions = 2}});
  result.runs[1].timing->steps_total_seconds = 5;
  const Json json = json_of("google-benchmark", result);
  ASSERT_EQ(json["benchmarks"].size(), 2u);
  const Json& second = json["benchmarks"][1];
  for (const auto& [key, value] : std::map<std::string, Json>{{"name", "resnet50/cpu/fp32/b16"},
                                                              {"run_type", "iteration"},
                                                              {"repetitions", 2},
                                                              {"repetition_index", 1},
                                                              {"iterations", 20},
                                                              {"real_time", 250000.0},
                                                              {"cpu_time", 250000.0},
                                                              {"time_unit", "us"},
                                                              {"label", "epochs are projected"},
                                                              {"items_per_second", 128.0}})
    EXPECT_EQ(second[key], value) << key;
  EXPECT_EQ(json["context"]["date"], "2026-01-02T03:04:05Z");
  EXPECT_EQ(json["context"]["library_build_type"], "release");
  EXPECT_THAT(json["context"]["cpu_time"].get<std::string>(), HasSubstr("not measured"));
  EXPECT_FALSE(json["context"].contains("mhz_per_cpu")) << "not known";
}

TEST(ExportMlflow, HasParametersTagsAndSeries) {
  const auto runs = mlflow_runs(two_epochs());
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].start_milliseconds, kMadeMilliseconds);
  EXPECT_EQ(runs[0].end_milliseconds, kMadeMilliseconds + 10'000);
  std::vector<std::string> series;
  for (const MlflowMetric& m : runs[0].metrics)
    if (m.key == "step_seconds" || m.key == "eval_history")
      series.push_back(m.key + " " + std::to_string(m.step) + " @" + std::to_string(m.milliseconds - kMadeMilliseconds));
  EXPECT_THAT(series, ElementsAre("step_seconds 0 @2125", "step_seconds 1 @2250", "step_seconds 2 @2500",
                                  "step_seconds 3 @2750", "eval_history 1 @2250", "eval_history 2 @2750"));
  EXPECT_THAT(runs[0].params, testing::Contains(testing::Pair("model", "resnet50")));
  EXPECT_THAT(runs[0].tags, testing::Contains(testing::Pair("mlflow.runName", "resnet50/cpu/fp32/b16")));
}

TEST(ExportMlflow, RequestsStayWithinTheLimitsOfAServer) {
  Result result = one_run();
  result.runs[0].timing->step_seconds.assign(2000, 0.125);
  std::size_t metrics = 0;
  std::set<std::string> ids;
  for (const std::string& line : lines_of(mlflow_text(result))) {
    const Json request = parse_json(line, "line");
    const auto entities = [&](const char* key) { return request.contains(key) ? request[key].size() : 0; };
    EXPECT_LE(entities("metrics") + entities("params") + entities("tags"), 1000u);
    EXPECT_LT(line.size(), 1'000'000u);
    metrics += entities("metrics");
    ids.insert(request["run_id"].get<std::string>());
  }
  EXPECT_EQ(metrics, mlflow_runs(result)[0].metrics.size());
  EXPECT_EQ(ids.size(), 1u);
}

TEST(ExportMlflow, AStoreHasOneFolderARunAndItsMetaLast) {
  Result result = one_run("a: {b}\n\xC2\x85\"c\"");
  result.runs.push_back(failed_run());
  const auto files = mlflow_folder(result, "/with blank/mlruns");
  const auto runs = mlflow_runs(result);
  const std::string folder = "516150308020514030/" + runs[0].id + "/";
  std::map<std::string, std::string> text;
  for (const ExportFile& file : files) EXPECT_TRUE(text.emplace(file.path, file.text).second) << file.path;
  EXPECT_EQ(text.at(folder + "params/model"), "resnet50");
  EXPECT_EQ(text.count("516150308020514030/" + runs[1].id + "/metrics/"), 1u) << "MLflow needs the folder of a failed run too";
  EXPECT_EQ(text.at(folder + "metrics/epoch_seconds"), std::to_string(kMadeMilliseconds + 3750) + " 100.0 0\n");
  EXPECT_EQ(text.at(folder + "metrics/loss"), std::to_string(kMadeMilliseconds + 125) + " 7.0 0\n" +
                                                  std::to_string(kMadeMilliseconds + 250) + " 6.9 1\n" +
                                                  std::to_string(kMadeMilliseconds + 375) + " 6.8 2\n");
  const std::string meta = text.at(folder + "meta.yaml");
  EXPECT_THAT(meta, HasSubstr("\nrun_name: \"a: {b}\\\\n\\\\u0085\\\"c\\\"\"\n"));
  EXPECT_THAT(meta, HasSubstr("artifact_uri: \"file:///with%20blank/mlruns/" + folder + "artifacts\"\n"));
  EXPECT_THAT(meta, HasSubstr("\nstatus: 3\n"));
  const std::string failed = text.at("516150308020514030/" + runs[1].id + "/meta.yaml");
  EXPECT_THAT(failed, HasSubstr("\nend_time: null\n"));
  EXPECT_THAT(failed, HasSubstr("\nstatus: 4\n"));
  EXPECT_EQ(files.back().path, "516150308020514030/" + runs[1].id + "/meta.yaml");
  EXPECT_TRUE(files.front().keep) << "an experiment that is there stays";
}

TEST(ExportMlflow, ARunHasOneIdHoweverOftenItIsExported) {
  const auto one = mlflow_runs(one_run())[0].id;
  EXPECT_EQ(one, mlflow_runs(one_run())[0].id);
  EXPECT_TRUE(std::regex_match(one, std::regex("[0-9a-f]{32}"))) << one;
  Result later = one_run(), other = one_run();
  later.context.date = "2026-01-02T03:04:06Z";
  other.runs[0].repetition = 1;
  EXPECT_NE(one, mlflow_runs(later)[0].id);
  EXPECT_NE(one, mlflow_runs(other)[0].id);
}

}  // namespace
}  // namespace epochbench
