// A sweep's cases and their order; its answers as JSON and for people.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/sweep/curves.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/machine/environment.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/anonymous.h"
#include "src/result/result_json.h"
#include "src/session/sweep_plan.h"
#include "support/made_cases.h"
#include "support/made_curves.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<CaseSpec> sweep_cases(const CaseBlock& block, Axis axis, const std::string& values) {
  DatasetSizes sizes;
  return sweep_cases(block, axis, values, sizes);
}

std::vector<std::string> names(const CaseBlock& block, Axis axis, const std::string& values) {
  std::vector<std::string> result;
  for (const CaseSpec& spec : sweep_cases(block, axis, values)) result.push_back(name_on(spec, 2));
  return result;
}

std::string failure(const CaseBlock& block, Axis axis, const std::string& values = "") {
  try {
    sweep_cases(block, axis, values);
  } catch (const CallError& error) {
    EXPECT_EQ(error.code(), kExitCallIsWrong);
    return error.what();
  }
  return "";
}

TEST(SweepDrafts, HaveACaseAValue) {
  EXPECT_THAT(names(block_of({{"model", "lenet5"}, {"precision", "fp32,bf16"}}), Axis::batch, "4,1"),
              ElementsAre("lenet5/cpu/fp32/b4", "lenet5/cpu/fp32/b1", "lenet5/cpu/bf16/b4", "lenet5/cpu/bf16/b1"));
  EXPECT_THAT(names(block_of({{"model", "lenet5"}}), Axis::threads, "1,2"),
              ElementsAre("lenet5/cpu/fp32/b64/threads=1", "lenet5/cpu/fp32/b64"));
  EXPECT_THAT(names(block_of({{"model", "mlp:depth=3"}}), Axis::width, "64,512"),
              ElementsAre("mlp:depth=3,width=64/cpu/fp32/b64", "mlp:depth=3/cpu/fp32/b64"));
  EXPECT_THAT(names(block_of({{"model", "lenet5"}}), Axis::samples, "128"),
              ElementsAre("lenet5/cpu/fp32/b64/data=synthetic/epoch-samples=128"));
}

// Each rank has as many threads, whatever their number; of weak scaling as many samples.
TEST(SweepDrafts, OverRanksDivideABatchOrGiveEachOne) {
  const CaseBlock lenet = block_of({{"model", "lenet5"}}),
                  asked = block_of({{"model", "lenet5"}, {"batch", "8"}, {"threads", "3"}});
  const auto shown = [](const CaseSpec& spec) {
    return std::to_string(spec.ranks) + " ranks, batch " + std::to_string(spec.batch.value_or(0)) + ", threads " +
           std::to_string(*spec.threads);
  };
  const auto all = [&](const CaseBlock& block, Axis axis) {
    std::vector<std::string> texts;
    for (const CaseSpec& spec : sweep_cases(block, axis, "1,4")) texts.push_back(shown(spec));
    return texts;
  };
  const std::string threads = std::to_string(std::max(1, default_threads() / 4));
  EXPECT_THAT(all(lenet, Axis::ranks),
              ElementsAre("1 ranks, batch 0, threads " + threads, "4 ranks, batch 0, threads " + threads));
  EXPECT_THAT(all(lenet, Axis::ranks_weak),
              ElementsAre("1 ranks, batch 64, threads " + threads, "4 ranks, batch 256, threads " + threads));
  EXPECT_THAT(all(asked, Axis::ranks_weak), ElementsAre("1 ranks, batch 8, threads 3", "4 ranks, batch 32, threads 3"));
  EXPECT_EQ(sweep_cases(lenet, Axis::ranks, "").front().ranks, 1);
  EXPECT_THAT(failure(block_of({{"model", "lenet5"}, {"ranks", "2"}}), Axis::ranks_weak),
              HasSubstr("--ranks: that is what --over ranks sweeps"));
}

TEST(SweepDrafts, OverSamplesTrainWholeEpochs) {
  EXPECT_EQ(sweep_cases(block_of({{"model", "lenet5"}}), Axis::samples, "128")[0].stop.epochs, 1);
  EXPECT_EQ(sweep_cases(block_of({{"model", "lenet5"}, {"epochs", "3"}}), Axis::samples, "128")[0].stop.epochs, 3);
  EXPECT_THAT(failure(block_of({{"model", "lenet5"}, {"steps", "3"}}), Axis::samples), HasSubstr("--steps"));
  EXPECT_THAT(failure(block_of({{"model", "lenet5"}, {"data", "digits"}}), Axis::samples), HasSubstr("synthetic"));
}

std::vector<std::int64_t> default_values(const CaseBlock& block, Axis axis,
                                         const std::function<std::int64_t(const CaseSpec&)>& value) {
  std::vector<std::int64_t> values;
  for (const CaseSpec& spec : sweep_cases(block, axis, "")) values.push_back(value(spec));
  return values;
}

TEST(SweepDrafts, ReadTheSizeOfADataSetOnce) {
  const std::string path = testing::TempDir() + "sweep_sizes.txt";
  std::ofstream(path) << std::string(4096, 'a');
  DatasetSizes sizes;
  const CaseBlock block = block_of({{"model", "bert-tiny"}, {"data", "text:" + path}});
  const std::vector<CaseSpec> cases = sweep_cases(block, Axis::batch, "", sizes);
  std::filesystem::remove(path);
  EXPECT_EQ(plan_cases(cases, 1, sizes).size(), cases.size());
}

TEST(SweepDrafts, ChooseSensibleValues) {
  const auto batch = [](const CaseSpec& spec) { return *spec.batch; };
  EXPECT_THAT(default_values(block_of({{"model", "mlp"}}), Axis::batch, batch),
              ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024));
  EXPECT_EQ(
      default_values(block_of({{"model", "mlp"}, {"data", "synthetic"}, {"epoch_samples", "40"}}), Axis::batch, batch).back(),
      32)
      << "no batch is larger than the data";
  // 152 layers at batch 1,024 take hundreds of gigabytes.
  if (available_memory_bytes() < std::int64_t{200} << 30) {
    EXPECT_LT(default_values(block_of({{"model", "resnet152"}}), Axis::batch, batch).back(), 1024);
  }
  EXPECT_THAT(default_values(block_of({{"model", "lenet5"}, {"batch", "32"}}), Axis::samples,
                             [](const CaseSpec& d) { return *d.epoch_samples; }),
              ElementsAre(32, 64, 128, 256, 512, 1024, 2048, 4096));
  const auto threads =
      default_values(block_of({{"model", "mlp"}}), Axis::threads, [](const CaseSpec& d) { return *d.threads; });
  EXPECT_EQ(threads.front(), 1);
  EXPECT_EQ(threads.back(), default_threads());
}

TEST(SweepDrafts, SayWhatIsWrong) {
  const CaseBlock mlp = block_of({{"model", "mlp"}});
  EXPECT_THAT(failure({}, Axis::batch), HasSubstr("--model is missing"));
  EXPECT_THAT(failure(block_of({{"model", "mlp,lenet5"}}), Axis::batch), HasSubstr("one model, and there are 2"));
  EXPECT_THAT(failure(block_of({{"model", "mlp"}, {"batch", "3"}}), Axis::batch),
              AllOf(HasSubstr("--batch"), HasSubstr("--values")));
  EXPECT_THAT(failure(block_of({{"model", "mlp:width=3"}}), Axis::width), HasSubstr("--values"));
  EXPECT_THAT(failure(block_of({{"model", "lenet5"}}), Axis::width), HasSubstr("no width"));
  for (const char* values : {"0", "-1", "1,1", "1,,2", "x", "1.5", "2000000"})
    EXPECT_THAT(failure(mlp, Axis::batch, values), HasSubstr("--values: ")) << values;
}

TEST(Shuffle, MixesEachRepetitionOnItsOwn) {
  std::vector<PlannedCase> cases(60);
  for (int i = 0; i < 60; ++i) {
    cases[static_cast<std::size_t>(i)].spec.repetition = i / 20;
    cases[static_cast<std::size_t>(i)].spec.batch = i % 20;
  }
  std::vector<PlannedCase> again = cases;
  shuffle_repetitions(cases);
  shuffle_repetitions(again);
  std::map<int, std::vector<std::int64_t>> order;
  for (int i = 0; i < 60; ++i) {
    const CaseSpec& spec = cases[static_cast<std::size_t>(i)].spec;
    EXPECT_EQ(spec.repetition, i / 20);
    EXPECT_EQ(spec.batch, again[static_cast<std::size_t>(i)].spec.batch) << "two calls run alike";
    order[spec.repetition].push_back(*spec.batch);
  }
  EXPECT_NE(order[0], order[1]);
  EXPECT_NE(order[1], order[2]);
  for (auto& [repetition, batches] : order) {
    EXPECT_FALSE(std::is_sorted(batches.begin(), batches.end()));
    EXPECT_EQ(std::set<std::int64_t>(batches.begin(), batches.end()).size(), 20u);
  }
}

// CPU and GPU that cross between 2 and 4, in five repetitions; a point that failed.
Result sweep_result() {
  Result result;
  for (const std::int64_t batch : {1, 2, 4, 8}) {
    const double gpu = 60.0 * static_cast<double>(batch);
    add(result, made_batch("cpu", "fp32", batch, {150, 151, 152, 153, 154}));
    add(result, made_batch("cuda", "fp32", batch, {gpu, gpu * 1.01, gpu * 1.02, gpu * 1.03, gpu * 1.04}));
  }
  result.runs.push_back(failed(made_batch("cpu", "fp32", 16, {1})[0], RunStatus::out_of_memory));
  result.answers = answers_of(result, Axis::batch);
  return result;
}

TEST(SweepJson, ComesBackAsItWas) {
  Result result = sweep_result();
  ScalingAnswer scaling{"m/cpu/fp32/b8",
                        5,
                        16,
                        {{ScalingLaw::usl, 1.5, 0.01, 1e-4, 0.02, 30, 90}, {ScalingLaw::amdahl, 1, 0, 0, 0, {}, {}}},
                        {},
                        "r"};
  scaling.extrapolations = {{ScalingLaw::usl, "m/cuda/fp32/b8", 50, 40, {30, std::nullopt}, "open"},
                            {ScalingLaw::amdahl, "g", 50, {}, {}, "never"}};
  result.answers->scaling = {scaling};
  for (auto& run : result.runs) run.settings = settings_from_name(run.name);
  const std::string text = result_to_text(result);
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_EQ(result_to_text(parse_result(text, "test")), text);
  const Json answers = Json::parse(text)["answers"];
  EXPECT_EQ(answers["over"], "batch");
  EXPECT_EQ(answers["best"][0]["curve"], "m/cpu/fp32");
  EXPECT_EQ(answers["crossover"][0]["between"], Json::array({2, 4}));
  EXPECT_EQ(answers["crossover"][0]["in"], "time");
  EXPECT_EQ(answers["no_crossover"][0]["reason"], "no price is known for m/cpu/fp32");
  EXPECT_EQ(answers["scaling"][0]["extrapolations"][0]["cores_ci95"], Json::parse("[30.0, null]"));
}

TEST(SweepJson, CrossoverIsNullWhereNothingCrosses) {
  Result result;
  add(result, made_batch("cpu", "fp32", 1, {1}));
  result.answers = answers_of(result, Axis::batch);
  EXPECT_TRUE(Json::parse(result_to_text(result))["answers"]["crossover"].is_null());
  result.answers.reset();
  EXPECT_FALSE(Json::parse(result_to_text(result)).contains("answers")) << "not a sweep";
}

TEST(SweepJson, RefusesWhatIsNoAnswer) {
  Json document = Json::parse(result_to_text(sweep_result()));
  document["answers"]["crossover"][0]["between"] = {1};
  EXPECT_THROW(parse_result(document.dump(), "f"), FormatError);
  document["answers"] = "best";
  EXPECT_THROW(parse_result(document.dump(), "f"), FormatError);
}

TEST(SweepJson, AnonymousCurvesLeaveOutPaths) {
  Result result;
  for (const std::int64_t batch : {1, 2}) {
    result.runs.push_back(made_point("cpu", "fp32", batch, 5, "/data=idx:/secret/place"));
    result.runs.back().workload.dataset = "idx:/secret/place";
  }
  result.answers = answers_of(result, Axis::batch);
  EXPECT_EQ(result.answers->best.at(0).curve, "m/cpu/fp32/data=idx:/secret/place");
  EXPECT_THAT(result_to_text(anonymous(result)), AllOf(Not(HasSubstr("secret")), HasSubstr("m/cpu/fp32/data=idx:\"")));
}

TEST(SweepText, TellsPointsPlotAndAnswers) {
  const std::string text = sweep_text(sweep_result());
  EXPECT_THAT(text, HasSubstr("curve      batch"));
  EXPECT_THAT(text, testing::ContainsRegex("cpu/fp32 +16 +out of memory"));
  EXPECT_THAT(text, HasSubstr("best        cuda/fp32: batch 8, 490 samples/s; every other is slower (95 %)"));
  EXPECT_THAT(text, HasSubstr("flattens at cuda/fp32: still rising at 8, the largest value that was measured"));
  EXPECT_THAT(text, HasSubstr("flattens at cpu/fp32: batch 1, the smallest within 5 % of the best; no other (95 %)"));
  EXPECT_THAT(text, testing::ContainsRegex("crossover   in time, cpu/fp32 and cuda/fp32: batch 2.4[0-9], between 2 and 4; "
                                           "2.[34][0-9] to 2.[56][0-9] .95 %.; above, cuda/fp32 is faster"));
  EXPECT_THAT(text, HasSubstr("crossover   in cost, cpu/fp32 and cuda/fp32: no price is known for m/cpu/fp32"));
  EXPECT_THAT(text, HasSubstr("o cpu/fp32   x cuda/fp32   ! failed"));
}

TEST(SweepText, OfRanksSaysWhatTheyCostAndWhatIsPredicted) {
  Result result;
  for (int repetition = 0; repetition < 5; ++repetition)
    for (const int ranks : {1, 2}) {
      epochbench::Run run =
          made_point("cpu", "fp32", 64, ranks == 1 ? 10 : 16, ranks == 1 ? "/threads=1" : "/ranks=2/threads=1");
      run.repetition = repetition;
      run.device.threads = 1;
      const double step = 64 / run.throughput->samples_per_second;
      run.timing->steps_total_seconds = step * static_cast<double>(run.timing->steps());
      if (ranks == 2) run.ranks = Ranks{2, {step, step}, {0.5, 0.75}, 8, 1e9};
      result.runs.push_back(run);
    }
  result.answers = answers_of(result, Axis::ranks);
  const std::string text = sweep_text(result);
  EXPECT_THAT(text, HasSubstr("2 ranks 16.0 samples/s, efficiency 80.0 % (95 % 80.0 % to 80.0 %)"));
  EXPECT_THAT(text, HasSubstr("; exposed 500 ms, 12.5 % of a step, bus 2.00 GB/s; slowest rank 1.08 times the fastest"));
  EXPECT_THAT(text, HasSubstr("predicted, not measured, "));
  EXPECT_THAT(text, HasSubstr(", network 25 GbE: efficiency "));
  EXPECT_THAT(text, HasSubstr(" with 64 ranks\n")) << "as far as the batch can be divided";
}

TEST(SweepText, OfNothingSaysSo) {
  Result result;
  result.answers = answers_of(result, Axis::threads);
  EXPECT_EQ(sweep_text(result), "no point was measured\n");
}

std::string plot_of(const std::vector<PlotCurve>& curves) {
  return text_plot(curves, "batch", "samples/s", [](double value) { return significant(value, 3); });
}

TEST(TextPlot, PutsPointsWhereTheyBelong) {
  const std::string text = plot_of({{"a", {{1, 1}, {10, 10}, {100, 100}}, {}}, {"b", {{1, 100}}, {100}}});
  std::vector<std::string> lines{""};
  for (const char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 80u);
  EXPECT_THAT(lines[0], HasSubstr("samples/s, logarithmic"));
  EXPECT_EQ(lines[1].find('x'), 12u) << "the highest at the left";
  EXPECT_EQ(lines[1].find('o'), 79u) << "and at the right";
  EXPECT_EQ(lines[14].find('o'), 12u) << "the lowest at the left";
  EXPECT_EQ(lines[15].find('!'), 79u) << "a point that failed";
  EXPECT_EQ(lines[16].find("10"), 45u) << "half of the logarithms";
}

TEST(TextPlot, OfLittleSpanIsLinearFromZeroAndOfOnePointEmpty) {
  const std::string text = plot_of({{"a", {{10, 50}, {20, 100}}, {}}});
  EXPECT_THAT(text, Not(HasSubstr("logarithmic")));
  EXPECT_THAT(text, HasSubstr(" 0 |"));
  EXPECT_EQ(plot_of({{"a", {{10, 50}}, {20}}}), "");
  EXPECT_EQ(plot_of({}), "");
  EXPECT_THAT(plot_of({{"a", {{3, 7}, {3, 7}}, {}}}), HasSubstr("o"));
}

}  // namespace
}  // namespace epochbench
