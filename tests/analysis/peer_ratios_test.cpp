#include "src/analysis/compare/peer_ratios.h"

#include <cmath>

#include <gmock/gmock.h>

#include "src/analysis/speedup/peer_speedup.h"
#include "src/report/text/answer_text.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

using MeasuredRun = Run;  // testing::Test has a Run of its own

// A run of batch 10 with 1e9 FLOPs per sample; two steps per turn.
Run made_run(const std::string& worker, int group, std::vector<double> step_seconds, double peak = 100e9) {
  Run run;
  run.name = "lenet5/" + worker;
  run.repetition = group;
  run.precision = Precision::fp32;
  run.workload.model = "lenet5";
  run.workload.batch = 10;
  run.workload.train_flops_per_sample = 1e9;
  run.device.backend = worker == "epochbench" ? BackendKind::cpu : BackendKind::pytorch;
  run.device.threads = 2;
  run.turns = Turns{.worker = worker, .steps = 2, .peak_flops_per_second = peak};
  run.timing.emplace();
  for (const double seconds : step_seconds) run.timing->steps_total_seconds += seconds;
  run.timing->step_seconds = std::move(step_seconds);
  return run;
}

TEST(PeerRows, CompareTheSameRound) {
  // The machine is up to ten times slower from round to round, for all alike; steps of one turn differ.
  const std::vector<MeasuredRun> runs = {made_run("epochbench", 0, {1, 3, 10, 30, 2, 6}),
                                         made_run("PyTorch eager", 0, {2, 6, 20, 60, 8, 8})};
  const std::vector<PeerRow> rows = peer_rows(runs);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_FALSE(rows[0].ratio);
  EXPECT_DOUBLE_EQ(rows[1].ratio->value, 2);
  EXPECT_EQ(rows[1].ratio->spread, Spread::range);
  EXPECT_EQ(rows[1].rounds, 3);
  EXPECT_DOUBLE_EQ(*rows[0].rate, 60.0 / 52);
  EXPECT_DOUBLE_EQ(*rows[0].peak_fraction, 60e9 / 52 / 100e9);
  EXPECT_DOUBLE_EQ(*rows[0].peak_fraction_of_median_step, 10e9 / 4 / 100e9);  // turns of 2, 20 and 4 seconds per step
}

TEST(PeerRows, FiveGroupsHaveAnInterval) {
  std::vector<MeasuredRun> runs;
  for (int group = 0; group < 5; ++group) {
    EXPECT_TRUE(runs.empty() || peer_rows(runs)[1].ratio->spread == Spread::range) << group;
    // Rounds vary by far more than groups do: they are not the unit.
    runs.push_back(made_run("epochbench", group, {1, 1, 1, 1, 1, 1}));
    const double ratio = 2 * std::pow(1.1, group - 2);
    runs.push_back(made_run("PyTorch eager", group, {ratio / 9, ratio / 9, ratio, ratio, 9 * ratio, 9 * ratio}));
  }
  const PeerRow row = peer_rows(runs)[1];
  EXPECT_EQ(row.ratio->spread, Spread::ci95);
  EXPECT_NEAR(row.ratio->value, 2, 1e-12);
  // Steps of log(1.1): a standard error of sqrt(2.5 / 5) of them, and t of 4 degrees is 2.776.
  EXPECT_NEAR(std::log(row.ratio->interval.second / 2) / std::log(1.1), 2.776 * std::sqrt(0.5), 1e-3);
  EXPECT_EQ(row.groups, 5);
  EXPECT_EQ(row.rounds, 15);
  EXPECT_THAT(peer_table({row}), HasSubstr("1.659 to 2.412"));
  EXPECT_THAT(peer_table({row}), Not(HasSubstr("  range")));
  EXPECT_EQ(peer_json({row})[0]["ratio_range"], nullptr);
}

TEST(PeerRows, OnlyGroupsThatBothFinishedCount) {
  std::vector<MeasuredRun> runs = {made_run("epochbench", 0, {1, 1}),    made_run("epochbench", 1, {1, 1}),
                                   made_run("PyTorch eager", 0, {3, 3}), made_run("PyTorch eager", 1, {5, 5}),
                                   made_run("PyTorch compile", 0, {}),   made_run("PyTorch eager", 2, {9, 9})};
  runs[1].status = RunStatus::failed;
  runs[4].status = RunStatus::out_of_memory;
  runs[4].message = "too large";
  const std::vector<PeerRow> rows = peer_rows(runs);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].groups, 1);
  EXPECT_DOUBLE_EQ(rows[1].ratio->value, 3);
  EXPECT_EQ(rows[2].message, "out_of_memory: too large");
  EXPECT_FALSE(rows[2].ratio);
  EXPECT_THAT(peer_table(rows), HasSubstr("lenet5, fp32, PyTorch compile: out_of_memory: too large"));
  EXPECT_EQ(peer_json(rows)[2]["rounds"], nullptr);
  runs[0].status = RunStatus::failed;
  EXPECT_FALSE(peer_rows(runs)[1].ratio) << "nothing to compare with";
}

TEST(PeerRows, RunsWithoutTurnsAreNotTheirs) {
  MeasuredRun alone = made_run("epochbench", 0, {1, 1});
  alone.turns.reset();
  EXPECT_THAT(peer_rows({alone}), SizeIs(0));
}

// Five repetitions of each; the second worker is half as fast, and load makes rounds up to 40 times slower for all alike.
std::vector<MeasuredRun> five_repetitions(const std::vector<const char*>& workers) {
  std::vector<MeasuredRun> runs;
  for (int group = 0; group < 5; ++group)
    for (std::size_t i = 0; i < workers.size(); ++i) {
      std::vector<double> seconds;
      for (const double load : {1., 40., 3.})
        for (int step = 0; step < 2; ++step) seconds.push_back(load * (1 + 0.001 * group) * static_cast<double>(i + 1));
      runs.push_back(made_run(workers[i], group, seconds));
      runs.back().interference = Interference{1.5};
      runs.back().workload.mode = Mode::train;
      runs.back().throughput = Throughput{10 / runs.back().timing->steps_total_seconds, {}};
    }
  return runs;
}

Repetitions of_worker(const std::vector<MeasuredRun>& runs, const std::string& worker) {
  Repetitions found;
  for (const MeasuredRun& run : runs)
    if (run.turns && run.turns->worker == worker) found.push_back(&run);
  return found;
}

TEST(TurnsRatio, IsThatOfTheRoundsOfBoth) {
  std::vector<MeasuredRun> runs = five_repetitions({"PyTorch eager", "epochbench"});
  const Repetitions theirs = of_worker(runs, "PyTorch eager"), ours = of_worker(runs, "epochbench");
  const auto ratio = turns_ratio(ours, theirs);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->value, 2, 1e-12);
  ASSERT_TRUE(ratio->ci95);
  EXPECT_NEAR(ratio->ci95->first, 2, 1e-9);
  EXPECT_NEAR(turns_ratio(theirs, ours)->value, 0.5, 1e-12);
}

TEST(TurnsRatio, NeedsTurnsWithEachOther) {
  const std::vector<MeasuredRun> runs = five_repetitions({"PyTorch eager", "epochbench"});
  const auto unequal = [&](const auto& change) {
    std::vector<MeasuredRun> changed = runs;
    change(changed.back());
    return turns_ratio(of_worker(changed, "PyTorch eager"), of_worker(changed, "epochbench")).has_value();
  };
  EXPECT_TRUE(unequal([](MeasuredRun&) {}));
  EXPECT_FALSE(unequal([](MeasuredRun& run) { run.precision = Precision::bf16; }));
  EXPECT_FALSE(unequal([](MeasuredRun& run) { run.turns->order_seed = 1; }));
  EXPECT_FALSE(unequal([](MeasuredRun& run) { run.repetition = 7; }));
  EXPECT_FALSE(unequal([](MeasuredRun& run) { run.turns.reset(); })) << "one repetition fewer";
}

TEST(TurnsRatio, CarriesAnAnswerBesideOtherProcesses) {
  Result result;
  result.runs = five_repetitions({"epochbench", "PyTorch eager"});
  const Speedup speedup = speedup_of({{"turns.json", result}}, SpeedupOf::same_batch);
  ASSERT_THAT(speedup.pairs, SizeIs(1));
  EXPECT_EQ(why_unusable(speedup.pairs[0]), "");
  EXPECT_NEAR(speedup.pairs[0].ratio.value, 0.5, 1e-12);
  const std::vector<PeerRatio> peers = peer_ratios(result.runs);
  ASSERT_THAT(peers, SizeIs(1));
  EXPECT_NEAR(peers[0].ratio.value, 2, 1e-12);
  for (MeasuredRun& run : result.runs) run.turns.reset();
  EXPECT_THAT(why_unusable(speedup_of({{"apart.json", result}}, SpeedupOf::same_batch).pairs.at(0)),
              HasSubstr("other processes took 1.5 CPU cores"));
}

TEST(PeerTable, MarksTheRowsThatOtherProcessesDisturbed) {
  MeasuredRun disturbed = made_run("PyTorch eager", 0, {1, 1});
  disturbed.interference = Interference{0.2};
  const std::string text = peer_table(peer_rows({made_run("epochbench", 0, {1, 1}), disturbed}));
  EXPECT_THAT(text, HasSubstr("PyTorch eager †"));
  EXPECT_THAT(text, testing::Not(HasSubstr("epochbench †")));
  EXPECT_THAT(text, testing::StartsWith("†: other processes took"));
}

TEST(PeerTable, NamesThePeakOfEachPrecision) {
  MeasuredRun bf16 = made_run("epochbench", 0, {1, 1}, 300e9);
  bf16.precision = Precision::bf16;
  const std::string text =
      peer_table(peer_rows({made_run("epochbench", 0, {1, 1}, 90e9), made_run("epochbench", 1, {1, 1}), bf16}));
  EXPECT_THAT(text, HasSubstr("peak: 100.0 GFLOP/s in fp32 with 2 threads"));
  EXPECT_THAT(text, HasSubstr("peak: 300.0 GFLOP/s in bf16 with 2 threads"));
}

}  // namespace
}  // namespace epochbench
