// Claims that need no run: what the plans of models say.
#include "src/session/claim_plans.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/errors.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

ClaimAnswer planned_answer(const std::string& id) {
  for (const Claim& claim : embedded_claims().claims)
    if (claim.id == id) return judge(std::vector{claim}, {}, facts_for(std::vector{claim})).front();
  throw std::invalid_argument(id);
}

TEST(ClaimPlans, MemoryIsJudgedWithoutAnyRun) {
  const ClaimAnswer seven = planned_answer("memory-7b");
  EXPECT_EQ(part_of(seven, "weights-fp32").verdict, Verdict::reproduced);
  EXPECT_EQ(part_of(seven, "forward-planned").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(seven, "forward-planned").measured, 28, 1.5);
  EXPECT_EQ(part_of(seven, "training-planned").verdict, Verdict::not_reproduced);
  EXPECT_GT(*part_of(seven, "training-planned").measured, 4 * 6.7 * 4) << "weights, gradients and two moments";
  EXPECT_EQ(seven.verdict, Verdict::reproduced) << "the article speaks of running a model";
  EXPECT_EQ(seven.evidence, EvidenceClass::planned);
  const ClaimAnswer size = planned_answer("memory-model-size");
  EXPECT_EQ(size.verdict, Verdict::not_reproduced);
  EXPECT_NEAR(*part_of(size, "planned/bert-large").measured, 4.05, 0.1);
}

TEST(ClaimPlans, InferenceTakesLessThanTraining) {
  const ClaimAnswer answer = planned_answer("inference-lighter");
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "flops/resnet50").measured, 3, 0.1);
  EXPECT_GT(*part_of(answer, "memory/bert-base").measured, 3);
  EXPECT_EQ(part_of(answer, "time/resnet50").verdict, Verdict::not_testable);
}

TEST(ClaimPlans, BatchAndResolutionTakeMemory) {
  const ClaimAnswer answer = planned_answer("memory-batch");
  EXPECT_EQ(answer.verdict, Verdict::reproduced) << answer.reason;
  EXPECT_NEAR(*part_of(answer, "resolution").measured, 4, 1) << "four times the pixels, and the weights once";
  EXPECT_EQ(planned_answer("memory-16gb").verdict, Verdict::not_reproduced) << "most need no more than 12 GB";
}

TEST(ClaimPlans, WhatOthersDidNotPublishIsExpectedWithItsError) {
  const ClaimAnswer large = planned_answer("large-models-10-100x");
  EXPECT_EQ(large.evidence, EvidenceClass::predicted);
  const ClaimAnswer& bert = part_of(large, "expected/bert-large");
  EXPECT_GT(*bert.measured, 1);
  EXPECT_LT(bert.measured_ci95->first, *bert.measured);
  EXPECT_THAT(bert.conditions, testing::AllOf(testing::HasSubstr("median error"), testing::HasSubstr("at most 2 cores")));
  EXPECT_EQ(bert.measured_ci95->second, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(part_of(planned_answer("gap-widens"), "expected-bert").measured) << "bounds have no slope";
  const ClaimAnswer cost = planned_answer("cost-per-epoch");
  EXPECT_TRUE(part_of(cost, "expected/resnet50").measured);
  EXPECT_FALSE(part_of(cost, "expected/mlp").measured) << "it waits for launches";
}

TEST(ClaimPlans, NameTheModelThatDoesNotExist) {
  Claim claim;
  ClaimQuantity& quantity = claim.quantities.emplace_back();
  quantity.kind = "plan";
  quantity.models = {"resnet51"};
  quantity.of.precisions = {Precision::fp32};
  try {
    facts_for(std::vector{claim});
    FAIL();
  } catch (const CallError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("resnet51"));
  }
}

}  // namespace
}  // namespace epochbench
