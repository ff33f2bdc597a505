// Results of MLPerf Training: what is read, the rules for the time to train, citations, and what is refused.
#include <gmock/gmock.h>

#include "published/inputs.h"
#include "src/base/text.h"
#include "src/published/import.h"

namespace epochbench {
namespace {

using namespace published_inputs;
using testing::Contains;
using testing::HasSubstr;

const PublishedOrigin kOrigin{"mlcommons/training_results_v3.0", "c0ffee", "Apache-2.0", "2026-01-19"};
constexpr const char* kUnverified = "Result not verified by MLCommons Association";

PublishedEntry entry_of_result(const std::vector<NamedText>& files, const PublishedOrigin& origin = kOrigin) {
  return import_mlperf(files, origin, "3.0-1").entries.at(0);
}

std::string refused_result(const std::vector<NamedText>& files) {
  return refusal([&] { import_mlperf(files, kOrigin, std::nullopt); });
}

// Five runs whose third log has a text replaced.
std::vector<NamedText> with_changed_log(const std::string& from, const std::string& to) {
  auto files = mlperf_files({100, 101, 102, 103, 104});
  const std::string before = files[3].text;
  replace_all(files[3].text, from, to);
  EXPECT_NE(files[3].text, before) << from;
  return files;
}

TEST(Mlperf, ResultOfFiveRuns) {
  const PublishedEntry entry = entry_of_result(mlperf_files({110, 100, 90, 80, 120}));
  EXPECT_EQ(entry.name, "results/box/resnet");
  EXPECT_EQ(entry.benchmark, "resnet");
  EXPECT_EQ(entry.version, "v3.0");
  EXPECT_EQ(entry.division, "closed");
  EXPECT_EQ(entry.category, "onprem");
  EXPECT_EQ(entry.result_id, "3.0-1");
  EXPECT_EQ(entry.batch, 512);
  EXPECT_EQ(entry.date, "2020-09-13");
  EXPECT_EQ(entry.seconds_to_target, 100) << "without the fastest and the slowest";
  EXPECT_EQ(entry.epochs, 35);
  EXPECT_NEAR(*entry.seconds_per_epoch, 100 / 35.0, 1e-6);
  EXPECT_EQ(entry.throughput->rate, 350);
  EXPECT_EQ(entry.runs.size(), 5u);
  EXPECT_EQ(entry.machine.nodes, 2);
  EXPECT_EQ(entry.machine.processors_per_node, 2);
  EXPECT_EQ(entry.machine.cores_per_processor, 28);
  EXPECT_EQ(entry.machine.accelerators_per_node, 8);
  EXPECT_FALSE(entry.usd_per_hour);
  EXPECT_FALSE(entry.quality);
}

TEST(Mlperf, DerivedFiguresAreNotVerified) {
  const PublishedDocument document = import_mlperf(mlperf_files({110, 100, 90, 80, 120}), kOrigin, "3.0-1");
  EXPECT_THAT(document.notice, HasSubstr(kUnverified));
  EXPECT_THAT(document.notice, HasSubstr("trademarks of MLCommons Association"));
  EXPECT_THAT(document.entries[0].throughput->derivation, HasSubstr(kUnverified));
  EXPECT_THAT(document.entries[0].notes, Contains(HasSubstr(kUnverified)));
  EXPECT_EQ(document.entries[0].citation,
            "MLPerf® Training v3.0 Closed resnet: Maker, box_n2, 16 x A GPU, entry 3.0-1; retrieved from "
            "https://github.com/mlcommons/training_results_v3.0 on 2026-01-19");
}

TEST(Mlperf, AFailedRunIsTheSlowest) {
  auto files = mlperf_files({110, 100, 90, 80, 1});
  files.back().text = mlperf_log(1, "resnet", "aborted");
  EXPECT_EQ(entry_of_result(files).seconds_to_target, 100);
  EXPECT_NEAR(entry_of_result(files).throughput->rate, 4 * 35'000 / 380.0, 1e-6);
  files[1].text = mlperf_log(1, "resnet", "aborted");
  EXPECT_FALSE(entry_of_result(files).seconds_to_target);
  EXPECT_THAT(entry_of_result(files).notes, Contains(HasSubstr("more than one run failed")));
}

TEST(Mlperf, TheScalingFactorIsOfTheTimeToTrain) {
  auto files = mlperf_files({100, 100, 100, 100, 100});
  files.push_back({"results/box/resnet/scaling.json", R"({"scaling_factor": 1.25})"});
  const PublishedEntry entry = entry_of_result(files);
  EXPECT_EQ(entry.scaling_factor, 1.25);
  EXPECT_EQ(entry.seconds_to_target, 125);
  EXPECT_EQ(entry.throughput->rate, 350) << "without the factor";
  EXPECT_EQ(entry.files[1], "results/box/resnet/scaling.json");
}

TEST(Mlperf, BertCountsSamples) {
  const PublishedEntry entry = entry_of_result(mlperf_files({10, 20, 20, 20, 20, 20, 20, 20, 20, 40}, "bert"));
  EXPECT_EQ(entry.seconds_to_target, 20);
  EXPECT_NEAR(entry.throughput->rate, 20'000 / 210.0, 1e-6);
  EXPECT_FALSE(entry.epochs);
  EXPECT_EQ(entry.target->value, 0.72);
  EXPECT_FALSE(entry_of_result(mlperf_files({20}, "bert"), {}).target) << "the round says which target it was";
}

TEST(Mlperf, OtherNumbersOfRunsHaveNoTimeToTrain) {
  const PublishedEntry entry = entry_of_result(mlperf_files({100, 100, 100}));
  EXPECT_FALSE(entry.seconds_to_target);
  EXPECT_THAT(entry.notes, Contains(HasSubstr("3 runs, and the rules of MLPerf® Training ask for 5")));
  EXPECT_EQ(entry.throughput->rate, 350);
}

TEST(Mlperf, ProcessorsComputeWhereThereIsNoAccelerator) {
  Json system = mlperf_system();
  system["accelerators_per_node"] = "0";
  system["accelerator_model_name"] = "N/A";
  auto files = mlperf_files({100, 100, 100, 100, 100});
  files[0] = json_file("systems/box.json", system);
  const PublishedEntry entry = entry_of_result(files);
  EXPECT_EQ(entry.machine.accelerators_per_node, 0);
  EXPECT_FALSE(entry.machine.accelerator);
  EXPECT_THAT(entry.citation, HasSubstr("box_n2, 4 x A CPU,"));
}

TEST(Mlperf, WhatALogDoesNotSayIsUnknown) {
  const PublishedEntry entry = entry_of_result(with_changed_log("train_samples", "other_samples"));
  EXPECT_FALSE(entry.runs[2].samples);
  EXPECT_EQ(entry.runs[1].samples, 35'000);
  const PublishedDocument unknown = import_mlperf(mlperf_files({1}), {}, std::nullopt);
  EXPECT_FALSE(unknown.entries[0].version);
  EXPECT_FALSE(unknown.entries[0].link);
  EXPECT_THAT(unknown.entries[0].citation, HasSubstr("result ID not given"));
}

TEST(Mlperf, TheDivisionMayBeMisspelledOrOnlyInTheLogs) {
  auto files = mlperf_files({110, 100, 90, 80, 120});
  replace_all(files[0].text, "division", "divison");
  EXPECT_EQ(entry_of_result(files).division, "closed");
  replace_all(files[0].text, "closed", "open");
  EXPECT_EQ(entry_of_result(files).division, "open");
  replace_all(files[0].text, "divison", "other");
  EXPECT_EQ(entry_of_result(files).division, "closed");
}

// Dell's, Azure's and others' results have logs of NVIDIA's container, which name NVIDIA, or of runs for the other division.
TEST(Mlperf, TheDescriptionCountsWhereItsLogsLie) {
  auto files = with_changed_log("Maker", "Supplier");
  for (const std::string folder : {"", "Maker/"}) {
    auto placed = files;
    for (NamedText& file : placed) file.path = folder + file.path;
    const PublishedEntry entry = entry_of_result(placed);
    EXPECT_EQ(entry.submitter, "Maker");
    EXPECT_THAT(entry.notes, Contains("logs name Supplier, closed as the submitter and division; the description of the system "
                                      "counts"));
  }
  for (const char* elsewhere : {"systems/box2.json", "Other/systems/box.json", "mysystems/box.json", "box.json"}) {
    auto misplaced = files;
    misplaced[0].path = elsewhere;
    EXPECT_THAT(refused_result(misplaced), HasSubstr("of Supplier, closed, and the system's description is of Maker, closed"));
  }
}

TEST(Mlperf, RunsOfOneResultMayHaveDifferentBatches) {
  auto files = with_changed_log("512", "256");
  const PublishedEntry entry = entry_of_result(files);
  EXPECT_FALSE(entry.batch);
  EXPECT_THAT(entry.notes, Contains("no batch: the runs had different ones"));
  EXPECT_EQ(entry_of_result(mlperf_files({100, 101, 102, 103, 104})).batch, 512);
  files[3].path = "results/box2/resnet/result_2.txt";
  EXPECT_THAT(refused_result(files), HasSubstr("benchmark or batch differ"));
}

// As Graphcore's descriptions of v2.0 do.
TEST(Mlperf, AKeyMayBeThereTwice) {
  auto files = mlperf_files({110, 100, 90, 80, 120});
  files[0].text.insert(1, R"("status": "cloud", )");
  EXPECT_EQ(entry_of_result(files).category, "onprem");
}

TEST(Mlperf, ADivergedRunHasFailed) {
  auto files = mlperf_files({100, 100, 100, 100, 200});
  replace_all(files.back().text, "success", "aborted");
  for (const char* value : {"NaN", "Infinity", "-Infinity"}) {
    auto diverged = files;
    replace_all(diverged.back().text, "0.77", value);
    EXPECT_EQ(entry_of_result(diverged).runs.back().status, "aborted") << value;
    EXPECT_EQ(entry_of_result(diverged).seconds_to_target, 100) << value;
  }
  files[0].path = "systems/other.json";
  replace_all(files.back().text, "Maker", "NaN \\\" NaN");
  EXPECT_THAT(refused_result(files), HasSubstr("of NaN \" NaN, closed")) << "text in quotes stays as it is";
}

TEST(Mlperf, LinesThatAreNoEventsArePassedOver) {
  auto files = mlperf_files({110, 100, 90, 80, 120});
  files.back().text += ":::MLLOG [convert-error: [('key', 'lr')]]\n:::MLLOG\n";
  EXPECT_EQ(entry_of_result(files).seconds_to_target, 100);
}

// A job that died after run_start was started again, and wrote to the same log.
TEST(Mlperf, TheLastAttemptIsTheRun) {
  auto files = mlperf_files({110, 100, 90, 80, 120});
  const std::string whole = files[1].text, begun = whole.substr(0, whole.find("[3] :::MLLOG", whole.find("block_start")));
  std::string later = whole;
  replace_all(later, "1600000", "1600009");
  const std::int64_t samples = *entry_of_result(files).runs[0].samples;
  files[1].text = begun + later;
  EXPECT_EQ(entry_of_result(files).seconds_to_target, 100);
  EXPECT_EQ(entry_of_result(files).runs[0].samples, samples);
  files[1].text = whole + later;
  EXPECT_THAT(refused_result(files), HasSubstr("a run_start after a run_stop"));
  replace_all(later, "\"first_epoch_num\":1", "\"first_epoch_num\":9");
  files[1].text = begun + later;
  EXPECT_THAT(refused_result(files), HasSubstr("goes on from a checkpoint"));
}

TEST(Mlperf, OtherFilesAreRefused) {
  EXPECT_THAT(refused_result({{"a.txt", mlperf_log(1)}}), HasSubstr("no description of the system"));
  EXPECT_THAT(refused_result(mlperf_files({})), HasSubstr("a system without logs"));
  EXPECT_THAT(refused_result({{"a.json", "{}"}}), HasSubstr("neither a system's description"));
  EXPECT_THAT(refused_result({{"a.json", R"({"scaling_factor": -1})"}}), HasSubstr("scaling_factor: must be above 0"));
  auto twice = mlperf_files({1});
  twice.push_back(twice[0]);
  EXPECT_THAT(refused_result(twice), HasSubstr("a second system"));
  EXPECT_THAT(refusal([] {
                import_mlperf(mlperf_files({1}), {"mlcommons/training_results_v9.9", {}, {}, {}}, {});
              }),
              HasSubstr("the round 'v9.9' of MLPerf Training is not known"));
  EXPECT_THAT(refusal([] { import_mlperf(mlperf_files({1}), kOrigin, "2.1-7"); }),
              HasSubstr("--result-id: '2.1-7' is not of v3.0"));
}

TEST(Mlperf, OtherLogsAreRefused) {
  const std::string log = "result_2.txt";
  EXPECT_THAT(refused_result({{"a.txt", ":::MLPv0.5.0 resnet 1541636037.7 (f.py:1) run_start\n"}}),
              HasSubstr("a.txt:1: a line of MLPerf Training v0.5 or v0.6"));
  EXPECT_THAT(refused_result(with_changed_log("run_stop", "run_stopped")), HasSubstr(log + ": no run_stop"));
  EXPECT_THAT(refused_result(with_changed_log("submission_org", "org")), HasSubstr(log + ": no submission_org"));
  EXPECT_THAT(refused_result(with_changed_log("resnet", "ssd")), HasSubstr(log + ": a log of 'ssd'"));
  EXPECT_THAT(refused_result(with_changed_log("512", "-1")), HasSubstr("must be a batch size"));
  EXPECT_THAT(refused_result(with_changed_log("\"status\"", "\"state\"")), HasSubstr("metadata.status: missing"));
  EXPECT_THAT(refused_result(with_changed_log("1600000000000", "1700000000000")), HasSubstr("run_stop is not after run_start"));
  EXPECT_THAT(refused_result(with_changed_log("1600000000000", "99999999999999999")),
              HasSubstr("time_ms: must be milliseconds"));
  EXPECT_THAT(refused_result(with_changed_log("\"key\":\"submission_org\"", "\"key\":\"submission_benchmark\"")),
              HasSubstr("contradicts 'resnet'"));
  auto cut = mlperf_files({100});
  cut[1].text.resize(cut[1].text.size() - 20);
  EXPECT_THAT(refused_result(cut), HasSubstr("result_0.txt:11: not valid JSON"));
}

}  // namespace
}  // namespace epochbench
