// What trackers get of runs that failed, and of runs that other processes disturbed.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"
#include "support/made_exports.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const char* const kMark = "†: other processes took 0.15 CPU cores or more";

Result loaded_run() {
  Result result = one_run();
  result.runs[0].interference = Interference{0.5};
  return result;
}

// Five repetitions on a GPU, whose name the last two do not know, since they failed; and a case that only failed.
Result partly_failed() {
  Result result = result_of({{.backend = "cuda", .rate = 128}});
  for (std::size_t i = 3; i < 5; ++i) {
    Run failed = failed_run(RunStatus::out_of_memory);
    rename(failed, result.runs[i].name);
    failed.repetition = static_cast<int>(i);
    failed.message = "needs 5 GB";
    failed.device.backend = BackendKind::cuda;
    failed.device.name = "cuda:0";
    failed.workload = result.runs[i].workload;
    result.runs[i] = failed;
  }
  result.runs.push_back(failed_run());
  return result;
}

std::string text_at(const Json& entry, const char* key) { return entry.at(key).get<std::string>(); }

// A tool compares each number with the last one of its series, so a series needs a number where no run failed, too.
TEST(ExportFailures, GithubBenchmarkCountsThemForEachCase) {
  const auto counts = [](const Result& result) {
    std::vector<std::string> found;
    for (const Json& entry : json_of("github-benchmark", result))
      if (entry["unit"] == "runs")
        found.push_back(text_at(entry, "name") + " " + entry["value"].dump() + " " + text_at(entry, "extra"));
    return found;
  };
  EXPECT_THAT(counts(result_of({{.rate = 128}})), ElementsAre("resnet50/cpu/fp32/b16: failed runs 0 of 5 repetitions"));
  EXPECT_THAT(counts(partly_failed()),
              ElementsAre("resnet50/cuda/fp32/b16: failed runs 2 of 5 repetitions\\nout of memory: needs 5 GB",
                          "mlp/cpu/fp32/b16: failed runs 1 of 1 repetition\\nfailed: killed by signal 9"));
  const Json json = json_of("github-benchmark", partly_failed());
  EXPECT_EQ(json[0]["value"], 125.0) << "of the runs that are ok";
  EXPECT_THAT(text_at(json[0], "extra"), StartsWith("3 repetitions\\n"));
  EXPECT_THAT(github_benchmark_folder(partly_failed(), "/x")[1].text, Not(HasSubstr("failed runs")));
}

TEST(ExportFailures, ASeriesKeepsItsNameWhenOneOfTwoSeedsFails) {
  Result result = result_of({{.rate = 128, .repetitions = 2}});
  const std::string seeded = result.runs[1].name + "/seed=1";
  rename(result.runs[1], seeded);
  const auto names = [](const Result& of) {
    std::set<std::string> found;
    for (const Json& entry : json_of("github-benchmark", of)) found.insert(text_at(entry, "name"));
    return found;
  };
  const std::set<std::string> before = names(result);
  EXPECT_EQ(before.count("resnet50/cpu/fp32/b16: failed runs"), 1u);
  result.runs[1] = failed_run();
  rename(result.runs[1], seeded);
  EXPECT_EQ(names(result), before);
}

TEST(ExportFailures, BencherGetsTheirNumberForEachCase) {
  const Json json = json_of("bmf", partly_failed());
  EXPECT_EQ(json.at("resnet50/cuda/fp32/b16").at("failed-runs"), (Json{{"value", 2}}));
  EXPECT_EQ(json.at("resnet50/cuda/fp32/b16").at("latency").at("value"), 125e6) << "of the runs that are ok";
  EXPECT_EQ(json.at("mlp/cpu/fp32/b16"), (Json{{"failed-runs", {{"value", 1}}}}));
  const Json loaded = json_of("bmf", loaded_run());
  EXPECT_EQ(loaded.at("resnet50/cpu/fp32/b16").at("failed-runs").at("value"), 0);
  EXPECT_EQ(loaded.at("resnet50/cpu/fp32/b16").at("foreign-cpu-cores").at("value"), 0.5);
}

// compare.py reads the times of every entry but an aggregate's, and pairs entries of one unit: a failed run has neither.
TEST(ExportFailures, AreErrorsWithoutTimesForGoogleBenchmark) {
  const Json entries = json_of("google-benchmark", partly_failed()).at("benchmarks");
  ASSERT_EQ(entries.size(), 6u);
  const Json& failed = entries[3];
  for (const auto& [key, value] : std::map<std::string, Json>{{"name", "resnet50/cuda/fp32/b16"},
                                                              {"run_type", "aggregate"},
                                                              {"repetition_index", 3},
                                                              {"time_unit", ""},
                                                              {"error_occurred", true},
                                                              {"error_message", "out of memory: needs 5 GB"}})
    EXPECT_EQ(failed.at(key), value) << key;
  for (const char* key : {"real_time", "cpu_time", "iterations"}) EXPECT_FALSE(failed.contains(key)) << key;
  EXPECT_EQ(entries[2].at("run_type"), "iteration");
  EXPECT_FALSE(entries[2].contains("error_occurred"));
  EXPECT_EQ(entries[5].at("error_message"), "failed: killed by signal 9");
}

TEST(ExportFailures, AreAbortedWhereTheyBeginForMlperf) {
  Result result = one_run();
  result.runs = {failed_run()};
  const std::string text = mllog_text(result);
  EXPECT_THAT(text, HasSubstr(R"("metadata":{"status":"aborted","message":"failed: killed by signal 9"}})"));
  EXPECT_THAT(text, Not(HasSubstr("samples_per_second")));
  for (const std::string& line : lines_of(text))
    EXPECT_THAT(line, HasSubstr("\"time_ms\":" + std::to_string(kMadeMilliseconds) + ","));
}

TEST(ExportLoad, IsMarkedForGithubBenchmark) {
  for (const Json& entry : json_of("github-benchmark", one_run())) EXPECT_THAT(text_at(entry, "extra"), Not(HasSubstr("†")));
  const Json entry = json_of("github-benchmark", loaded_run())[0];
  EXPECT_THAT(text_at(entry, "extra"), HasSubstr(std::string("\\n") + kMark));
  EXPECT_THAT(text_at(entry, "name"), Not(HasSubstr("†"))) << "a series is found by its name";
}

TEST(ExportLoad, IsMarkedForGoogleBenchmark) {
  const auto label = [](const Result& result) {
    return text_at(json_of("google-benchmark", result).at("benchmarks")[0], "label");
  };
  EXPECT_EQ(label(one_run()), "epochs are projected");
  EXPECT_THAT(label(loaded_run()), StartsWith(std::string("epochs are projected; ") + kMark));
}

TEST(ExportLoad, IsMarkedForPrometheus) {
  const std::string sample = "epochbench_run_loaded{run=\"resnet50/cpu/fp32/b16\",repetition=\"0\"} ";
  EXPECT_THAT(openmetrics_text(one_run()), HasSubstr(sample + "0.0\n"));
  EXPECT_THAT(openmetrics_text(loaded_run()), HasSubstr(sample + "1.0\n"));
  EXPECT_THAT(openmetrics_text(loaded_run()), HasSubstr(std::string("# HELP epochbench_run_loaded ") + kMark));
  Result unknown = one_run();
  unknown.runs[0].interference.reset();
  EXPECT_THAT(openmetrics_text(unknown), Not(HasSubstr("epochbench_run_loaded")));
}

TEST(ExportLoad, IsMarkedForMlflow) {
  const auto is_marked = testing::Contains(testing::Pair("epochbench.load", load_note()));
  EXPECT_THAT(mlflow_runs(one_run())[0].tags, Not(is_marked));
  EXPECT_THAT(mlflow_runs(loaded_run())[0].tags, is_marked);
}

TEST(ExportLoad, IsMarkedForMlperf) {
  EXPECT_THAT(mllog_text(one_run()), Not(HasSubstr("other processes took")));
  EXPECT_THAT(mllog_text(loaded_run()), HasSubstr(R"("status":"success","load":"\u2020: other processes took 0.15 CPU)"));
}

}  // namespace
}  // namespace epochbench
