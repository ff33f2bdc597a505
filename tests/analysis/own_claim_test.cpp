// Claims that a call words.
#include "src/analysis/claims/own_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/errors.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ClaimQuantity parsed(const std::string& text) { return parse_own_claim(text, {"mlp", "lenet5"}).quantities.at(0); }

TEST(OwnClaim, HasSidesAndRange) {
  const ClaimQuantity quantity = parsed("cuda/cpu >= 4");
  EXPECT_EQ(quantity.kind, "ratio");
  EXPECT_EQ(quantity.measure, "samples_per_second");
  EXPECT_THAT(quantity.of.backends, ElementsAre(BackendKind::cuda));
  EXPECT_THAT(quantity.to->backends, ElementsAre(BackendKind::cpu));
  EXPECT_THAT(quantity.of.precisions, ElementsAre(Precision::fp32));
  EXPECT_THAT(quantity.models, ElementsAre("mlp", "lenet5"));
  EXPECT_EQ(quantity.claimed.low, 4);
  EXPECT_FALSE(quantity.claimed.high);
}

TEST(OwnClaim, TakesMeasureModelAndPrecision) {
  const ClaimQuantity quantity = parsed("per-dollar cuda-bf16 / cpu of mlp:depth=3,width=64<=1.5");
  EXPECT_EQ(quantity.measure, "epochs_per_usd");
  EXPECT_THAT(quantity.of.precisions, ElementsAre(Precision::bf16));
  EXPECT_THAT(quantity.models, ElementsAre("mlp:depth=3,width=64"));
  EXPECT_EQ(quantity.claimed.high, 1.5);
  EXPECT_TRUE(quantity.claimed.less_is_more) << "more is a refutation, not an excess";
}

TEST(OwnClaim, OfOneSideIsAValueInItsUnit) {
  const ClaimQuantity quantity = parsed("memory bf16 = 100");
  EXPECT_EQ(quantity.kind, "value");
  EXPECT_EQ(quantity.unit, "MiB");
  EXPECT_EQ(quantity.scale, 1 << 20);
  EXPECT_THAT(quantity.of.backends, ElementsAre(BackendKind::cuda, BackendKind::cpu));
  EXPECT_EQ(quantity.claimed.low, 80);
  EXPECT_EQ(quantity.claimed.high, 125);
}

TEST(OwnClaim, WithoutAModelToJudgeByIsNotTestable) {
  EXPECT_EQ(parse_own_claim("cuda/cpu >= 4", {}).quantities.at(0).kind, "missing");
}

TEST(OwnClaim, IsRefusedWithAnExample) {
  for (const char* text : {"", "cuda/cpu", "cuda/cpu >=", "cuda/cpu >= x", "cuda/cpu >= 4 5", "cuda/cpu >= nan", "gpu/cpu > 1",
                           "cuda-bf17/cpu > 1", "cuda/cpu/cpu > 1", "price cuda/cpu > 1", "speed of mlp > 1", "> 1", "of > 1",
                           "cuda/ > 1", "cuda cpu cpu > 1", "cuda/cpu == 1", "-/- > 1"}) {
    try {
      parsed(text);
      ADD_FAILURE() << text;
    } catch (const CallError& error) {
      EXPECT_THAT(error.what(), HasSubstr("such as 'cuda/cpu >= 4'")) << text;
    }
  }
}

}  // namespace
}  // namespace epochbench
