// Verdicts by what others published, rate or state, and by bounds, from constructed figures.
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claim_kinds.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

PublishedEntry entry(const std::string& name, double samples_per_second, const std::string& framework = "PyTorch") {
  PublishedEntry made;
  made.name = name;
  made.benchmark = "CIFAR10";
  made.model = "ResNet 164";
  made.framework = framework;
  made.citation = "DAWNBench: " + name;
  made.machine.description = name;
  made.machine.nodes = 2;
  made.throughput = PublishedThroughput{samples_per_second, ""};
  return made;
}

ClaimQuantity quantity_of(QuantityKind kind, ClaimedRange claimed) {
  ClaimQuantity made;
  made.kind = kind;
  made.claimed = claimed;
  made.measure = "samples_per_second";
  return made;
}

ClaimAnswer judged(const ClaimQuantity& quantity, const ClaimFacts& facts = {}, const std::vector<NamedResult>& results = {}) {
  Claim claim;
  claim.quantities = {quantity};
  return judge(std::vector{claim}, results, facts).front();
}

ClaimAnswer published(const std::vector<PublishedEntry>& entries, PublishedSource of_first = PublishedSource::dawnbench) {
  std::vector<PublishedDocument> documents(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) documents[i].entries = {entries[i]};
  documents.front().source = of_first;
  ClaimQuantity quantity = quantity_of(QuantityKind::published, {4, 8});
  quantity.entries = {"*gpu*"};
  quantity.against = {"*cpu*"};
  return judged(quantity, {.published = documents});
}

TEST(ClaimsOfOthers, TheRangeOfAllPairsOfOneProgramIsTheInterval) {
  const ClaimAnswer answer =
      published({entry("k/gpu", 500), entry("p/gpu", 700), entry("n/cpu", 100), entry("t/cpu", 1, "TensorFlow")});
  EXPECT_EQ(answer.verdict, Verdict::reproduced) << answer.reason;
  EXPECT_EQ(*answer.measured_ci95, std::pair(5.0, 7.0)) << "TensorFlow's CPU is not paired with PyTorch's GPUs";
  EXPECT_EQ(answer.evidence, EvidenceClass::published);
  EXPECT_THAT(answer.conditions, HasSubstr("2 pairs, by others: k/gpu, p/gpu, each against n/cpu"));
  ASSERT_EQ(answer.sources.size(), 3u);
  EXPECT_EQ(answer.sources[0].text, "DAWNBench: k/gpu");
}

TEST(ClaimsOfOthers, PairsOnBothSidesOfABoundDecideNothing) {
  const ClaimAnswer answer = published({entry("k/gpu", 500), entry("p/gpu", 3000), entry("n/cpu", 100)});
  EXPECT_EQ(answer.verdict, Verdict::undecided);
  EXPECT_THAT(answer.reason, HasSubstr("both sides of a bound"));
  EXPECT_EQ(published({entry("p/gpu", 3000), entry("n/cpu", 100)}).verdict, Verdict::exceeded);
}

TEST(ClaimsOfOthers, NoSourceIsPairedWithAnother) {
  EXPECT_EQ(published({entry("k/gpu", 500), entry("n/cpu", 100)}, PublishedSource::mlperf).verdict, Verdict::not_testable);
  PublishedEntry later = entry("k/gpu", 500);
  later.version = "v3.0";
  EXPECT_EQ(published({later, entry("n/cpu", 100)}).verdict, Verdict::not_testable) << "versions differ";
}

TEST(ClaimsOfOthers, WhatNobodyPublishedHasItsReason) {
  ClaimQuantity quantity = quantity_of(QuantityKind::published, {4, 8});
  quantity.reason = "nobody published a GTX 1650";
  const ClaimAnswer answer = judged(quantity);
  EXPECT_EQ(answer.verdict, Verdict::not_testable);
  EXPECT_EQ(answer.reason, "nobody published a GTX 1650");
}

TEST(ClaimsOfOthers, WhatWasMeasuredHereLeads) {
  Claim claim;
  for (const Claim& each : embedded_claims().claims)
    if (each.id == "cnn-transformer-4-8x") claim = each;
  std::vector<PublishedDocument> documents(1);
  documents[0].entries = {entry("CIFAR10/train/dawn_resnet164_nb_1k80-gc_pytorch", 900),
                          entry("CIFAR10/train/dawn_resnet164_nb_16vCPUs-gc_pytorch", 100)};
  const ClaimFacts facts{.published = documents};
  const NamedResult made = result_of({runs_of("resnet50", "cpu", "fp32", 16, 100), runs_of("resnet50", "cuda", "fp32", 16, 500),
                                      runs_of("bert-base", "cpu", "fp32", 8, 10), runs_of("bert-base", "cuda", "fp32", 8, 50)});
  const ClaimAnswer both = judge(std::vector{claim}, {made}, facts).front(),
                    alone = judge(std::vector{claim}, {}, facts).front();
  using Verdicts = std::vector<std::pair<EvidenceClass, Verdict>>;
  EXPECT_EQ(both.verdict, Verdict::reproduced);
  EXPECT_EQ(both.verdicts,
            (Verdicts{{EvidenceClass::measured, Verdict::reproduced}, {EvidenceClass::published, Verdict::exceeded}}));
  EXPECT_EQ(alone.verdict, Verdict::exceeded);
  EXPECT_EQ(alone.evidence, EvidenceClass::published);
}

TEST(ClaimsOfOthers, RatingsAreThoseOfTheCatalogInSiUnits) {
  ClaimQuantity quantity = quantity_of(QuantityKind::rated, {2.4e12, 3.75e12});
  quantity.measure = "bandwidth_gb_per_second";
  quantity.entries = {"h100-sxm"};
  const ClaimAnswer answer = judged(quantity);
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer.measured, 3.35e12, 1);
  EXPECT_THAT(answer.sources.front().text, HasSubstr("H100"));
  quantity.against = {"t4"};
  EXPECT_NEAR(*judged(quantity).measured, 3350 / 320.0, 1e-9);
}

TEST(ClaimsOfOthers, StatedFiguresKeepTheirUnitAndRatio) {
  ClaimQuantity quantity = quantity_of(QuantityKind::stated, {1e12, std::nullopt});
  quantity.scale = 1e12;
  quantity.figures = {{"a stack", 1.2, std::nullopt, "data sheet", "https://example.org", "2025"}};
  EXPECT_NEAR(*judged(quantity).measured, 1.2, 1e-12);
  quantity.figures.front().over = 2.4;
  EXPECT_NEAR(*judged(quantity).measured, 0.5, 1e-12);
}

TEST(ClaimsOfOthers, ABoundDecidesOnOneSideAlone) {
  ClaimQuantity quantity = quantity_of(QuantityKind::predicted, {30, std::nullopt});
  quantity.measure = "seconds";
  quantity.entries = {"t4"};
  quantity.models = {"lenet5"};
  quantity.of.precisions = {"fp32"};
  quantity.samples = 100;
  const auto verdict = [&](double seconds) {
    Prediction prediction;
    prediction.work.batch = 2;
    prediction.step = LeastTime{seconds, 0};
    const PredictedSteps steps{{{"t4", {"lenet5", "train", "fp32", 1}}, prediction}};
    return judged(quantity, {.predictions = steps});
  };
  EXPECT_EQ(verdict(1).verdict, Verdict::reproduced) << "at least 50 s";
  EXPECT_EQ(verdict(1).evidence, EvidenceClass::predicted);
  EXPECT_EQ(verdict(0.1).verdict, Verdict::undecided) << "at least 5 s says nothing of 30";
  quantity.claimed = {std::nullopt, 30};
  EXPECT_EQ(verdict(1).verdict, Verdict::exceeded) << "above the range";
}

}  // namespace
}  // namespace epochbench
