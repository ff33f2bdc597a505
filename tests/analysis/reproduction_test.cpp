// Whether figures of a result come out again.
#include "src/analysis/verify/reproduction.h"

#include <gtest/gtest.h>

#include "support/made_speedup.h"

namespace epochbench {
namespace {

// Two CPU runs with rooflines; each repetition of the first is `factors[repetition]` times as fast.
NamedResult with_rooflines(const std::string& path, const std::vector<double>& factors = {1, 1.01, 0.99, 1, 1}) {
  NamedResult named = made_result(path, "host", {{"cpu", "bf16", 200}, {"cpu", "fp32", 100}});
  for (Run& run : named.result.runs) {
    run.efficiency->roofline_seconds = run.efficiency->launched_roofline_seconds = 0.05;
    if (run.precision == Precision::bf16)
      run.throughput->samples_per_second *= factors.at(static_cast<std::size_t>(run.repetition));
  }
  return named;
}

std::vector<ReproducedFigure> compared(const NamedResult& there, const NamedResult& here) {
  const std::vector<NamedResult> then{there}, now{here};
  const AllSeries theirs = series_of(then), ours = series_of(now);
  std::vector<RunAgain> runs;
  for (std::size_t at = 0; at < theirs.series.size(); ++at) runs.push_back({&theirs.series[at], &ours.series.at(at)});
  return reproduced(runs, speedup_of(then, SpeedupOf::same_batch));
}

// The share of the first run.
ReproducedFigure after(const ResultChange& change, const std::vector<double>& factors = {1, 1.01, 0.99, 1, 1}) {
  NamedResult here = with_rooflines("here.json", factors);
  change(here);
  return compared(with_rooflines("there.json"), here).at(0);
}
const ResultChange kNoChange = [](NamedResult&) {};

TEST(Reproduction, SharesAndRatiosOfTheSameSpeedAgree) {
  const auto figures = compared(with_rooflines("there.json"), with_rooflines("here.json"));
  ASSERT_EQ(figures.size(), 3u) << "two shares and a ratio";
  for (const ReproducedFigure& figure : figures) {
    EXPECT_EQ(figure.verdict, Reproduction::agrees) << figure.name;
    EXPECT_NEAR(figure.quotient.value, 1, 1e-9) << figure.name;
  }
  EXPECT_NEAR(figures[1].there.value, 0.05 / 0.16, 1e-9) << "the roofline over the step";
  EXPECT_NEAR(figures[2].there.value, 2, 0.01);
  EXPECT_FALSE(figures[2].share);
}

TEST(Reproduction, AMachineTwiceAsFastHasTheSameShares) {
  const auto verdict = [](double roofline) {
    return after(cpu([roofline](auto& run) {
             run.throughput->samples_per_second *= 2;
             run.efficiency->launched_roofline_seconds = roofline;
           }))
        .verdict;
  };
  EXPECT_EQ(verdict(0.025), Reproduction::agrees);
  EXPECT_EQ(verdict(0.05), Reproduction::differs);
}

TEST(Reproduction, ASideSlowedBy15PercentDiffers) {
  const std::vector<double> faster(5, 1.15);
  EXPECT_EQ(after(kNoChange, faster).verdict, Reproduction::differs);
  NamedResult here = with_rooflines("here.json", faster);
  const auto figures = compared(with_rooflines("there.json"), here);
  EXPECT_EQ(figures[1].verdict, Reproduction::agrees) << "the other side";
  EXPECT_EQ(figures[2].verdict, Reproduction::differs) << "the ratio";
}

TEST(Reproduction, WhatTheIntervalLeavesOpenIsUndecided) {
  const ReproducedFigure wide = after(kNoChange, {0.9, 1.5, 1, 1.4, 1.1});
  EXPECT_EQ(wide.verdict, Reproduction::undecided);
  EXPECT_EQ(wide.reason, "the interval is too wide");
}

TEST(Reproduction, ADifferenceElsewhereHasItsReason) {
  const std::vector<double> slower(5, 0.7);
  const auto reason = [&](const ResultChange& change) {
    const ReproducedFigure figure = after(change, slower);
    EXPECT_EQ(figure.verdict, Reproduction::differs_elsewhere);
    return figure.reason;
  };
  EXPECT_EQ(reason([](NamedResult& named) { named.result.context.cpu.model = "Another CPU"; }), "another CPU");
  EXPECT_EQ(reason([](NamedResult& named) {
              named.result.context.cpu.model = "Some CPU (family 26, model 2, stepping 1)";
              named.result.context.host_name.reset();
            }),
            "perhaps another CPU")
      << "the name there does not say which kind it is";
  EXPECT_EQ(reason([](NamedResult& named) { named.result.context.host_name.reset(); }), "perhaps another CPU");
  EXPECT_EQ(reason([](NamedResult& named) { named.result.context.git_sha = "def"; }), "another build");
  EXPECT_EQ(reason(cpu([](auto& run) { run.device.threads = 4; })), "4 threads, not 8");
  EXPECT_EQ(reason(cpu([](auto& run) { run.device.isa = "avx2"; })), "avx2 kernels, not amx_bf16");
  EXPECT_EQ(after(kNoChange, slower).verdict, Reproduction::differs);
}

TEST(Reproduction, ADisturbedRunDecidesNothing) {
  const ResultChange load = cpu([](auto& run) { run.interference->foreign_cpu_cores = 0.3; });
  EXPECT_EQ(after(load, std::vector<double>(5, 0.7)).reason, "other processes disturbed the run here");
  EXPECT_EQ(after(load).verdict, Reproduction::agrees) << "load does not make a run faster";
}

TEST(Reproduction, OneIntervalServesForBoth) {
  Estimate single{.value = 2}, pair{.value = 4};
  EXPECT_FALSE(quotient(single, pair).ci95);
  pair.ci95 = {3.6, 4.4};
  const Estimate quotient = epochbench::quotient(single, pair);
  ASSERT_TRUE(quotient.ci95);
  EXPECT_NEAR(quotient.ci95->second / quotient.ci95->first, 4.4 / 3.6, 1e-9);
}

TEST(Reproduction, LeadingPairsComeFirst) {
  NamedResult named = with_rooflines("a.json");
  named.result.runs.push_back(made_run({"cpu", "fp32", 50, 16, "", "lenet5"}, 0));
  const std::vector<NamedResult> results{named};
  const AllSeries all = series_of(results);
  const Candidates candidates = reproducible(all, speedup_of(results, SpeedupOf::same_batch));
  EXPECT_EQ(candidates.series.size(), 2u);
  EXPECT_EQ(candidates.ranks, (std::vector<std::size_t>{0, 0}));
  ASSERT_EQ(candidates.left_out.size(), 1u);
  EXPECT_NE(candidates.left_out[0].reason.find("its roofline is not known"), std::string::npos);
}

}  // namespace
}  // namespace epochbench
