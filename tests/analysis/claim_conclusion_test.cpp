// From the verdicts of parts to that of a claim: alternatives, "most", what does not count, classes of evidence.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

ClaimAnswer part(const std::string& id, Verdict verdict, EvidenceClass evidence = EvidenceClass::measured) {
  ClaimAnswer answer;
  answer.id = id;
  answer.verdict = verdict;
  if (verdict != Verdict::not_testable) answer.evidence = evidence;
  if (verdict == Verdict::not_testable) answer.reason = "no run";
  return answer;
}

ClaimAnswer reading(const std::string& id, Verdict verdict) {
  ClaimAnswer answer = part(id, verdict);
  answer.alternative = "either";
  return answer;
}

ClaimAnswer concluded(std::vector<ClaimAnswer> parts, HoldsFor holds_for = HoldsFor::all) {
  ClaimAnswer answer;
  answer.parts = std::move(parts);
  conclude(answer, holds_for);
  return answer;
}

TEST(Conclusion, AlternativesThatDisagreeDependOnTheReading) {
  const auto verdict = [](Verdict first, Verdict second) {
    const ClaimAnswer answer = concluded({reading("bits", first), reading("bytes", second)});
    EXPECT_EQ(answer.parts.size(), 2u) << "both are shown";
    return answer.verdict;
  };
  EXPECT_EQ(verdict(Verdict::not_reproduced, Verdict::reproduced), Verdict::undecided);
  EXPECT_EQ(verdict(Verdict::undecided, Verdict::reproduced), Verdict::undecided);
  EXPECT_EQ(verdict(Verdict::not_testable, Verdict::reproduced), Verdict::reproduced);
  EXPECT_THAT(concluded({reading("bits", Verdict::not_reproduced), reading("bytes", Verdict::reproduced)}).reason,
              HasSubstr("depends on the reading: bits not reproduced, bytes reproduced"));
  EXPECT_EQ(verdict(Verdict::reproduced, Verdict::exceeded), Verdict::reproduced);
  EXPECT_EQ(verdict(Verdict::exceeded, Verdict::undecided), Verdict::undecided) << "one may still hold";
  EXPECT_EQ(verdict(Verdict::not_reproduced, Verdict::undecided), Verdict::undecided);
  EXPECT_EQ(verdict(Verdict::not_reproduced, Verdict::not_testable), Verdict::not_reproduced);
  EXPECT_EQ(verdict(Verdict::not_testable, Verdict::not_testable), Verdict::not_testable);
}

ClaimAnswer without_interval(const std::string& id, EvidenceClass evidence = EvidenceClass::measured) {
  ClaimAnswer answer = part(id, Verdict::undecided, evidence);
  answer.measured = 1;
  return answer;
}

TEST(Conclusion, APartWithoutAnIntervalOverrulesNone) {
  for (const HoldsFor holds_for : {HoldsFor::all, HoldsFor::any}) {
    const ClaimAnswer answer = concluded({part("several", Verdict::reproduced), without_interval("single")}, holds_for);
    EXPECT_EQ(answer.verdict, Verdict::reproduced);
    EXPECT_THAT(answer.reason, HasSubstr("without an interval: single"));
  }
  EXPECT_EQ(concluded({without_interval("single"), part("no", Verdict::not_testable)}).verdict, Verdict::undecided);
  const ClaimAnswer others =
      concluded({without_interval("run"), part("by others", Verdict::reproduced, EvidenceClass::published)});
  EXPECT_EQ(others.verdict, Verdict::reproduced);
  EXPECT_EQ(others.evidence, EvidenceClass::published);
  EXPECT_EQ(others.verdicts.size(), 2u) << "the run is shown beside it";
}

TEST(Conclusion, AlternativesStandBesideOtherParts) {
  const ClaimAnswer answer = concluded({reading("bits", Verdict::not_reproduced), part("flops", Verdict::not_reproduced),
                                        reading("bytes", Verdict::reproduced)});
  EXPECT_EQ(answer.verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer.reason, "for flops");
}

TEST(Conclusion, WhatDoesNotCountIsShownAlone) {
  ClaimAnswer source = part("source", Verdict::not_reproduced);
  source.counts = false;
  const ClaimAnswer answer = concluded({source, part("article", Verdict::reproduced)});
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_EQ(answer.parts.size(), 2u);
}

TEST(Conclusion, MostIsMoreThanHalfOfAtLeastThree) {
  const auto yes = part("yes", Verdict::reproduced), no = part("no", Verdict::not_reproduced),
             open = part("open", Verdict::undecided), none = part("none", Verdict::not_testable);
  const auto verdict = [](std::vector<ClaimAnswer> parts) { return concluded(std::move(parts), HoldsFor::most).verdict; };
  EXPECT_EQ(verdict({yes, yes, no}), Verdict::reproduced);
  EXPECT_EQ(verdict({yes, yes, no, no}), Verdict::not_reproduced) << "half is not most";
  EXPECT_EQ(verdict({yes, no, open}), Verdict::undecided);
  EXPECT_EQ(verdict({no, no, open}), Verdict::not_reproduced);
  EXPECT_EQ(verdict({yes, yes, none}), Verdict::undecided);
  EXPECT_EQ(verdict({none, none, none}), Verdict::not_testable);
  EXPECT_EQ(verdict({part("far", Verdict::exceeded), yes, no}), Verdict::reproduced);
  EXPECT_THAT(concluded({yes, yes, none}, HoldsFor::most).reason, HasSubstr("at least 3 models; it holds for 2 of 2"));
  EXPECT_EQ(concluded({yes, yes, no, none}, HoldsFor::most).reason,
            "it holds for 2 of 3 that were tested; not for no; not testable here: none");
}

// Any model: one inside is enough; while one is open none is final; both sides of the range refute nothing.
TEST(Conclusion, AnyIsOneInsideTheRange) {
  const auto yes = part("yes", Verdict::reproduced), far = part("far", Verdict::exceeded),
             open = part("open", Verdict::undecided), no = part("no", Verdict::not_reproduced),
             none = part("none", Verdict::not_testable);
  const auto verdict = [](std::vector<ClaimAnswer> parts) { return concluded(std::move(parts), HoldsFor::any).verdict; };
  EXPECT_EQ(verdict({no, far, yes}), Verdict::reproduced);
  EXPECT_EQ(verdict({far, none}), Verdict::exceeded);
  EXPECT_EQ(verdict({far, open}), Verdict::undecided);
  EXPECT_EQ(verdict({no, none}), Verdict::not_reproduced);
  EXPECT_EQ(verdict({none, none}), Verdict::not_testable);
  EXPECT_EQ(verdict({no, far}), Verdict::undecided);
  EXPECT_THAT(concluded({no, far}, HoldsFor::any).reason, HasSubstr("on either side"));
}

TEST(Conclusion, EachClassOfEvidenceHasItsVerdict) {
  const ClaimAnswer answer =
      concluded({part("run", Verdict::reproduced), part("plan", Verdict::not_reproduced, EvidenceClass::planned)});
  using Of = std::pair<EvidenceClass, Verdict>;
  EXPECT_THAT(answer.verdicts, testing::ElementsAre(Of{EvidenceClass::measured, Verdict::reproduced},
                                                    Of{EvidenceClass::planned, Verdict::not_reproduced}));
  EXPECT_EQ(answer.verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer.evidence, EvidenceClass::planned) << "of the part that decides";
  EXPECT_TRUE(concluded({part("none", Verdict::not_testable)}).verdicts.empty());
  EXPECT_FALSE(concluded({part("none", Verdict::not_testable)}).evidence);
}

std::vector<std::vector<Run>> on_gpu(const std::vector<std::pair<const char*, double>>& rates) {
  std::vector<std::vector<Run>> runs;
  for (const char* model : {"resnet50", "bert-base"})
    for (const auto& [precision, rate] : rates) runs.push_back(runs_of(model, "cuda", precision, 16, rate));
  return runs;
}

TEST(Conclusion, WhatDoesNotCarryTheClaimSpeaksForNoModel) {
  ClaimAnswer rated = part("rated", Verdict::reproduced);
  rated.carries = false;
  EXPECT_EQ(concluded({rated}, HoldsFor::any).verdict, Verdict::not_testable);
  EXPECT_EQ(concluded({rated, rated, rated}, HoldsFor::most).verdict, Verdict::not_testable);
  EXPECT_EQ(concluded({rated, part("no", Verdict::not_reproduced)}, HoldsFor::any).verdict, Verdict::not_reproduced);
  EXPECT_EQ(concluded({rated, part("yes", Verdict::reproduced)}, HoldsFor::any).verdict, Verdict::reproduced);
}

TEST(Claims, ADisturbedRepetitionDoesNotCountBesideAnUndisturbedOneOfAnotherBuild) {
  const auto measured = [](const std::string& path, double in_bf16, double foreign_cores) {
    NamedResult named = result_of(on_gpu({{"fp32", 100}, {"tf32", 100}, {"bf16", in_bf16}, {"fp16", in_bf16}}));
    named.path = path;
    for (auto& run : named.result.runs) run.interference = Interference{foreign_cores};
    return named;
  };
  const auto ratios = [](const std::vector<NamedResult>& results) {
    std::vector<double> known;
    for (const ClaimAnswer& part : answer_to("mixed-precision-2-3x", results).parts)
      if (part.measured) known.push_back(*part.measured);
    return known;
  };
  const NamedResult quiet = measured("a.json", 250, 0);
  ASSERT_FALSE(ratios({quiet}).empty());
  EXPECT_NE(ratios({quiet, measured("b.json", 260, 0)}), ratios({quiet}));
  EXPECT_EQ(ratios({quiet, measured("b.json", 260, 0.3)}), ratios({quiet}));
}

TEST(Claims, MixedPrecisionCountsOverEitherBaseline) {
  EXPECT_EQ(answer_to("mixed-precision-2-3x", on_gpu({{"fp32", 100}, {"tf32", 300}, {"bf16", 750}, {"fp16", 750}})).verdict,
            Verdict::reproduced)
      << "2.5 times tf32, whatever fp32 is";
  EXPECT_EQ(answer_to("mixed-precision-2-3x", on_gpu({{"fp32", 100}, {"tf32", 140}, {"bf16", 160}, {"fp16", 160}})).verdict,
            Verdict::not_reproduced);
}

TEST(Claims, HalfPrecisionAndQualityContradictEachOther) {
  const ClaimCatalog& catalog = embedded_claims();
  const std::vector<std::string> both{"mixed-precision-quality", "half-precision-less-accurate"};
  EXPECT_NE(std::ranges::find(catalog.conflicts, both, &ClaimConflict::claims), catalog.conflicts.end());
}

TEST(Claims, SoftwareIsComparedWithHardware) {
  const auto answer = [](double tuned) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (const char* model : {"resnet20", "bert-tiny", "mlp"}) {
      runs.push_back(runs_of(model, "cpu", "fp32", 32, 10 * tuned));
      runs.push_back(runs_of(model, "cpu", "fp32", 32, 10, "/gemm=portable"));
      runs.push_back(runs_of(model, "cuda", "fp32", 32, 50 * tuned));
    }
    return answer_to("software-hardware", runs);
  };
  EXPECT_EQ(answer(8).verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer(8), "effect/resnet20").measured, 8.0 / 5, 1e-9);
  EXPECT_EQ(answer(2).verdict, Verdict::not_reproduced) << "2 times beside 5 times";
  std::vector<std::vector<epochbench::Run>> no_gpu{runs_of("resnet20", "cpu", "fp32", 32, 80),
                                                   runs_of("resnet20", "cpu", "fp32", 32, 10, "/gemm=portable")};
  EXPECT_EQ(answer_to("software-hardware", no_gpu).verdict, Verdict::not_testable) << "tuning alone says nothing of a GPU";
}

TEST(Claims, RatiosOfPeaksAreOfOneMachine) {
  std::vector<NamedResult> results;
  for (int i = 0; i < 5; ++i) {
    results.push_back(result_of({}));
    Context& context = results.back().result.context;
    context.cpu.memory_bandwidth_bytes_per_second = 100e9 + 1e8 * i;
    context.cpu.memory_bytes = 512'000'000'000;
    context.gpus.emplace_back();
    context.gpus[0].name = "NVIDIA V100";
    context.gpus[0].memory_bandwidth_bytes_per_second = 1200e9;
  }
  const ClaimAnswer answer = answer_to("hbm-vs-cpu", results);
  EXPECT_NEAR(*part_of(answer, "bandwidth-ratio").measured, 12, 0.1);
  EXPECT_EQ(part_of(answer, "bandwidth-ratio").verdict, Verdict::reproduced);
  EXPECT_EQ(part_of(answer, "compute-ratio").verdict, Verdict::not_testable);
}

}  // namespace
}  // namespace epochbench
