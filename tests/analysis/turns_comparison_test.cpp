// From pairs that took turns to the answer: what counts, what does not, and what fails beside time.
#include <cmath>

#include <gmock/gmock.h>

#include "src/analysis/compare/comparison.h"

namespace epochbench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

// A pair whose new side takes `ratio` times as long.
TurnsPair pair_of(double ratio) {
  TurnsPair pair;
  for (const Side side : kSides) {
    TurnsSide& measured = pair.sides[side];
    measured.fingerprint = "1111";
    measured.compile_seconds = 0.5;
    measured.peak_bytes = 1'000'000;
    measured.steps = 100;
    measured.first_losses = {2.5, 2.25, 2};
    measured.final_loss = 1;
    measured.step_seconds_median = side == kContender ? 0.01 * ratio : 0.01;
  }
  pair.log_ratio = std::log(ratio);
  pair.foreign_cpu_cores = 0.1;
  return pair;
}

TurnsPair ended(Side side, RunStatus status, const char* message) {
  TurnsPair pair = pair_of(1);
  pair.log_ratio.reset();
  pair.sides[side].status = status;
  pair.sides[side].message = message;
  pair.sides[side].step_seconds_median.reset();
  return pair;
}

// A case of n pairs around a ratio, none of them equal.
TurnsCase case_of(const std::string& name, std::size_t pairs, double ratio) {
  TurnsCase turns;
  turns.name = name;
  turns.precision = Precision::fp32;
  for (std::size_t i = 0; i < pairs; ++i) turns.pairs.push_back(pair_of(ratio * (1 + 1e-4 * static_cast<double>(i % 5))));
  return turns;
}

TurnsDocument document_of(std::vector<TurnsCase> cases) {
  TurnsDocument document;
  document.context.date = "2026-01-02T03:04:05Z";
  document.binaries = {"old/epochbench", "new/epochbench"};
  document.builds[kContender] = {"0.1.0", "abc", true, "Release", "gcc"};
  document.suite = "gate";
  document.cases = std::move(cases);
  return document;
}

const Issue* issue_of(const ComparedCase& compared, IssueCode code) {
  for (const Issue& issue : compared.issues)
    if (issue.code == code) return &issue;
  return nullptr;
}

TEST(CompareTurns, EachCaseHasItsVerdict) {
  const Comparison comparison =
      compare_turns(document_of({case_of("a", 10, 1.05), case_of("b", 10, 1), case_of("c", 10, 0.9)}), {});
  EXPECT_TRUE(comparison.interleaved);
  ASSERT_THAT(comparison.cases, SizeIs(3));
  const ComparedCase& slower = comparison.cases[0];
  EXPECT_EQ(slower.name, "a");
  EXPECT_EQ(slower.decision.finding, Finding::regression);
  EXPECT_THAT(slower.decision.ratio, Optional(DoubleNear(1.05, 0.001)));
  EXPECT_THAT(slower.step_seconds, ElementsAre(Optional(0.01), Optional(DoubleNear(0.0105, 1e-5))));
  EXPECT_THAT(slower.processes, ElementsAre(10, 10));
  EXPECT_THAT(slower.foreign_cores, Optional(0.1));
  EXPECT_THAT(slower.issues, IsEmpty());
  EXPECT_EQ(comparison.cases[1].decision.finding, Finding::no_change);
  EXPECT_EQ(comparison.cases[2].decision.finding, Finding::improvement);
  EXPECT_EQ(verdict_of(comparison), Finding::regression);
  EXPECT_EQ(comparison.suite, "gate");
  EXPECT_EQ(comparison.sides[kBaseline].label, "old/epochbench");
  EXPECT_EQ(comparison.sides[kContender].git_sha, "abc");
  EXPECT_EQ(comparison.sides[kContender].date, "2026-01-02T03:04:05Z");
}

TEST(CompareTurns, PairsAreWantedUntilACaseIsDecided) {
  const PairedRule rule;
  TurnsCase skipped;
  skipped.name = "no GPU";
  skipped.skipped = "there is no device cuda:0";
  TurnsCase open = case_of("open", 10, 1.0);
  for (std::size_t i = 0; i < open.pairs.size(); ++i) open.pairs[i].log_ratio = i % 2 ? 0.1 : -0.1;
  TurnsCase broken = case_of("broken", 3, 1);
  broken.pairs.push_back(ended(kContender, RunStatus::failed, "killed"));
  const TurnsDocument document =
      document_of({case_of("none yet", 0, 1), case_of("three", 3, 1), case_of("decided", 10, 1), open, skipped, broken});
  EXPECT_THAT(pairs_wanted(document, rule), ElementsAre(10, 10, 0, 20, 0, 0));
  EXPECT_THAT(pairs_wanted(document_of({case_of("none yet", 0, 1)}), {.max_pairs = 4}), ElementsAre(4));
}

TEST(CompareTurns, ACaseThatIsNotOkAnyMoreIsARegressionByName) {
  TurnsCase broken = case_of("broken", 3, 0.5);
  broken.pairs.push_back(ended(kContender, RunStatus::out_of_memory, "needs 5 GiB"));
  const Comparison comparison = compare_turns(document_of({broken, case_of("b", 10, 1)}), {});
  ASSERT_THAT(comparison.cases, SizeIs(2));
  const ComparedCase& compared = comparison.cases[0];
  EXPECT_EQ(compared.decision.finding, Finding::regression);
  ASSERT_TRUE(issue_of(compared, IssueCode::not_ok));
  EXPECT_EQ(issue_of(compared, IssueCode::not_ok)->reason, "out of memory: needs 5 GiB");
  EXPECT_FALSE(compared.decision.ratio);
  EXPECT_EQ(verdict_of(comparison), Finding::regression);
  EXPECT_EQ(comparison.cases[1].decision.finding, Finding::no_change) << "and the others are decided as without it";
}

TEST(CompareTurns, TwoThatDoNotFitIntoMemoryAtOnceAreNotCompared) {
  TurnsCase crowded = case_of("crowded", 0, 1);
  crowded.pairs.push_back(ended(kBaseline, RunStatus::skipped, "both at once do not fit"));
  crowded.pairs[0].sides[kContender] = crowded.pairs[0].sides[kBaseline];
  const TurnsDocument document = document_of({crowded, case_of("b", 10, 1)});
  EXPECT_THAT(pairs_wanted(document, {}), ElementsAre(0, 0));
  const Comparison comparison = compare_turns(document, {});
  ASSERT_THAT(comparison.cases, SizeIs(2));
  EXPECT_EQ(comparison.cases[0].decision.finding, Finding::not_compared);
  EXPECT_EQ(comparison.cases[0].decision.note, "both at once do not fit");
  EXPECT_FALSE(comparison.cases[0].decision.ratio);
  EXPECT_FALSE(comparison.cases[0].decision.more) << "no number of pairs decides it";
  EXPECT_EQ(comparison.cases[1].decision.finding, Finding::no_change);
  EXPECT_EQ(verdict_of(comparison), Finding::not_compared);
}

TEST(CompareTurns, ABaselineThatEndsAfterGoodPairsDoesNotMakeTheCaseANewOne) {
  TurnsCase late = case_of("late", 9, 1.05), both = late;
  late.pairs.push_back(ended(kBaseline, RunStatus::failed, "hung"));
  both.name = "both";
  both.pairs.push_back(late.pairs.back());
  both.pairs.back().sides[kContender].status = RunStatus::diverged;
  const TurnsDocument document = document_of({late, both, case_of("b", 10, 1)});
  EXPECT_THAT(pairs_wanted(document, {}), ElementsAre(0, 0, 0));
  const Comparison comparison = compare_turns(document, {});
  EXPECT_THAT(comparison.added, IsEmpty());
  EXPECT_THAT(comparison.not_measured, IsEmpty());
  ASSERT_THAT(comparison.cases, SizeIs(3));
  for (std::size_t i : {0u, 1u}) {
    const ComparedCase& compared = comparison.cases[i];
    EXPECT_EQ(compared.decision.finding, Finding::not_compared) << compared.name;
    EXPECT_THAT(compared.decision.ratio, Optional(DoubleNear(1.05, 0.001)));
    EXPECT_THAT(compared.decision.note, testing::AllOf(HasSubstr("in a later pair"), HasSubstr("failed: hung")));
    EXPECT_FALSE(compared.decision.more);
    EXPECT_THAT(compared.processes, ElementsAre(9, 9));
  }
  EXPECT_EQ(verdict_of(comparison), Finding::not_compared);
}

TEST(CompareTurns, WhatCannotBeComparedIsListed) {
  TurnsCase repaired = case_of("repaired", 0, 1), hopeless = repaired, other = repaired, skipped = repaired;
  repaired.pairs.push_back(ended(kBaseline, RunStatus::failed, "hung"));
  hopeless.name = "hopeless";
  hopeless.pairs.push_back(ended(kBaseline, RunStatus::failed, "hung"));
  hopeless.pairs[0].sides[kContender].status = RunStatus::diverged;
  other.name = "other";
  other.pairs.push_back(pair_of(1));
  other.pairs[0].log_ratio.reset();
  other.pairs[0].sides[kContender].fingerprint = "2222";
  skipped.name = "skipped";
  skipped.skipped = "no GPU";
  Comparison comparison =
      compare_turns(document_of({repaired, hopeless, other, skipped, case_of("begun", 0, 1), case_of("b", 10, 1)}), {});
  ASSERT_THAT(comparison.cases, SizeIs(1));
  ASSERT_THAT(comparison.baseline_not_ok, SizeIs(1));
  EXPECT_EQ(comparison.baseline_not_ok[0].name, "repaired");
  EXPECT_EQ(comparison.baseline_not_ok[0].reason, "failed: hung");
  ASSERT_THAT(comparison.changed, SizeIs(1));
  EXPECT_THAT(comparison.changed[0].reason, testing::AllOf(HasSubstr("1111"), HasSubstr("2222")));
  ASSERT_THAT(comparison.not_measured, SizeIs(3));
  EXPECT_THAT(comparison.not_measured[0].reason, HasSubstr("both binaries: diverged"));
  EXPECT_EQ(comparison.not_measured[1].reason, "no GPU");
  EXPECT_EQ(comparison.not_measured[2].reason, "no pair was measured");
  EXPECT_EQ(not_compared_count(comparison), 5u);
  EXPECT_EQ(case_count(comparison), 6u);
  EXPECT_EQ(verdict_of(comparison), Finding::not_compared);
  comparison.allowed = {"repaired", "hopeless", "other", "skipped", "begun"};
  EXPECT_EQ(verdict_of(comparison), Finding::no_change);
}

TEST(CompareTurns, ForeignLoadThatOnePairDoesNotKnowIsNotKnown) {
  TurnsCase turns = case_of("a", 10, 1);
  turns.pairs[3].foreign_cpu_cores = 1.5;
  EXPECT_THAT(compare_turns(document_of({turns}), {}).cases[0].foreign_cores, Optional(1.5));
  turns.pairs[4].foreign_cpu_cores.reset();
  EXPECT_FALSE(compare_turns(document_of({turns}), {}).cases[0].foreign_cores);
}

TEST(CompareTurns, MemoryLossAndCompilationAreComparedToo) {
  TurnsCase turns = case_of("a", 10, 1);
  for (TurnsPair& pair : turns.pairs) {
    pair.sides[kContender].peak_bytes = 6'000'000;
    pair.sides[kContender].final_loss = 1.5;
    pair.sides[kContender].compile_seconds = 1.5;
  }
  const Comparison comparison = compare_turns(document_of({turns}), {});
  const ComparedCase& compared = comparison.cases[0];
  EXPECT_TRUE(issue_of(compared, IssueCode::peak_memory));
  EXPECT_TRUE(issue_of(compared, IssueCode::compile_time));
  ASSERT_TRUE(issue_of(compared, IssueCode::final_loss));
  EXPECT_EQ(issue_of(compared, IssueCode::final_loss)->step, 100u);
  EXPECT_EQ(compared.decision.finding, Finding::no_change);
  EXPECT_EQ(verdict_of(comparison), Finding::regression) << "of memory";
}

TEST(CompareTurns, SeedsArePooledForSpeedAndPairedForLosses) {
  TurnsCase turns = case_of("a", 10, 1);
  for (std::size_t i = 0; i < turns.pairs.size(); ++i) {
    turns.pairs[i].seed = i % 2;
    for (TurnsSide& side : turns.pairs[i].sides) side.first_losses = {2.5 + static_cast<double>(i % 2), 2.25, 2};
  }
  const auto compared = [](const TurnsCase& each) { return compare_turns(document_of({each}), {}).cases.at(0); };
  EXPECT_EQ(compared(turns).decision.finding, Finding::no_change);
  EXPECT_EQ(compared(turns).decision.used, 10u);
  EXPECT_THAT(compared(turns).issues, IsEmpty());
  for (TurnsPair& pair : turns.pairs)  // as much as the seeds differ by, which hides it where they are mixed
    if (pair.seed == 1) pair.sides[kContender].first_losses[0] += 0.5;
  EXPECT_TRUE(issue_of(compared(turns), IssueCode::final_loss));
}

TEST(CompareTurns, LossesOfTheFirstStepsCountAndThoseOfOtherTrainingsDoNot) {
  TurnsCase turns = case_of("a", 10, 1);
  for (TurnsPair& pair : turns.pairs) pair.sides[kContender].first_losses[1] = 2.26;
  const auto issue = [](const TurnsCase& each) {
    const Comparison comparison = compare_turns(document_of({each}), {});
    const Issue* found = issue_of(comparison.cases[0], IssueCode::final_loss);
    return found ? std::optional(*found) : std::nullopt;
  };
  ASSERT_TRUE(issue(turns));
  EXPECT_EQ(issue(turns)->step, 2u);
  TurnsCase masked = turns, longer = turns;
  for (TurnsPair& pair : masked.pairs) pair.sides[kContender].library_dropout_masks = true;
  EXPECT_FALSE(issue(masked));
  for (TurnsPair& pair : longer.pairs) pair.sides[kContender].steps = 200;
  EXPECT_FALSE(issue(longer));
  turns.pairs[0].sides[kContender].steps = 200;  // the first pair may be longer: it finds out how many steps a turn has
  EXPECT_TRUE(issue(turns));
  TurnsCase restless = case_of("a", 10, 1);  // a binary whose own processes differ as much
  for (std::size_t i = 0; i < restless.pairs.size(); ++i) restless.pairs[i].sides[kContender].final_loss = i % 2 ? 1.5 : 0.9;
  EXPECT_FALSE(issue(restless));
}

}  // namespace
}  // namespace epochbench
