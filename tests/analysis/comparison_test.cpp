// What `compare` says of result files: constructed results, one thing changed at a time.
#include "src/analysis/compare/comparison.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/compare/issues.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

NamedResult side(const std::string& path, double rate = 100, int repetitions = 5) {
  MadeRun made;
  made.rate = rate;
  made.repetitions = repetitions;
  NamedResult result = made_result(path, "box", {made});
  result.result.context.build_type = "Release";
  result.result.context.compiler = "gcc 12.2.0";
  for (auto& run : result.result.runs) run.memory = Memory{1 << 20, 100 << 20, 0.0, {}};
  return result;
}

using Change = std::function<void(Run&)>;

NamedResult changed(NamedResult result, const Change& change) {
  for (auto& run : result.result.runs) change(run);
  return result;
}

Comparison compare(const NamedResult& baseline, const NamedResult& contender) {
  return compare_results({baseline}, {contender});
}

const ComparedCase& only(const Comparison& comparison) {
  EXPECT_THAT(comparison.cases, SizeIs(1));
  return comparison.cases.at(0);
}

std::vector<IssueCode> codes(const ComparedCase& compared) {
  std::vector<IssueCode> all;
  for (const Issue& issue : compared.issues) all.push_back(issue.code);
  return all;
}

TEST(CompareResults, DecideOnRepetitionMedians) {
  const Comparison slower = compare(side("a.json", 110), side("b.json", 100));
  const ComparedCase& compared = only(slower);
  EXPECT_EQ(compared.name, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(compared.decision.finding, Finding::regression);
  EXPECT_DOUBLE_EQ(*compared.decision.ratio, 1.1);
  EXPECT_THAT(compared.processes, ElementsAre(5, 5));
  EXPECT_DOUBLE_EQ(*compared.step_seconds[0], 16.0 / 110);
  EXPECT_DOUBLE_EQ(*compared.step_seconds[1], 0.16);
  EXPECT_DOUBLE_EQ(*compared.foreign_cores, 0.01);
  EXPECT_THAT(compared.issues, IsEmpty());
  EXPECT_EQ(verdict_of(slower), Finding::regression);
  EXPECT_EQ(verdict_of(compare(side("a.json", 100), side("b.json", 110))), Finding::improvement);
  EXPECT_EQ(verdict_of(compare(side("a.json"), side("b.json"))), Finding::no_change);
}

TEST(CompareResults, LeaveTooFewRepetitionsOpenWithAnEstimate) {
  for (const int repetitions : {1, 4}) {
    const Comparison comparison = compare(side("a.json", 110), side("b.json", 100, repetitions));
    EXPECT_EQ(verdict_of(comparison), Finding::not_compared);
    EXPECT_DOUBLE_EQ(*only(comparison).decision.ratio, 1.1);
    EXPECT_THAT(only(comparison).decision.note, HasSubstr("repetition"));
  }
}

// Builds of different age write the name of one CPU with the numbers of its kind, or without.
TEST(CompareResults, TakeAGeneralNameOfACpuForTheSameMachine) {
  NamedResult contender = side("b.json", 100);
  const std::string numbers = " (family 26, model 2, stepping 1)";
  contender.result.context.cpu.model += numbers;
  for (auto& run : contender.result.runs)
    if (run.device.backend == BackendKind::cpu) run.device.name += numbers;
  const Comparison comparison = compare(side("a.json", 110), contender);
  EXPECT_NE(only(comparison).decision.finding, Finding::not_compared) << only(comparison).decision.note;
}

TEST(CompareResults, LeaveOpenWhatWasNotMeasuredAlike) {
  const auto undecided = [](const std::string& reason, const std::function<void(Result&)>& change,
                            Finding finding = Finding::not_compared) {
    NamedResult contender = side("b.json", 100);
    change(contender.result);
    const Comparison comparison = compare(side("a.json", 110), contender);
    EXPECT_EQ(only(comparison).decision.finding, finding) << reason;
    EXPECT_THAT(only(comparison).decision.note, HasSubstr(reason));
    EXPECT_DOUBLE_EQ(*only(comparison).decision.ratio, 1.1) << "the estimate all the same";
  };
  undecided("different machines: box and other", [](Result& result) { result.context.host_name = "other"; });
  undecided("different machines: Some CPU and Other", [](Result& result) { result.context.cpu.model = "Other"; });
  undecided("b.json has no host_name", [](Result& result) { result.context.host_name.reset(); });
  undecided("different compilers: gcc 12.2.0 and clang 14", [](Result& result) { result.context.compiler = "clang 14"; });
  NamedResult other_build = side("b.json", 100), other_machine = other_build;
  other_build.result.context.compiler = "clang 14";
  other_machine.result.context.host_name = "other";
  EXPECT_EQ(only(compare(side("a.json", 110), other_build)).decision.remedy, Remedy::interleave);
  EXPECT_EQ(only(compare(side("a.json", 110), other_machine)).decision.remedy, Remedy::speedup);
  undecided("different build types", [](Result& result) { result.context.build_type = "RelWithDebInfo"; });
  undecided("different threads: 8 and 4", [](Result& result) { result.runs[3].device.threads = 4; });
  undecided("different devices", [](Result& result) { result.runs[0].device.name = "Other"; });
  undecided(
      "0.20 cores",
      [](Result& result) {
        for (const std::size_t i : {3u, 4u}) result.runs[i].interference->foreign_cpu_cores = 0.2;
      },
      Finding::inconclusive);
  undecided("not known", [](Result& result) { result.runs[4].interference->foreign_cpu_cores.reset(); });
}

TEST(CompareResults, TellGpuDriversApart) {
  MadeRun made{"cuda", "bf16"};
  NamedResult baseline = made_result("a.json", "box", {made}), contender = made_result("b.json", "box", {made});
  GpuInfo card;
  card.name = "Some GPU";
  card.driver = "550.1";
  for (NamedResult* side : {&baseline, &contender}) side->result.context.gpus = {card};
  EXPECT_EQ(verdict_of(compare(baseline, contender)), Finding::no_change);
  contender.result.context.gpus[0].driver = "560.2";
  EXPECT_THAT(only(compare(baseline, contender)).decision.note, HasSubstr("different GPU drivers: 550.1 and 560.2"));
}

// Memory does not depend on chance, so one run per side is judged, though its time is not.
TEST(CompareResults, JudgeMemoryOfSingleRuns) {
  NamedResult heavier = side("b.json", 100, 1);
  heavier.result.runs[0].memory->peak_bytes = 200 << 20;
  const Comparison comparison = compare(side("a.json", 100, 1), heavier);
  EXPECT_EQ(only(comparison).decision.finding, Finding::not_compared);
  EXPECT_THAT(codes(only(comparison)), ElementsAre(IssueCode::peak_memory));
  EXPECT_EQ(verdict_of(comparison), Finding::regression);
}

// For speed seeds are repetitions; losses are compared with those of the same seed alone.
TEST(CompareResults, PoolSeedsForSpeedAndPairThemForLosses) {
  const auto seeded = [](const std::string& path, std::uint64_t first, double loss) {
    return changed(side(path), [&](auto& run) {
      run.workload.seed = first + static_cast<std::uint64_t>(run.repetition);
      rename(run, run.name + "/seed=" + std::to_string(run.workload.seed));
      run.repetition = 0;
      run.quality->loss = {loss + static_cast<double>(run.workload.seed), 1, 1};
    });
  };
  const ComparedCase same = only(compare(seeded("a.json", 1, 7), seeded("b.json", 1, 7)));
  EXPECT_EQ(same.name, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(same.processes, (std::array<std::size_t, 2>{5, 5}));
  EXPECT_EQ(same.decision.finding, Finding::no_change);
  EXPECT_THAT(same.issues, IsEmpty());
  EXPECT_THAT(only(compare(seeded("a.json", 1, 7), seeded("b.json", 11, 70))).issues, IsEmpty()) << "no seed in common";
  EXPECT_THAT(only(compare(seeded("a.json", 1, 7), seeded("b.json", 5, 70))).issues, SizeIs(1)) << "seed 5 in common";
}

TEST(CompareResults, NeverCompareAChangedWorkload) {
  const auto reason = [](const Change& change) {
    const Comparison comparison = compare(side("a.json"), changed(side("b.json", 50), change));
    EXPECT_THAT(comparison.cases, IsEmpty());
    EXPECT_EQ(verdict_of(comparison), Finding::not_compared);
    return comparison.changed.empty() ? "" : comparison.changed[0].reason;
  };
  EXPECT_EQ(reason([](auto& run) { run.workload.fingerprint = "other"; }), "fingerprint resnet50 of  and other");
  EXPECT_EQ(reason([](auto& run) { run.workload.dataset = "digits"; }), "data set synthetic and digits");
  EXPECT_EQ(reason([](auto& run) { run.workload.mode = Mode::forward; }), "mode train and forward");
  EXPECT_EQ(reason([](auto& run) {
              run.workload.fingerprint = "other";
              run.workload.batch = 8;
            }),
            "batch 16 and 8");
  const Comparison partly = compare(side("a.json"), changed(side("b.json"), [](auto& run) {
                                      if (run.repetition == 4) run.workload.fingerprint = "other";
                                    }));
  EXPECT_THAT(partly.changed, SizeIs(1)) << "one repetition of other work is enough";
}

TEST(CompareResults, SortCasesThatStandOnOneSide) {
  const NamedResult both = made_result("a.json", "box", {{"cpu", "fp32"}, {"cpu", "bf16"}});
  const NamedResult one = made_result("b.json", "box", {{"cpu", "fp32"}});
  Comparison lost = compare(both, one);
  ASSERT_THAT(lost.missing, SizeIs(1));
  EXPECT_EQ(lost.missing[0].name, "resnet50/cpu/bf16/b16");
  EXPECT_EQ(verdict_of(lost), Finding::regression);
  lost.allowed = {"resnet50/cpu/fp32/b16"};
  EXPECT_EQ(verdict_of(lost), Finding::regression) << "another case";
  lost.allowed = {"resnet50/cpu/bf16/b16"};
  EXPECT_EQ(verdict_of(lost), Finding::no_change);
  const Comparison gained = compare(one, both);
  ASSERT_THAT(gained.added, SizeIs(1));
  EXPECT_EQ(gained.added[0].name, "resnet50/cpu/bf16/b16");
  EXPECT_EQ(verdict_of(gained), Finding::no_change);
}

TEST(CompareResults, SortCasesThatAreNotOk) {
  const auto skip = [](auto& run) {
    run.status = RunStatus::skipped;
    run.message = "no GPU";
    run.workload.fingerprint.clear();
  };
  const NamedResult good = side("a.json"), skipped = changed(side("b.json"), skip);
  Comparison gone = compare(good, skipped);
  EXPECT_EQ(verdict_of(gone), Finding::regression);
  ASSERT_THAT(codes(only(gone)), ElementsAre(IssueCode::not_ok));
  EXPECT_EQ(only(gone).issues[0].reason, "skipped: no GPU");
  EXPECT_FALSE(only(gone).decision.ratio);
  gone.allowed = {only(gone).name};
  EXPECT_EQ(verdict_of(gone), Finding::not_compared) << "nothing is left";
  const Comparison never = compare(skipped, skipped);
  EXPECT_EQ(verdict_of(never), Finding::not_compared);
  EXPECT_THAT(never.cases, IsEmpty());
  ASSERT_THAT(never.not_measured, SizeIs(1));
  EXPECT_EQ(never.not_measured[0].reason, "in the baseline: skipped: no GPU");
  Comparison unusable = compare(skipped, good);
  ASSERT_THAT(unusable.baseline_not_ok, SizeIs(1));
  EXPECT_EQ(unusable.baseline_not_ok[0].reason, "in the baseline: skipped: no GPU");
  EXPECT_EQ(verdict_of(unusable), Finding::not_compared) << "it would stay green for ever";
}

TEST(CompareResults, SeeRepetitionsThatFailAmongOthers) {
  const auto one_fails = [](auto& run) {
    if (run.repetition != 2) return;
    run.status = RunStatus::out_of_memory;
    run.message = "needs 5 GB";
  };
  const NamedResult good = side("a.json", 100, 7), partly = changed(side("b.json", 100, 7), one_fails);
  const Comparison comparison = compare(good, partly);
  EXPECT_EQ(verdict_of(comparison), Finding::regression);
  ASSERT_THAT(codes(only(comparison)), ElementsAre(IssueCode::not_ok));
  EXPECT_EQ(only(comparison).issues[0].reason, "1 of 7 repetitions; out of memory: needs 5 GB");
  EXPECT_EQ(only(comparison).decision.finding, Finding::no_change) << "of time, by the other six";
  Comparison allowed = comparison;
  allowed.allowed = {only(comparison).name};
  EXPECT_EQ(verdict_of(allowed), Finding::no_change);
  EXPECT_EQ(verdict_of(compare(partly, partly)), Finding::no_change) << "it failed before";
}

TEST(CompareResults, FailOnMoreMemory) {
  const auto with_peak = [](std::int64_t bytes) {
    return changed(side("b.json"), [bytes](auto& run) { run.memory->peak_bytes = bytes; });
  };
  EXPECT_EQ(verdict_of(compare(side("a.json"), with_peak(130 << 20))), Finding::no_change) << "less than 32 MB";
  const Comparison more = compare(side("a.json"), with_peak(131 << 20));
  EXPECT_EQ(verdict_of(more), Finding::regression);
  ASSERT_THAT(codes(only(more)), ElementsAre(IssueCode::peak_memory));
  EXPECT_EQ(only(more).decision.finding, Finding::no_change);
  EXPECT_EQ(only(more).issues[0].after, 131 << 20);
  const auto other_threads = changed(with_peak(200 << 20), [](auto& run) { run.device.threads = 4; });
  EXPECT_THAT(only(compare(side("a.json"), other_threads)).issues, IsEmpty()) << "each thread has memory of its own";
}

TEST(CompareResults, GiveNoMemoryVerdictAcrossCpus) {
  const NamedResult more = changed(side("b.json"), [](auto& run) { run.memory->peak_bytes = 200 << 20; });
  EXPECT_THAT(codes(only(compare(side("a.json"), more))), ElementsAre(IssueCode::peak_memory));
  NamedResult other_model = more, other_caches = more, other_set = more;
  other_model.result.context.cpu.model = "Another CPU";
  other_caches.result.context.cpu.l2_bytes = 12345;
  other_set.result.context.cpu.isa = {"avx2"};
  for (const NamedResult& other : {other_model, other_caches, other_set}) {
    const Comparison comparison = compare(side("a.json"), other);
    EXPECT_THAT(only(comparison).issues, IsEmpty());
    EXPECT_NE(verdict_of(comparison), Finding::regression);
  }
}

TEST(CompareResults, TellLossesAndCompileTimesWithoutFailing) {
  const auto odd = changed(side("b.json"), [](auto& run) {
    run.quality->loss = {7.0, 6.9, 6.7};
    run.timing->compile_seconds = 2.5;
  });
  const auto plain = changed(side("a.json"), [](auto& run) { run.timing->compile_seconds = 1; });
  const Comparison comparison = compare(plain, odd);
  EXPECT_THAT(codes(only(comparison)), ElementsAre(IssueCode::final_loss, IssueCode::compile_time));
  EXPECT_EQ(verdict_of(comparison), Finding::no_change);
  const auto whole_epochs = changed(odd, [](auto& run) { run.timing->epoch_kind = EpochKind::measured; });
  EXPECT_THAT(codes(only(compare(plain, whole_epochs))), ElementsAre(IssueCode::compile_time)) << "other batches";
  const auto warmer = [](auto& run) { run.timing->warmup_steps = 800; };
  EXPECT_THAT(codes(only(compare(plain, changed(odd, warmer)))), ElementsAre(IssueCode::final_loss, IssueCode::compile_time))
      << "the same batches, and more of them are timed";
  const auto epochs = [](auto& run) { run.timing->epoch_kind = EpochKind::measured; };
  EXPECT_THAT(codes(only(compare(changed(plain, epochs), changed(changed(odd, epochs), warmer)))),
              ElementsAre(IssueCode::compile_time))
      << "other batches";
  const auto masked = changed(odd, [](auto& run) { run.quality->dropout_masks = "library"; });
  EXPECT_THAT(codes(only(compare(plain, masked))), ElementsAre(IssueCode::compile_time));
}

TEST(CompareResults, PoolTheFilesOfASide) {
  NamedResult more = side("c.json", 100, 3);
  const Comparison comparison =
      compare_results({side("a.json", 110, 3), side("b.json", 110, 4)}, {more, side("d.json", 100, 3)});
  EXPECT_THAT(only(comparison).processes, ElementsAre(7, 6));
  EXPECT_EQ(verdict_of(comparison), Finding::regression);
  more.result.context.git_sha = "def";
  const Comparison mixed = compare_results({side("a.json")}, {more, side("d.json", 100, 3)});
  EXPECT_EQ(mixed.sides[0].git_sha, "abc");
  EXPECT_FALSE(mixed.sides[1].git_sha) << "of several commits";
}

TEST(CompareResults, KnowTheSuiteThatWasRun) {
  NamedResult contender = side("b.json");
  EXPECT_EQ(compare(side("a.json"), contender).suite, "");
  contender.result.context.command_line = std::vector<std::string>{"epochbench", "run", "--suite", "quick"};
  EXPECT_EQ(compare(side("a.json"), contender).suite, "quick");
  contender.result.context.command_line = std::vector<std::string>{"epochbench", "run", "--suite=my.json"};
  EXPECT_EQ(compare(side("a.json"), contender).suite, "my.json");
}

TEST(DebugBuild, IsOneThatIsNotOptimized) {
  for (const char* type : {"Debug", "debug", ""}) EXPECT_TRUE(is_debug_build(type)) << type;
  for (const char* type : {"Release", "RelWithDebInfo", "MinSizeRel"}) EXPECT_FALSE(is_debug_build(type)) << type;
}

TEST(PeakMemory, IsOfMediansAndOfBothSides) {
  EXPECT_TRUE(peak_memory_issue({1e9, 1e9, 5e9}, {1.2e9, 1.2e9, 1.2e9}));
  EXPECT_FALSE(peak_memory_issue({1e9, 1e9, 1e9}, {1e9, 1e9, 5e9})) << "one odd process";
  EXPECT_FALSE(peak_memory_issue({}, {100}));
  EXPECT_FALSE(peak_memory_issue({100}, {}));
  EXPECT_FALSE(peak_memory_issue({0}, {100}));
}

TEST(PeakMemory, MustRiseByAShareAndByBytes) {
  const auto rises = [](double before, double after) { return peak_memory_issue({before}, {after}).has_value(); };
  EXPECT_FALSE(rises(1000e6, 1099e6)) << "less than 10 %";
  EXPECT_TRUE(rises(1000e6, 1101e6));
  EXPECT_FALSE(rises(200e6, 231e6)) << "less than 32 MB";
  EXPECT_TRUE(rises(200e6, 233e6));
  EXPECT_FALSE(rises(9.2e6, 12.6e6)) << "less than 50 %, and less than 4 MB";
  EXPECT_TRUE(rises(9.2e6, 13.9e6));
  EXPECT_FALSE(rises(2e6, 5.9e6)) << "less than 4 MB";
  EXPECT_TRUE(rises(2e6, 6.1e6));
}

TEST(CompileTime, MustDoubleAndBeNoticed) {
  EXPECT_FALSE(compile_time_issue({0.010}, {0.050})) << "nobody waits for that";
  EXPECT_TRUE(compile_time_issue({0.1}, {0.2}));
  EXPECT_FALSE(compile_time_issue({1.0}, {1.9}));
}

TEST(FinalLoss, MayDifferByRounding) {
  using Trainings = std::vector<std::vector<double>>;
  const auto issue = [](const Trainings& baseline, const Trainings& contender, Precision precision = Precision::fp32) {
    return final_loss_issue(baseline, contender, precision);
  };
  EXPECT_FALSE(issue({{7.0, 6.9}}, {{7.0005, 6.9}}));
  ASSERT_TRUE(issue({{7.0, 6.9}}, {{7.001, 6.9}}));
  EXPECT_EQ(issue({{7.0, 6.9}}, {{7.001, 6.9}})->step, 1u);
  EXPECT_FALSE(issue({{7.0, 6.9}}, {{7.05, 6.9}}, Precision::bf16));
  EXPECT_TRUE(issue({{7.0, 6.9}}, {{7.2, 6.9}}, Precision::bf16));
  EXPECT_TRUE(issue({{7.0, 6.9}}, {{7.0, kNan}})) << "a loss that is not a number";
  EXPECT_FALSE(issue({{kNan}}, {{7.0}})) << "the baseline's says nothing";
  EXPECT_FALSE(issue({}, {{7.0}}));
  EXPECT_FALSE(issue({{}}, {{7.0}}));
}

TEST(FinalLoss, IsThatOfTheLastStepThatAllTook) {
  std::vector<double> before(100, 2.0), after = before;
  after[99] = 2.5;
  const std::vector<std::vector<double>> one(1, before), other(1, after);
  ASSERT_TRUE(final_loss_issue(one, other, Precision::fp32));
  EXPECT_EQ(final_loss_issue(one, other, Precision::fp32)->step, 100u);
  const std::vector<std::vector<double>> shorter(1, std::vector<double>(50, 2.0));
  EXPECT_FALSE(final_loss_issue(shorter, other, Precision::fp32));
  after[99] = 2.001;  // ten times as many steps, ten times as much rounding
  EXPECT_FALSE(final_loss_issue(one, std::vector<std::vector<double>>(1, after), Precision::fp32));
}

TEST(FinalLoss, MayBeApartTheFartherTheLongerItTook) {
  EXPECT_DOUBLE_EQ(explained_loss_difference(1, Precision::fp32), 1e-4);
  EXPECT_DOUBLE_EQ(explained_loss_difference(10, Precision::fp32), 1e-4);
  EXPECT_DOUBLE_EQ(explained_loss_difference(100, Precision::fp32), 1e-3);
  EXPECT_NEAR(explained_loss_difference(150, Precision::fp32), 1.5e-2, 1e-9);
  EXPECT_DOUBLE_EQ(explained_loss_difference(100'000, Precision::fp32), 0.25);
  EXPECT_DOUBLE_EQ(explained_loss_difference(5, Precision::bf16), 0x1p-6);
  std::vector<double> before(1000, 2.0), after = before;
  after[999] = 1.6;
  using Trainings = std::vector<std::vector<double>>;
  EXPECT_FALSE(final_loss_issue(Trainings(1, before), Trainings(1, after), Precision::fp32));
  after[999] = 1.4;
  EXPECT_TRUE(final_loss_issue(Trainings(1, before), Trainings(1, after), Precision::fp32));
}

TEST(FinalLoss, AllowsWhatProcessesOfOneSideDifferBy) {
  const std::vector<std::vector<double>> scattered{{7.0}, {7.1}, {6.9}}, apart{{7.15}, {7.25}, {7.05}},
      far{{8.0}, {8.1}, {7.9}};
  EXPECT_FALSE(final_loss_issue(scattered, apart, Precision::fp32));
  EXPECT_TRUE(final_loss_issue(scattered, far, Precision::fp32));
}

TEST(CompareResults, MatchOnlyCasesWhoseProductsMultiplyInOnePrecision) {
  const NamedResult multiplies = made_result("a.json", "box", {{"cpu", "bf16"}});
  NamedResult widens = made_result("b.json", "box", {{"cpu", "bf16"}});
  for (auto& run : widens.result.runs) run.device.products = Precision::fp32;
  const Comparison comparison = compare(multiplies, widens);
  EXPECT_THAT(comparison.missing, SizeIs(1));
  EXPECT_THAT(comparison.added, SizeIs(1));
  EXPECT_THAT(compare(widens, widens).missing, testing::IsEmpty());
}

}  // namespace
}  // namespace epochbench
