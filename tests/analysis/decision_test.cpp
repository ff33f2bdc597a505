// The rule of `compare` on made-up cases: what it finds, when it stops, what several cases leave each other, and what it says
// would decide. decision_simulation_test.cpp measures how often it errs.
#include "src/analysis/compare/decision.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epochbench {
namespace {

using testing::ElementsAre;
using Pairs = std::vector<double>;

// `count` log ratios around log(1 + change), spread evenly over +-width: their estimate is the middle.
Pairs pairs(std::size_t count, double change, double width = 0.001) {
  Pairs log_ratios;
  for (std::size_t i = 0; i < count; ++i) {
    const double place = count == 1 ? 0 : 2 * static_cast<double>(i) / static_cast<double>(count - 1) - 1;
    log_ratios.push_back(std::log1p(change) + width * place);
  }
  return log_ratios;
}

Pairs joined(Pairs first, const Pairs& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

PairedDecision decide(const Pairs& log_ratios, const PairedRule& rule = {}) {
  return decide_pairs(std::vector<Pairs>{log_ratios}, rule)[0];
}

constexpr PairedRule kOneLook{kDefaultThreshold, 10, 10};

TEST(PairedDecision, FindsEachOfThree) {
  const PairedDecision slower = decide(pairs(10, 0.04));
  EXPECT_EQ(slower.finding, Finding::regression);
  EXPECT_NEAR(*slower.ratio, 1.04, 1e-9);
  EXPECT_GT(slower.ratio_ci95->first, 1.038);
  EXPECT_LT(slower.ratio_ci95->second, 1.042);
  EXPECT_DOUBLE_EQ(*slower.p_value, 2.0 / 1024);
  EXPECT_EQ(slower.used, 10);
  EXPECT_EQ(slower.wanted, 0);
  EXPECT_EQ(slower.note, "");
  EXPECT_EQ(decide(pairs(10, 1 / 1.04 - 1)).finding, Finding::improvement);
  EXPECT_EQ(decide(pairs(10, 0)).finding, Finding::no_change);
  EXPECT_EQ(decide(Pairs(10, 0.0)).finding, Finding::no_change);
}

TEST(PairedDecision, ASlowdownBelowTwoThirdsOfTheThresholdIsNone) {
  EXPECT_EQ(decide(pairs(10, 0.0205)).finding, Finding::regression);
  const PairedDecision small = decide(pairs(10, 0.0190));
  EXPECT_EQ(small.finding, Finding::no_change);
  EXPECT_EQ(small.note, "slower, by less than the threshold");
  EXPECT_EQ(decide(pairs(10, -0.0190)).note, "faster, by less than the threshold");
  EXPECT_EQ(decide(pairs(10, 0.0190), {0.02, 10, 20}).finding, Finding::regression);
}

// Its interval reaches beyond the threshold below: it may be an improvement.
TEST(PairedDecision, AnImprovementThatIsNotShownIsNotNoChange) {
  const PairedDecision decision = decide(pairs(10, -0.02, 0.05));
  EXPECT_LT(decision.ratio_ci95->first, 1 / 1.03);
  EXPECT_LT(decision.ratio_ci95->second, 1.03);
  EXPECT_EQ(decision.finding, Finding::inconclusive);
}

TEST(PairedDecision, LooksAgainAtMaxPairsWhereItIsOpen) {
  const Pairs wide = pairs(10, 0.01, 0.06), quiet = pairs(10, 0, 0.01);
  const PairedDecision open = decide(wide);
  EXPECT_EQ(open.finding, Finding::inconclusive);
  EXPECT_EQ(open.wanted, 20);
  const PairedDecision between = decide(joined(wide, pairs(3, 0, 0.01)));
  EXPECT_EQ(between.finding, Finding::inconclusive);
  EXPECT_EQ(between.used, 13);
  EXPECT_EQ(between.wanted, 20);
  const PairedDecision done = decide(joined(wide, quiet));
  EXPECT_EQ(done.finding, Finding::no_change);
  EXPECT_EQ(done.used, 20);
  EXPECT_EQ(done.wanted, 0);
}

TEST(PairedDecision, UsesNoPairsBehindTheLookThatDecided) {
  const PairedDecision at_first = decide(pairs(10, 0.04)), later = decide(joined(pairs(10, 0.04), pairs(10, -0.5)));
  EXPECT_EQ(later.finding, Finding::regression);
  EXPECT_EQ(later.ratio, at_first.ratio);
  EXPECT_EQ(later.used, 10);
  const Pairs open = joined(pairs(10, 0.01, 0.2), pairs(10, 0.01, 0.2));
  EXPECT_EQ(decide(joined(open, pairs(9, 0.5))).ratio, decide(open).ratio);
}

TEST(PairedDecision, IsOpenBeforeTheFirstLook) {
  const PairedDecision decision = decide(pairs(4, 0.5));
  EXPECT_EQ(decision.finding, Finding::inconclusive);
  EXPECT_NEAR(*decision.ratio, 1.5, 1e-9);
  EXPECT_FALSE(decision.ratio_ci95);  // 4 pairs have none
  EXPECT_EQ(decision.wanted, 10);
  EXPECT_EQ(decision.more, 6);
  EXPECT_EQ(decision.note, "4 of the first 10 pairs measured");
  const PairedDecision none = decide({});
  EXPECT_FALSE(none.ratio);
  EXPECT_FALSE(none.p_value);
  EXPECT_EQ(none.note, "0 of the first 10 pairs measured");
}

TEST(PairedDecision, TheLooksShareTheError) {
  Pairs log_ratios = pairs(10, 0.05);
  log_ratios[0] = -0.005;  // the smallest but for its sign: rank 1
  ASSERT_DOUBLE_EQ(*decide(log_ratios).p_value, 2 * 2 / 1024.0);
  EXPECT_EQ(decide(log_ratios).finding, Finding::regression);
  for (std::size_t i = 0; i < 10; ++i) log_ratios[i] = 0.04 + 0.001 * static_cast<double>(i);
  log_ratios[4] = -log_ratios[4];  // rank 5: 10 / 1024, which one look of 1 % allows and the first of two does not
  EXPECT_EQ(decide(log_ratios, kOneLook).finding, Finding::regression);
  EXPECT_EQ(decide(log_ratios).finding, Finding::inconclusive);
}

// With twenty cases the first has to reach 0.05 %, and ten pairs reach 0.098 %; eleven would do.
TEST(PairedDecision, SaysHowManyPairsReachWhatHolmLeaves) {
  const std::vector<Pairs> cases(20, pairs(10, 0.04));
  for (const PairedDecision& decision : decide_pairs(cases, kOneLook)) {
    EXPECT_EQ(decision.finding, Finding::inconclusive);
    EXPECT_EQ(decision.more, 1);
    EXPECT_EQ(decision.note, "10 pairs cannot show a change among 20 cases; about 1 more pair would decide");
  }
  const std::vector<Pairs> enough(20, pairs(11, 0.04));
  for (const PairedDecision& decision : decide_pairs(enough, {kDefaultThreshold, 11, 11}))
    EXPECT_EQ(decision.finding, Finding::regression);
  EXPECT_EQ(decide(pairs(5, 0.04), {kDefaultThreshold, 5, 5}).note,
            "5 pairs cannot show a change; about 2 more pairs would decide");
}

// A p-value of 0.59 % is less than 1 %, and more than the half of it that a case has beside one that is not shown.
TEST(PairedDecision, CasesShareTheErrorStepByStep) {
  Pairs doubtful;
  for (int i = 0; i < 9; ++i) doubtful.push_back(0.04 + 0.001 * i);
  doubtful[1] = -doubtful[1];  // rank 2: 3 / 512 = 0.59 %
  const PairedRule rule{kDefaultThreshold, 9, 9};
  const Pairs clear = pairs(9, 0.05), none = pairs(9, 0);
  const auto findings = [&](const std::vector<Pairs>& cases) {
    std::vector<Finding> each;
    for (const PairedDecision& decision : decide_pairs(cases, rule)) each.push_back(decision.finding);
    return each;
  };
  EXPECT_THAT(findings({doubtful}), ElementsAre(Finding::regression));
  EXPECT_THAT(findings({doubtful, clear}), ElementsAre(Finding::regression, Finding::regression));  // 1 % is left
  EXPECT_THAT(findings({doubtful, none}), ElementsAre(Finding::inconclusive, Finding::no_change));  // 0.5 %
  EXPECT_THAT(findings({doubtful, clear, none}),
              ElementsAre(Finding::inconclusive, Finding::regression, Finding::no_change));  // 0.5 %
}

// What the first look showed leaves its share to the second; what it passed does not.
TEST(PairedDecision, CasesThatStoppedKeepTheirPlaceInTheCount) {
  Pairs doubtful;  // open at 10 pairs; at 20 its p-value is more than half of 0.5 %, and less than all of it
  for (int i = 0; i < 20; ++i) doubtful.push_back(0.05 + 0.001 * i);
  for (const std::size_t rank : {1, 5, 9, 19}) doubtful[rank - 1] *= -1;
  const double p = *decide(doubtful).p_value / 2;
  ASSERT_GT(p, 0.0025);
  ASSERT_LT(p, 0.005);
  const auto finding_beside = [&](const Pairs& other) {
    return decide_pairs(std::vector<Pairs>{doubtful, other}, {})[0].finding;
  };
  EXPECT_EQ(finding_beside(pairs(10, 0.05)), Finding::regression);
  EXPECT_EQ(finding_beside(pairs(10, 0)), Finding::inconclusive);
}

TEST(PairedDecision, SaysHowManyPairsItsNoiseAsksFor) {
  const Pairs noisy = joined(pairs(10, 0.005, 0.15), pairs(10, 0.005, 0.15));
  double squares = 0;
  for (const double each : noisy) squares += std::pow(each - std::log1p(0.005), 2);
  const double planned = std::pow(3.97 * std::sqrt(squares / 19) / std::log(1.03), 2);
  const PairedDecision decision = decide(noisy);
  EXPECT_NEAR(static_cast<double>(*decision.more), planned - 20, 1);
  EXPECT_EQ(decision.note, "about " + std::to_string(*decision.more) + " more pairs would decide");
}

// The formula is content with fewer pairs than there are: the interval has to shrink by as much as it reaches beyond the rule.
TEST(PairedDecision, NearTheEdgeItSaysHowManyPairsTheGapAsksFor) {
  const PairedDecision decision = decide(joined(pairs(10, 0.0185, 0.045), pairs(10, 0.0185, 0.045)));
  ASSERT_EQ(decision.finding, Finding::inconclusive);
  const double half = std::log(decision.ratio_ci95->second / *decision.ratio);
  const double gap = std::log(1.03 / *decision.ratio);
  ASSERT_GT(half, gap);
  EXPECT_NEAR(static_cast<double>(*decision.more), 20 * half * half / gap / gap - 20, 1.5);
}

TEST(PairedDecision, IsNotKnownOfNumbersThatAreNone) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const PairedDecision decision = decide(joined(pairs(9, 0), {bad}));
    EXPECT_EQ(decision.finding, Finding::inconclusive);
    EXPECT_FALSE(decision.ratio);
    EXPECT_EQ(decision.wanted, 0);
    EXPECT_EQ(decision.note, "a pair has no finite ratio");
  }
}

TEST(Finding, OfAllIsTheWorst) {
  using enum Finding;
  EXPECT_EQ(overall(std::vector{no_change, regression, inconclusive}), regression);
  EXPECT_EQ(overall(std::vector{improvement, inconclusive, no_change}), inconclusive);
  EXPECT_EQ(overall(std::vector{no_change, improvement}), improvement);
  EXPECT_EQ(overall(std::vector{no_change, no_change}), no_change);
  EXPECT_EQ(overall(std::vector{inconclusive, not_compared}), not_compared);
  EXPECT_EQ(overall(std::vector{not_compared, regression}), regression);
  EXPECT_EQ(overall({}), not_compared);
  EXPECT_STREQ(name(no_change), "no_change");
  EXPECT_STREQ(name(regression), "regression");
}

std::vector<Repetition> repetitions(std::size_t count, double seconds, double width = 0.001, double foreign_cores = 0.02) {
  std::vector<Repetition> all;
  for (const double log_ratio : pairs(count, 0, width)) all.push_back({seconds * std::exp(log_ratio), foreign_cores});
  return all;
}

Decision decide(const RecordedCase& recorded) { return decide_recorded(std::vector<RecordedCase>{recorded})[0]; }

TEST(RecordedDecision, FindsEachOfThree) {
  const Decision slower = decide({repetitions(6, 0.1), repetitions(8, 0.104), ""});
  EXPECT_EQ(slower.finding, Finding::regression);
  EXPECT_NEAR(*slower.ratio, 1.04, 1e-9);
  EXPECT_NEAR(*slower.p_value, 2.0 / 3003, 1e-12);  // 14 choose 6
  EXPECT_EQ(slower.used, 6);
  EXPECT_EQ(decide({repetitions(6, 0.104), repetitions(8, 0.1), ""}).finding, Finding::improvement);
  EXPECT_EQ(decide({repetitions(6, 0.1), repetitions(8, 0.1), ""}).finding, Finding::no_change);
  EXPECT_EQ(decide({repetitions(6, 0.1, 0.05), repetitions(8, 0.1, 0.05), ""}).finding, Finding::inconclusive);
}

// What the next night may decide is inconclusive; what it cannot is not compared, with what helps.
TEST(RecordedDecision, SaysWhatFilesLackThatAreNotFit) {
  const auto reason = [](const RecordedCase& recorded, Remedy remedy) {
    const Decision decision = decide(recorded);
    EXPECT_EQ(decision.finding, remedy == Remedy::none ? Finding::inconclusive : Finding::not_compared);
    EXPECT_EQ(decision.remedy, remedy);
    EXPECT_NEAR(*decision.ratio, 1.2, 1e-9) << "the estimate all the same";
    return decision.note;
  };
  const auto baseline = repetitions(9, 0.1), contender = repetitions(9, 0.12);
  EXPECT_EQ(reason({repetitions(1, 0.1), repetitions(1, 0.12), ""}, Remedy::measure_baseline),
            "the baseline has 1 repetition, and a decision takes 5; measure the baseline again");
  EXPECT_EQ(reason({baseline, repetitions(4, 0.12), ""}, Remedy::measure_new),
            "the new side has 4 repetitions, and a decision takes 5; measure the new side again");
  EXPECT_EQ(reason({baseline, contender, "another machine", Remedy::speedup}, Remedy::speedup), "another machine");
  auto disturbed = contender;
  disturbed[3].foreign_cores = 0.62;
  disturbed[4].foreign_cores = kQuietForeignCores;
  EXPECT_EQ(reason({baseline, disturbed, ""}, Remedy::none),
            "other jobs took up to 0.62 cores while the new side was measured");
  disturbed[3].foreign_cores.reset();
  disturbed[4].foreign_cores = 0.02;
  EXPECT_EQ(reason({baseline, disturbed, ""}, Remedy::interleave),
            "what other jobs took while the new side was measured is not known; interleave two binaries");
  auto loaded = baseline;
  loaded[0].foreign_cores = loaded[1].foreign_cores = 1.25;
  EXPECT_EQ(reason({loaded, contender, ""}, Remedy::measure_baseline),
            "other jobs took up to 1.25 cores while the baseline was measured; measure the baseline again");
}

TEST(RecordedDecision, LeavesOutTheOnlyLoadedRepetition) {
  const auto loaded = [](std::size_t count, double seconds) {
    auto all = repetitions(count, seconds);
    all[2].foreign_cores = 1.2;
    all[2].step_seconds *= 2;
    return all;
  };
  const Decision slower = decide({repetitions(9, 0.1), loaded(9, 0.3), ""});
  EXPECT_EQ(slower.finding, Finding::regression);
  EXPECT_NEAR(*slower.ratio, 3, 0.01);
  EXPECT_EQ(slower.used, 8);
  EXPECT_EQ(slower.left_out, (std::array<std::optional<std::size_t>, 2>{std::nullopt, 2}));
  EXPECT_EQ(slower.note, "repetition 3 of 9 of the new side is left out: other jobs took 1.20 cores");
  EXPECT_EQ(decide({loaded(15, 0.1), repetitions(15, 0.1), ""}).finding, Finding::no_change) << "of the baseline too";
  EXPECT_EQ(decide({repetitions(15, 0.1), loaded(5, 0.3), ""}).finding, Finding::regression) << "four others are left";
  EXPECT_EQ(decide({repetitions(9, 0.1), loaded(4, 0.3), ""}).remedy, Remedy::measure_new) << "too few to leave one out";
}

TEST(RecordedDecision, TurnsDecideWhateverTheLoad) {
  RecordedCase turns{repetitions(10, 0.1, 0.5), repetitions(10, 0.1, 0.5), ""};
  for (std::size_t i = 0; i < 10; ++i) {
    turns.baseline[i].foreign_cores = turns.contender[i].foreign_cores = 1.4;
    turns.log_ratios.push_back(0.04 + 0.001 * static_cast<double>(i));
  }
  EXPECT_EQ(decide(turns).finding, Finding::regression);
  EXPECT_NEAR(*decide(turns).ratio, std::exp(0.0445), 1e-9);
  for (double& log : turns.log_ratios) log -= 0.0445;
  EXPECT_EQ(decide(turns).finding, Finding::no_change);
  for (std::size_t i = 0; i < 10; i += 2) turns.log_ratios[i] += 0.1;
  EXPECT_EQ(decide(turns).finding, Finding::inconclusive);
  EXPECT_EQ(decide(turns).remedy, Remedy::more_turns);
}

TEST(RecordedDecision, HasNoEstimateOfWhatIsNoTime) {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    RecordedCase recorded{repetitions(9, 0.1), repetitions(9, 0.1), ""};
    recorded.baseline[2].step_seconds = bad;
    EXPECT_FALSE(decide(recorded).ratio);
    EXPECT_EQ(decide(recorded).note, "a repetition of the baseline has no step time above 0; measure the baseline again");
  }
  EXPECT_FALSE(decide(RecordedCase{}).ratio);
}

// 5 a side reach 1 / 252, more than a third of 1 %; 6 reach 1 / 924. A case that is not fit takes no share.
TEST(RecordedDecision, CasesThatAreFitShareTheError) {
  const RecordedCase slower{repetitions(5, 0.1), repetitions(5, 0.104), ""}, same{repetitions(5, 0.1), repetitions(5, 0.1), ""};
  RecordedCase elsewhere = same;
  elsewhere.undecidable = "another machine";
  const auto three = decide_recorded(std::vector{slower, same, same});
  EXPECT_EQ(three[0].finding, Finding::inconclusive);
  EXPECT_EQ(three[0].note,
            "5 repetitions per side cannot show a change among 3 cases; about 1 more repetition per side would decide");
  EXPECT_EQ(decide_recorded(std::vector{slower, same, elsewhere})[0].finding, Finding::regression);
}

}  // namespace
}  // namespace epochbench
