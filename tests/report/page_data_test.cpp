// What the page shows of made results: which sections have data, what is null, and what of long series is left.
#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claims.h"
#include "src/base/statistics.h"
#include "src/report/html/html_page.h"
#include "src/result/anonymous.h"
#include "support/made_curves.h"
#include "support/made_results.h"
#include "support/made_turns_page.h"

namespace epochbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json page_of(const std::vector<NamedResult>& results) { return page_data(results, {}, embedded_claims()); }

// A row's cell by the name of its column.
Json cell(const Json& data, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < data["columns"].size(); ++i)
    if (data["columns"][i] == column) return data["rows"][row][i];
  ADD_FAILURE() << "no column " << column;
  return {};
}

// The text of a cell of one of the page's tables; null without such a column.
Json text(const Json& data, const std::string& table, std::size_t row, const std::string& title) {
  const Json& columns = data["tables"][table]["columns"];
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i][0] == title) {
      const Json& cell = data["tables"][table]["rows"][row][i];
      return cell.is_array() ? cell[0] : cell;
    }
  return nullptr;
}

NamedResult both_devices(int repetitions) {
  return made_result(
      "both.json", "box",
      {{"cpu", "fp32", 100, 16, "", "resnet50", repetitions}, {"cuda", "bf16", 1000, 16, "", "resnet50", repetitions}});
}

TEST(Downsampled, KeepsAllThatFit) {
  const Downsampled kept = downsample(std::vector<double>{3, 1, 2}, 4);
  EXPECT_EQ(kept.every, 1u);
  EXPECT_THAT(kept.indices, ElementsAre(0, 1, 2));
  EXPECT_THAT(downsample({}, 4).indices, IsEmpty());
}

TEST(Downsampled, KeepsTheLeastAndTheGreatestOfEach) {
  const Downsampled kept = downsample(std::vector<double>{5, 9, 1, 4, 2, 2, 2, 2, 7}, 6);
  EXPECT_EQ(kept.every, 3u);
  EXPECT_THAT(kept.indices, ElementsAre(1, 2, 3, 4, 6, 8));
  const Downsampled flat = downsample(std::vector<double>(100, 1.0), 10);
  EXPECT_EQ(flat.every, 20u);
  EXPECT_THAT(flat.indices, ElementsAre(0, 20, 40, 60, 80)) << "of equal values one stands for all";
}

TEST(Downsampled, LosesNoSpikeAndNeverKeepsMore) {
  for (const std::size_t size : {7u, 1000u, 12'345u})
    for (const std::size_t most : {2u, 20u, 2000u}) {
      std::vector<double> values(size, 1.0);
      for (std::size_t i = 0; i < size; ++i) values[i] += 0.001 * static_cast<double>(i % 7);
      values[size / 3] = 9;
      const Downsampled kept = downsample(values, most);
      EXPECT_LE(kept.indices.size(), most);
      EXPECT_THAT(kept.indices, testing::Contains(size / 3));
      EXPECT_TRUE(std::is_sorted(kept.indices.begin(), kept.indices.end()));
    }
}

TEST(Downsampled, PrefersNumbersToWhatIsNone) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(downsample(std::vector<double>{none, 2, 1, none, none, none}, 4).indices, ElementsAre(1, 2, 3));
}

TEST(PageData, BringsRepetitionsTogether) {
  const Json data = page_of({both_devices(5)});
  ASSERT_EQ(data["rows"].size(), 2u);
  EXPECT_EQ(cell(data, 0, "name"), "resnet50/cpu/fp32/b16");
  EXPECT_EQ(cell(data, 0, "workload"), "resnet50, batch 16, synthetic");
  EXPECT_EQ(cell(data, 0, "rate"),
            Json({{"value", 100}, {"ends", {100, 100}}, {"text", "100/s"}, {"spread", "100/s to 100/s"}}));
  EXPECT_EQ(cell(data, 0, "epoch")["value"], 128);
  EXPECT_EQ(cell(data, 1, "on_gpu"), true);
  EXPECT_NEAR(cell(data, 1, "cost")["value"].get<double>(), 12.8 / 3600 * 4, 1e-7);
  EXPECT_NEAR(cell(data, 1, "energy")["value"].get<double>(), 12.8 * 700, 1e-2);
  EXPECT_EQ(data["tables"]["runs"]["rows"][0][2], Json({"100", "100 to 100, n=5", 100, false}));
  EXPECT_EQ(data["steps"].size(), 10u);
  EXPECT_THAT(data["losses"], IsEmpty()) << "three of synthetic data";
  ASSERT_FALSE(data["speedup"].is_null());
  EXPECT_EQ(data["speedup"]["pairs"][0]["contender_side"]["on_gpu"], true);
  EXPECT_EQ(data["speedup"]["pairs"][0]["ratio"], 10);
}

// Cost and energy follow from the samples per second that are shown: a page with three means of one case contradicts itself.
TEST(PageData, HasOneEstimatorForSpeedEpochCostAndEnergy) {
  NamedResult named = made_result("r.json", "box", {});
  for (const double rate : {50.0, 200.0, 100.0}) {
    MadeRun made;
    made.rate = rate;
    named.result.runs.push_back(made_run(made, static_cast<int>(named.result.runs.size())));
    epochbench::Run& run = named.result.runs.back();
    run.workload.seed = named.result.runs.size();  // seeds are repetitions
    run.quality->eval_metric = EvalMetric::accuracy;
    run.quality->eval_value = rate / 1000;
  }
  const Json data = page_of({named});
  ASSERT_EQ(data["rows"].size(), 1u);
  EXPECT_EQ(cell(data, 0, "rate")["value"], 100);
  EXPECT_TRUE(cell(data, 0, "rate")["ends"].is_null());
  EXPECT_EQ(cell(data, 0, "rate")["spread"], "range 50.0/s to 200/s");
  EXPECT_EQ(cell(data, 0, "epoch")["value"], 128);
  EXPECT_EQ(cell(data, 0, "epoch")["spread"], "range 1 min 4 s to 4 min 16 s");
  EXPECT_NEAR(cell(data, 0, "cost")["value"].get<double>(), 128.0 / 3600, 1e-7);
  EXPECT_EQ(cell(data, 0, "energy")["value"], 128 * 300);
  EXPECT_EQ(cell(data, 0, "energy")["spread"], "range 19.2 kJ to 76.8 kJ");
  EXPECT_EQ(text(data, "runs", 0, "quality"), "accuracy 5.00 % to 20.0 %");
}

TEST(PageData, CallsTheSpreadOfStepsThatOfOneRun) {
  NamedResult named = both_devices(1);
  named.result.runs[1].timing->step_seconds.resize(9);
  const Json data = page_of({named});
  EXPECT_EQ(data["steps"][0]["within_run"].size(), 2u);
  EXPECT_TRUE(data["steps"][1]["within_run"].is_null());
}

TEST(PageData, NumbersTheRunsOfARowAcrossItsFiles) {
  NamedResult first = both_devices(2), second = both_devices(2);
  second.path = "second.json";
  for (epochbench::Run& run : second.result.runs) run.timing->step_seconds.back() *= 1.01;  // else it is a copy
  const Json data = page_of({first, second});
  ASSERT_EQ(data["rows"].size(), 2u);
  std::vector<std::size_t> numbers;
  for (const Json& steps : data["steps"])
    if (steps["row"] == 0) numbers.push_back(steps["repetition"]);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3));
}

TEST(PageData, HasNoIntervalOfFewRepetitionsAndNeverAZeroForWhatIsNotKnown) {
  NamedResult named = both_devices(1);
  for (epochbench::Run& run : named.result.runs) {
    run.cost.reset();
    run.energy = Energy{};
    run.memory.reset();
    run.quality.reset();
    run.efficiency.reset();
    run.interference.reset();
  }
  const Json data = page_of({named});
  for (std::size_t row : {0u, 1u}) {
    for (const char* column : {"cost", "energy", "memory"}) EXPECT_TRUE(cell(data, row, column).is_null()) << column;
    for (const char* column : {"rate", "epoch"}) EXPECT_TRUE(cell(data, row, column)["ends"].is_null()) << column;
  }
  for (const char* title : {"cost/epoch", "energy/epoch", "peak memory", "of peak", "others' load", "quality"})
    EXPECT_TRUE(text(data, "runs", 0, title).is_null()) << title;
  EXPECT_THAT(data["runs_note"].get<std::string>(), HasSubstr("Not known of any run: cost/epoch, energy/epoch, peak memory"));
  EXPECT_THAT(data["losses"], IsEmpty());
}

TEST(PageData, NamesThePartOfTheEnergyThatIsKnown) {
  NamedResult named = both_devices(1);
  for (epochbench::Run& run : named.result.runs) {
    run.energy = Energy{};
    if (run.device.backend == BackendKind::cuda) run.energy->gpu_joules_per_epoch = 5;
  }
  const Json data = page_of({named});
  EXPECT_TRUE(cell(data, 0, "energy").is_null());
  EXPECT_EQ(cell(data, 1, "energy")["value"], 5);
  EXPECT_EQ(cell(data, 1, "energy")["part"], "GPU");
}

TEST(PageData, WithoutRunsHasNoSectionButThePlaces) {
  const NamedResult named = made_result("none.json", "box", {});
  const Json data = page_of({named});
  EXPECT_EQ(data["files"].size(), 1u);
  for (const char* part : {"rows", "sweeps", "steps", "losses", "profiles"}) EXPECT_THAT(data[part], IsEmpty()) << part;
  EXPECT_THAT(data["tables"]["left_out"]["rows"], IsEmpty());
  EXPECT_TRUE(data["speedup"].is_null());
  EXPECT_TRUE(data["claims"].is_null()) << "what arithmetic says of any result is not a section";
}

TEST(PageData, CountsWhatDidNotEndWellByReason) {
  NamedResult named = both_devices(3);
  for (epochbench::Run& run : named.result.runs)
    if (run.device.backend == BackendKind::cuda) {
      run = failed(run, RunStatus::skipped);
      run.message = "no GPU is usable here";
    }
  epochbench::Run other = named.result.runs.back();
  rename(other, "bert-base/cuda/fp32/b8");
  named.result.runs.push_back(other);
  const Json data = page_of({named});
  EXPECT_EQ(data["rows"].size(), 1u);
  ASSERT_EQ(data["tables"]["left_out"]["rows"].size(), 1u) << "one reason";
  EXPECT_EQ(text(data, "left_out", 0, "runs"), "4");
  EXPECT_EQ(text(data, "left_out", 0, "which"), "resnet50/cuda/bf16/b16, bert-base/cuda/fp32/b8");
  EXPECT_THAT(text(data, "left_out", 0, "reason").get<std::string>(), HasSubstr("no GPU is usable here"));
}

TEST(PageData, KnowsMachinesByNameAndKeepsGpuIdentifiersToItself) {
  NamedResult first = both_devices(1), second = both_devices(1), other = both_devices(1), nameless = both_devices(1);
  second.path = "second.json";
  other.result.context.host_name = "other";
  nameless.result.context.host_name.reset();
  for (NamedResult* named : {&first, &second, &other, &nameless})
    named->result.context.gpus = {{{}, "Some GPU", "GPU-secret", "9.0", "550", "12.4", "12.4", "9.1", 1, "0000:65:00.0"}};
  const Json data = page_of({first, second, other, nameless, nameless});
  EXPECT_EQ(data["machines"].size(), 4u) << "two files without a host name may be of two machines";
  EXPECT_EQ(data["files"][1]["machine"], 0);
  EXPECT_EQ(data.dump().find("GPU-secret"), std::string::npos);
  EXPECT_EQ(data.dump().find("0000:65"), std::string::npos);
}

TEST(PageData, TellsTheTimeOfALossFromTheFirstTimedStep) {
  NamedResult named = made_result("r.json", "box", {{"cpu", "fp32", 16, 16, "", "m", 1}});  // steps of a second
  epochbench::Run& run = named.result.runs[0];
  run.workload.dataset = "digits";
  run.timing->warmup_steps = 2;
  run.timing->step_seconds = {1, 2, 3};
  run.quality->loss = {9, 8, 7, 6, 5};
  EXPECT_EQ(page_of({named})["losses"][0]["seconds"], Json({nullptr, nullptr, 1, 3, 6}));
  run.quality->loss.push_back(4);
  EXPECT_TRUE(page_of({named})["losses"][0]["seconds"].is_null()) << "not the losses of these steps";
}

TEST(PageData, TheSpreadOfStepsTakesTen) {
  NamedResult named = both_devices(1);
  named.result.runs[0].timing->step_seconds.resize(9);
  named.result.runs[1].timing->step_seconds.resize(10);
  const Json steps = page_of({named})["steps"];
  EXPECT_TRUE(steps[0]["within_run"].is_null());
  EXPECT_FALSE(steps[1]["within_run"].is_null());
}

TEST(PageData, ShowsNoLossesOfAFewSyntheticSteps) {
  NamedResult named = both_devices(1);
  named.result.runs[0].workload.dataset = "digits";
  EXPECT_EQ(page_of({named})["losses"].size(), 1u);
  named.result.runs[1].quality->loss.assign(200, 1.0);
  EXPECT_EQ(page_of({named})["losses"].size(), 2u);
}

TEST(PageData, MarksEveryTableByTheLoad) {
  NamedResult named = both_devices(5);
  for (epochbench::Run& run : named.result.runs)
    if (run.device.backend == BackendKind::cpu) run.interference->foreign_cpu_cores = 0.5;
  const Json data = page_of({named});
  EXPECT_EQ(cell(data, 0, "doubts"), Json({"other processes took 0.50 cores"}));
  EXPECT_THAT(cell(data, 1, "doubts"), IsEmpty());
  EXPECT_EQ(data["speedup"]["pairs"][0]["doubts"], Json({"other processes took 0.50 cores"}));
  const Json turns = page_data({}, {by_turns("turns.json", 1.05, "2026-01-02T03:04:05Z")}, embedded_claims());
  EXPECT_EQ(text(turns, "turns", 0, "case"), "mlp/cpu/fp32/b64 †");
  EXPECT_EQ(text(data, "runs", 0, "run"), "resnet50/cpu/fp32/b16 †");
  EXPECT_EQ(text(data, "speedup", 0, "baseline"), "resnet50/cpu/fp32/b16 †");
  NamedResult sweep = made_result("sweep.json", "box", {});
  for (const int batch : {8, 16, 32}) add(sweep.result, made_batch("cpu", "fp32", batch, std::vector<double>(5, 80.0)));
  sweep.result.runs[0].interference = Interference{0.5};
  EXPECT_EQ(page_of({sweep})["sweeps"][0]["curves"][0]["points"][0]["loaded"], true);
  EXPECT_EQ(page_of({sweep})["sweeps"][0]["curves"][0]["points"][1]["loaded"], false);
}

TEST(PageData, ThinsLongSeriesToAShare) {
  NamedResult named =
      made_result("r.json", "box", {{"cpu", "fp32", 100, 16, "", "m", 10}, {"cpu", "bf16", 100, 16, "", "m", 10}});
  for (epochbench::Run& run : named.result.runs) run.timing->step_seconds.assign(50'000, 0.16);
  named.result.runs[0].timing->step_seconds[12'345] = 5;
  const Json data = page_of({named});
  for (const Json& steps : data["steps"]) {
    EXPECT_EQ(steps["n"], 50'000);
    EXPECT_EQ(steps["every"], 50);
    EXPECT_LE(steps["seconds"].size(), 2'000u);
    EXPECT_EQ(steps["at"].size(), steps["seconds"].size());
  }
  EXPECT_THAT(data["steps"][0]["at"], testing::Contains(12'345)) << "no spike is lost";
}

TEST(PageData, KeepsTheEndsOfADownsampledLoss) {
  NamedResult named = made_result("r.json", "box", {{"cpu", "fp32", 100, 16, "", "m", 1}});
  std::vector<double>& loss = named.result.runs[0].quality->loss;
  for (int step = 0; step < 50'000; ++step) loss.push_back(step % 2 ? 1 : 9);
  loss.front() = 7;
  loss.back() = 3;
  const Json data = page_of({named});
  EXPECT_GT(data["losses"][0]["every"], 1);
  EXPECT_EQ(data["tables"]["losses"]["rows"][0], Json({"m/cpu/fp32/b16", "50,003", "7.00", "1.00", "3.00"}));
  loss.back() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(text(page_of({named}), "losses", 0, "last"), "not known");
}

TEST(PageData, KnowsStepsThatTheFileLeavesOut) {
  NamedResult named = made_result("r.json", "box", {{"cpu", "fp32", 100, 16, "", "m", 1}});
  epochbench::Run& run = named.result.runs[0];
  run.workload.dataset = "digits";
  run.timing->warmup_steps = 20;
  run.timing->step_seconds.assign(100, 0.1);
  run.timing->step_seconds_left_out = 900;
  run.quality->loss.assign(100, 2);
  run.quality->loss_left_out = 920;
  run.quality->final_loss = 0.5;
  const Json data = page_of({named});
  EXPECT_EQ(data["steps"][0]["n"], 100);
  EXPECT_EQ(data["steps"][0]["taken"], 1000);
  EXPECT_EQ(text(data, "losses", 0, "last"), "0.500");
  EXPECT_FALSE(data["losses"][0]["seconds"].is_null());
  run.quality->loss.assign(121, 2);  // more than warm-up and timed steps
  EXPECT_TRUE(page_of({named})["losses"][0]["seconds"].is_null());
}

TEST(PageData, CountsWhatItHasNoRoomFor) {
  std::vector<MadeRun> runs;
  for (int rate = 1; rate <= 210; ++rate)
    runs.push_back({"cpu", "fp32", 100, 16, "/learning-rate=" + std::to_string(rate), "m", 1});
  NamedResult first = made_result("a.json", "box", runs), second = made_result("b.json", "box", runs);
  second.result.context.date = "2026-03-02T03:04:05Z";
  for (epochbench::Run& run : first.result.runs) run.profile.emplace().classes.emplace_back();
  const Json data = page_of({first, second});
  EXPECT_EQ(data["profiles"].size(), 100u);
  EXPECT_EQ(data["profiles_left_out"], 110);
  EXPECT_EQ(data["history"].size(), 200u);
  EXPECT_EQ(data["history_left_out"], 10);
}

TEST(PageData, TakesTimesOfWhichAPartIsNotKnown) {
  NamedResult named = both_devices(3);
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (int repetition : {0, 1}) {
    Timing& timing = *named.result.runs[static_cast<std::size_t>(repetition)].timing;
    timing.step_seconds_median = none;
    timing.step_seconds_ci95 = {none, 1};
  }
  const Json data = page_of({named});
  EXPECT_EQ(text(data, "runs", 0, "step"), "160 ms") << "of the third repetition";
  EXPECT_EQ(text(data, "steps", 0, "median"), "not known");
  EXPECT_TRUE(data["steps"][0]["median"].is_null());
  EXPECT_TRUE(data["steps"][0]["within_run"].is_null()) << "half an interval is none";
}

TEST(PageData, HasACurveOfThreeValuesWithItsCrossing) {
  NamedResult named = made_result("sweep.json", "box", {});
  for (const auto& [batch, cpu, gpu] : {std::tuple(8, 80.0, 40.0), {16, 92.0, 80.0}, {32, 95.0, 160.0}, {64, 95.0, 300.0}}) {
    add(named.result, made_batch("cpu", "fp32", batch, std::vector<double>(5, cpu)));
    add(named.result, made_batch("cuda", "fp32", batch, std::vector<double>(5, gpu)));
  }
  named.result.runs.push_back(failed(made_point("cuda", "fp32", 128, 1), RunStatus::out_of_memory));
  const Json data = page_of({named});
  ASSERT_EQ(data["sweeps"].size(), 1u) << data["sweeps"].dump(2);
  const Json& sweep = data["sweeps"][0];
  EXPECT_EQ(sweep["answers"]["over"], "batch");
  EXPECT_THAT(sweep["sentences"],
              testing::Contains("best        m/cuda/fp32: batch 64, 300 samples/s; every other is slower (95 %)"));
  EXPECT_EQ(sweep["work"], "m");
  ASSERT_EQ(sweep["curves"].size(), 2u);
  EXPECT_EQ(sweep["curves"][1]["points"][4]["status"], "out of memory");
  EXPECT_TRUE(sweep["curves"][1]["points"][4]["rate"].is_null());
  EXPECT_EQ(sweep["curves"][0]["points"][0]["ci95"], Json({80, 80}));
  ASSERT_EQ(sweep["answers"]["crossover"].size(), 1u);
  EXPECT_EQ(sweep["answers"]["crossover"][0]["better_above"], "m/cuda/fp32");
  EXPECT_EQ(sweep["answers"]["flattens_at"][0]["value"], 16);
}

TEST(PageData, HasNoCurveOfTwoValues) {
  NamedResult named = made_result("two.json", "box", {});
  for (const std::int64_t batch : {8, 16}) add(named.result, made_batch("cpu", "fp32", batch, {100}));
  EXPECT_THAT(page_of({named})["sweeps"], IsEmpty());
}

TEST(PageData, HasTheHistoryOfWhatSeveralDatesHaveWithItsChange) {
  std::vector<NamedResult> results;
  for (int day = 0; day < 20; ++day) {
    const double rate = (day < 12 ? 100.0 : 80.0) * (1 + 0.002 * (day % 3));
    results.push_back(made_result(std::to_string(day) + ".json", "box", {{"cpu", "fp32", rate, 16, "", "m", 3}}));
    results.back().result.context.date = "2026-01-" + std::string(day < 9 ? "0" : "") + std::to_string(day + 1) + "T00:00:00Z";
  }
  const Json history = page_of(results)["history"];
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0]["points"].size(), 20u);
  EXPECT_EQ(history[0]["points"][0]["processes"], 3);
  ASSERT_EQ(history[0]["changes"].size(), 1u);
  EXPECT_EQ(history[0]["changes"][0]["begin"]["index"], 12);
  EXPECT_NEAR(history[0]["changes"][0]["before"].get<double>(), 0.16, 0.001);
  EXPECT_NEAR(history[0]["changes"][0]["after"].get<double>(), 0.2, 0.001);
  EXPECT_THAT(page_of({results[0]})["history"], IsEmpty()) << "one date is not a history";
}

TEST(PageData, SaysWhatResultsSayOfClaims) {
  NamedResult named = made_result("claims.json", "box", {{"cpu", "fp32", 10}, {"cuda", "fp32", 1000}, {"cuda", "bf16", 3000}});
  EXPECT_TRUE(page_of({named})["claims"].is_null()) << "nobody asked";
  const Json data = page_data({named}, {}, embedded_claims(), {.claims = true});
  ASSERT_FALSE(data["claims"].is_null());
  named.result.context.command_line = {"epochbench", "run", "--suite", "claims"};
  EXPECT_EQ(page_of({named})["claims"], data["claims"]) << "it was made for them";
  named.result.context.suite = "claims";
  EXPECT_EQ(page_of({{named.path, anonymous(named.result)}})["claims"].size(), data["claims"].size()) << "without the call";
  std::set<std::string> verdicts, found;
  for (const Json& claim : data["claims"]["claims"]) {
    EXPECT_TRUE(claim.contains("conditions") && claim.contains("text")) << claim.dump();
    verdicts.insert(claim["verdict"].get<std::string>());
    const std::string id = claim["id"];
    if (!data["tables"].contains("claim " + id)) continue;  // nothing was found
    for (const Json& row : data["tables"]["claim " + id]["rows"]) found.insert(row[2].get<std::string>());
  }
  EXPECT_GT(verdicts.size(), 1u);
  EXPECT_THAT(found, Contains("100x (100 to 100 at 95 %)")) << "a GPU of 1000 samples/s over a CPU of 10";
  EXPECT_THAT(found, Not(Contains("not known"))) << "an answer without a number is among those that were not measured";
}

TEST(PageData, ListsTheCommandsOfAllCallsThatMadeAResult) {
  NamedResult named = made_result("result.json", "box", {{"cpu", "fp32", 10}});
  named.result.context.command_line.reset();
  EXPECT_EQ(text(page_of({named}), "files", 0, "commands"), "not known");
  named.result.context.command_line = {"epochbench", "run", "--resume", "my result.json"};
  named.result.context.earlier_calls.resize(2);  // the second is of an anonymous file
  named.result.context.earlier_calls[0].command_line = {"epochbench", "run"};
  EXPECT_EQ(text(page_of({named}), "files", 0, "commands"), "epochbench run\nepochbench run --resume 'my result.json'");
}

TEST(PageData, ShowsWhatTwoBinariesThatTookTurnsSay) {
  const Json data = page_data({}, {by_turns("turns.json", 1.05, "2026-01-02T03:04:05Z")}, embedded_claims());
  ASSERT_EQ(data["machines"].size(), 1u);
  EXPECT_THAT(data["files"], IsEmpty());
  const Json& turns = data["turns"][0];
  EXPECT_EQ(turns["machine"], 0);
  EXPECT_EQ(turns["finding"], "✗ regression");
  EXPECT_EQ(turns["reason"], "1 of 2 cases was not compared, 1 case is slower");
  EXPECT_THAT(turns["about"].get<std::string>(), HasSubstr(" · baseline 1234567 (2026-01-02, 0.1.0, Release, gcc 12.2.0) · "));
  EXPECT_THAT(turns["about"].get<std::string>(), HasSubstr(" · suite gate.json · "));
  ASSERT_EQ(turns["cases"].size(), 1u);
  const Json& one = turns["cases"][0];
  EXPECT_EQ(one["finding"], "✗ regression");
  EXPECT_NEAR(one["ratio"].get<double>(), 1.0501, 1e-4);
  EXPECT_EQ(one["pairs"].size(), 10u);
  EXPECT_EQ(one["pairs"][3], Json({{"ratio", 1.05}, {"text", "1.050; others took 0.25 cores"}}));
  EXPECT_EQ(text(data, "pairs of turns 0", 3, "new time over the baseline's"), "1.050");
  EXPECT_EQ(text(data, "turns", 0, "ratio"), "1.050");
  EXPECT_EQ(text(data, "turns", 1, "case"), "mlp/cuda/fp32/b64");
  EXPECT_EQ(text(data, "turns", 1, "verdict"), "not compared");
  EXPECT_EQ(text(data, "turns", 1, "notes"), "no GPU");
  EXPECT_THAT(data["history"], IsEmpty()) << "of one date";
  EXPECT_THAT(data.dump(), testing::Not(HasSubstr("private")));
}

TEST(PageData, JudgesByTheRuleThatTheTurnsWereMeasuredBy) {
  NamedTurns named = by_turns("turns.json", 1.05, "2026-01-02T03:04:05Z");
  std::erase_if(named.document.cases, [](const TurnsCase& one) { return one.skipped.has_value(); });
  const auto verdict = [&] { return page_data({}, {named}, embedded_claims())["turns"][0]["finding"]; };
  named.document.threshold = 0.1;
  EXPECT_EQ(verdict(), "✓ no change");
  named.document.threshold.reset();
  named.document.cases[0].pairs.resize(9);
  EXPECT_EQ(verdict(), "? inconclusive") << "between two looks";
  named.document.max_pairs = 9;
  EXPECT_EQ(verdict(), "✗ regression");
}

TEST(PageData, HasAHistoryOfRatios) {
  std::vector<NamedTurns> nights;
  for (int i = 0; i < 20; ++i)
    nights.push_back(
        by_turns("night-" + std::to_string(i), i < 10 ? 1.0 : 1.06, "2026-01-" + std::to_string(10 + i) + "T02:00:00Z"));
  const Json data = page_data({both_devices(1)}, nights, embedded_claims());
  EXPECT_EQ(data["machines"].size(), 2u) << "another CPU";
  ASSERT_EQ(data["history"].size(), 1u);
  const Json& series = data["history"][0];
  EXPECT_EQ(series["of"], "ratio");
  EXPECT_EQ(series["points"].size(), 20u);
  ASSERT_EQ(series["changes"].size(), 1u);
  EXPECT_EQ(series["changes"][0]["begin"]["index"], 10);
  EXPECT_NEAR(series["changes"][0]["after"].get<double>(), 1.06, 1e-3);
}

}  // namespace
}  // namespace epochbench
