// Verdicts by what others published, rate or state, and by bounds, from constructed figures.
#include <cmath>
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

ClaimQuantity quantity_of(const char* kind, ClaimedRange claimed) {
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
  ClaimQuantity quantity = quantity_of("published", {4, 8});
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
  ClaimQuantity quantity = quantity_of("published", {4, 8});
  quantity.reason = "nobody published a GTX 1650";
  const ClaimAnswer answer = judged(quantity);
  EXPECT_EQ(answer.verdict, Verdict::not_testable);
  EXPECT_EQ(answer.reason, "nobody published a GTX 1650");
}

TEST(ClaimsOfOthers, WhatWasMeasuredHereLeads) {
  Claim claim;
  for (const Claim& each : embedded_claims().claims)
    if (each.id == "cnn-transformer-4-8x") claim = each;
  claim.holds_for = HoldsFor::all;
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
            (Verdicts{{EvidenceClass::measured, Verdict::reproduced}, {EvidenceClass::published, Verdict::undecided}}));
  EXPECT_EQ(alone.verdict, Verdict::undecided);
  EXPECT_EQ(alone.evidence, EvidenceClass::published);
}

TEST(ClaimsOfOthers, RatingsAreThoseOfTheCatalogInSiUnits) {
  ClaimQuantity quantity = quantity_of("rated", {2.4e12, 3.75e12});
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
  ClaimQuantity quantity = quantity_of("stated", {1e12, std::nullopt});
  quantity.scale = 1e12;
  quantity.figures = {{"a stack", 1.2, std::nullopt, "data sheet", "https://example.org", "2025"}};
  EXPECT_NEAR(*judged(quantity).measured, 1.2, 1e-12);
  quantity.figures.front().over = 2.4;
  EXPECT_NEAR(*judged(quantity).measured, 0.5, 1e-12);
}

TEST(ClaimsOfOthers, ABoundDecidesOnOneSideAlone) {
  ClaimQuantity quantity = quantity_of("predicted", {30, std::nullopt});
  quantity.measure = "seconds";
  quantity.entries = {"t4"};
  quantity.models = {"lenet5"};
  quantity.of.precisions = {Precision::fp32};
  quantity.samples = 100;
  const auto verdict = [&](double seconds) {
    Prediction prediction;
    prediction.work.batch = 2;
    prediction.step = TimeBound{seconds, 0};
    const PredictedSteps steps{{{"t4", {"lenet5", Mode::train, Precision::fp32, 1}}, prediction}};
    return judged(quantity, {.predictions = steps});
  };
  EXPECT_EQ(verdict(1).verdict, Verdict::reproduced) << "at least 50 s";
  EXPECT_EQ(verdict(1).evidence, EvidenceClass::predicted);
  EXPECT_EQ(verdict(0.1).verdict, Verdict::undecided) << "at least 5 s says nothing of 30";
  quantity.claimed = {std::nullopt, 30};
  EXPECT_EQ(verdict(1).verdict, Verdict::exceeded) << "above the range";
}

TEST(ClaimsOfOthers, AnswersAreNamedAfterModelsAndDevicesIfThereAreSeveral) {
  ClaimQuantity quantity = quantity_of("predicted", {30, std::nullopt});
  quantity.entries = {"t4", "l4"};
  quantity.models = {"mlp", "lenet5"};
  quantity.of.precisions = {Precision::fp32};
  const auto ids = [&] {
    std::vector<std::string> found;
    for (const ClaimAnswer& part : judged(quantity).parts) found.push_back(part.id);
    return found;
  };
  EXPECT_THAT(ids(), testing::ElementsAre("mlp/t4", "mlp/l4", "lenet5/t4", "lenet5/l4"));
  quantity.id = "bound";
  quantity.models = {"mlp"};
  EXPECT_THAT(ids(), testing::ElementsAre("bound/t4", "bound/l4"));
}

// Steps of a batch of 8 that are expected to take so long; measured ones take 0.8 to 1.25 times as long.
class Expected {
 public:
  Expected& add(const std::string& device, double seconds, const std::string& model = "lenet5",
                Precision precision = Precision::fp32) {
    Prediction made;
    made.name = device;
    made.work.model = model;
    made.work.batch = 8;
    made.step = TimeBound{seconds / 10, 0};
    made.expected.emplace();
    made.expected->seconds = seconds;
    made.expected->low_seconds = 0.8 * seconds;
    made.expected->high_seconds = 1.25 * seconds;
    made.expected->error.median = 0.1;
    made.expected->evidence = "steps";
    made.expected->program = "a program";
    facts_.predictions[{device, {model, Mode::train, precision, 8}}] = made;
    return *this;
  }
  Expected& bound(const std::string& device) {
    for (auto& [step, prediction] : facts_.predictions)
      if (step.device == device) prediction.expected.reset();
    return *this;
  }
  Expected& run(const std::string& device, const std::string& program) {
    for (auto& [step, prediction] : facts_.predictions)
      if (step.device == device) prediction.expected->program = program;
    return *this;
  }
  Expected& price(const std::string& device, double usd_per_hour) {
    facts_.instances[device].usd_per_hour = usd_per_hour;
    return *this;
  }
  Expected& parameters(const std::string& model, std::int64_t count) {
    facts_.plans[{model, Mode::train, Precision::fp32, 8}].parameters = count;
    return *this;
  }
  ClaimAnswer answer(ClaimQuantity quantity) const { return judged(quantity, facts_); }

  static ClaimQuantity question(ClaimedRange claimed) {
    ClaimQuantity made = quantity_of("expected", claimed);
    made.models = {"lenet5"};
    made.entries = {"gpu", "big"};
    made.against = {"cpu"};
    made.of.precisions = {Precision::fp32, Precision::bf16};
    made.of.batch = 8;
    made.to = made.of;
    return made;
  }

 private:
  ClaimFacts facts_;
};

TEST(ExpectedClaims, ARatioSpansTheIntervalsOfAllPairs) {
  const auto made = Expected().add("gpu", 1).add("big", 0.5).add("cpu", 6);
  const ClaimAnswer answer = made.answer(Expected::question({4, 18}));
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_EQ(answer.evidence, EvidenceClass::predicted);
  EXPECT_NEAR(*answer.measured, std::sqrt(6 * 12), 1e-9) << "6 and 12 times";
  const double spread = std::exp(std::sqrt(2) * std::log(1.25));  // of two independent errors
  EXPECT_NEAR(answer.measured_ci95->first, 6 / spread, 1e-9);
  EXPECT_NEAR(answer.measured_ci95->second, 12 * spread, 1e-9);
  EXPECT_THAT(answer.conditions, HasSubstr("from 6.00 (gpu over cpu) to 12.0 (big over cpu)"));
  EXPECT_THAT(answer.conditions, HasSubstr("median error on devices left out of the fit 10.0 %"));
  EXPECT_THAT(answer.conditions, HasSubstr("gpu, big in fp32, each against cpu in fp32"));
  EXPECT_EQ(made.answer(Expected::question({7, 20})).verdict, Verdict::undecided);
  EXPECT_EQ(made.answer(Expected::question({20, 30})).verdict, Verdict::not_reproduced);
  ClaimQuantity each = Expected::question({4, 9});
  each.each = true;
  const ClaimAnswer pairs = made.answer(each);
  ASSERT_EQ(pairs.parts.size(), 2u);
  EXPECT_EQ(pairs.parts[0].verdict, Verdict::reproduced);
  EXPECT_EQ(pairs.parts[1].verdict, Verdict::undecided) << "from 8.8";
}

TEST(ExpectedClaims, ADeviceIsTakenAtItsBestPrecisionAndPrice) {
  auto made = Expected().add("gpu", 1).add("gpu", 0.25, "lenet5", Precision::bf16).add("cpu", 2);
  EXPECT_NEAR(*made.answer(Expected::question({4, 12})).measured, 8, 1e-9);
  ClaimQuantity per_usd = Expected::question({1, std::nullopt});
  per_usd.measure = "samples_per_usd";
  EXPECT_EQ(made.answer(per_usd).verdict, Verdict::not_testable) << "no price is known";
  made.price("gpu", 3).price("cpu", 1.5);
  EXPECT_NEAR(*made.answer(per_usd).measured, 4, 1e-9);
}

// The bound of the CPU is a tenth of what add() says it takes; the GPU is at least so much faster.
TEST(ExpectedClaims, ABoundOfTheCpuLeavesTheRatioOpenAbove) {
  const auto made = Expected().add("gpu", 1).add("cpu", 60).bound("cpu");
  const ClaimAnswer answer = made.answer(Expected::question({4, std::nullopt}));
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer.measured, 6, 1e-9);
  EXPECT_NEAR(answer.measured_ci95->first, 6 / 1.25, 1e-9) << "the error of the GPU alone";
  EXPECT_EQ(answer.measured_ci95->second, std::numeric_limits<double>::infinity());
  EXPECT_EQ(made.answer(Expected::question({10, 100})).verdict, Verdict::undecided) << "not refuted";
  EXPECT_EQ(made.answer(Expected::question({1, 4})).verdict, Verdict::exceeded);
  EXPECT_EQ(Expected().add("gpu", 1).bound("gpu").add("cpu", 6).bound("cpu").answer(Expected::question({4, 8})).verdict,
            Verdict::not_testable)
      << "two bounds make no ratio";
}

TEST(ExpectedClaims, ARatioOfTwoProgramsIsShownWithoutAVerdict) {
  const ClaimAnswer answer =
      Expected().add("gpu", 1).add("cpu", 6).run("cpu", "another program").answer(Expected::question({4, 18}));
  EXPECT_EQ(answer.verdict, Verdict::not_testable);
  EXPECT_NEAR(*answer.measured, 6, 1e-9);
  EXPECT_THAT(answer.reason, HasSubstr("a program over another program"));
}

TEST(ExpectedClaims, WhatHasNoExpectationSaysSo) {
  const ClaimAnswer answer = Expected().add("gpu", 1).answer(Expected::question({4, 8}));
  EXPECT_EQ(answer.verdict, Verdict::not_testable);
  EXPECT_THAT(answer.reason, HasSubstr("no expected time of lenet5"));
}

TEST(ExpectedClaims, AGapThatWidensHasASlope) {
  Expected made;
  ClaimQuantity question = Expected::question({0, std::nullopt});
  question.over = "parameters";
  question.entries = {"gpu"};
  question.models = {"a", "b", "c"};
  // The ratio grows tenfold with ten times the parameters: a slope of 1, which an error of 1.25 on each side leaves above 0.
  for (const auto& [model, size] : {std::pair("a", 1), std::pair("b", 10), std::pair("c", 100)})
    made.add("gpu", 1, model).add("cpu", size, model).parameters(model, size);
  const ClaimAnswer answer = made.answer(question);
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer.measured, 1, 1e-9);
  const double error = std::sqrt(2) * std::log(1.25) / (std::sqrt(2) * std::log(10));  // over the root of the sum of squares
  EXPECT_NEAR(answer.measured_ci95->first, 1 - error, 1e-9);
  question.models = {"a", "b"};
  EXPECT_EQ(made.answer(question).verdict, Verdict::not_testable) << "two sizes make no slope";
}

// A baseline that could have been faster bounds a ratio from above, so that it can refute a claim of more and support none.
TEST(ClaimsOfOthers, AWeakSideLeavesTheRatioOpen) {
  const auto verdict = [](const char* weak, ClaimedRange claimed) {
    ClaimQuantity quantity = quantity_of("stated", claimed);
    quantity.figures = {{"a GPU", 30, 1.0, "", "", ""}};
    quantity.weak = weak;
    return judged(quantity).verdict;
  };
  EXPECT_EQ(verdict("", {4, 8}), Verdict::exceeded);
  EXPECT_EQ(verdict("to", {4, 8}), Verdict::undecided);
  EXPECT_EQ(verdict("to", {{}, 40}), Verdict::reproduced);
  EXPECT_EQ(verdict("to", {40, {}}), Verdict::not_reproduced);
  EXPECT_EQ(verdict("of", {4, {}}), Verdict::reproduced);
  EXPECT_EQ(verdict("of", {4, 80}), Verdict::undecided);
}

TEST(ClaimsOfOthers, AnExactFigureIsNotExceeded) {
  for (const double cores : {639.0, 640.0, 641.0}) {
    ClaimQuantity quantity = quantity_of("stated", {.low = 640, .high = 640, .exact = true});
    quantity.figures = {{"a GPU", cores, {}, "", "", ""}};
    EXPECT_EQ(judged(quantity).verdict, cores == 640 ? Verdict::reproduced : Verdict::not_reproduced) << cores;
  }
}

TEST(ClaimsOfOthers, EachFigureIsAPartOfItsOwn) {
  ClaimQuantity quantity = quantity_of("stated", {.low = 4, .high = 64, .exact = true});
  quantity.id = "cpu";
  quantity.each = true;
  for (const double cores : {6.0, 56.0, 64.0, 96.0})
    quantity.figures.push_back({"a CPU of " + std::to_string(static_cast<int>(cores)), cores, {}, "", "", ""});
  Claim claim;
  claim.holds_for = HoldsFor::most;
  claim.quantities = {quantity};
  const ClaimAnswer answer = judge(std::vector{claim}, {}).front();
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_EQ(answer.parts.size(), 4u);
  EXPECT_THAT(answer.reason, testing::HasSubstr("it holds for 3 of 4 that were tested; not for cpu/a CPU of 96"));
}

}  // namespace
}  // namespace epochbench
