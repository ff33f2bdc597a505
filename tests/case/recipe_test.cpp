// Recipes: what they may hold, and how a case's own options go before them.
#include "src/case/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/errors.h"
#include "src/case/suite.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

constexpr const char* kRecipe = R"({"description": "d", "source": "s",
    "options": {"model": "mlp", "epochs": 6, "lr_schedule": "cosine", "ema": 0.99}})";

std::string failure(const std::string& text) {
  try {
    parse_recipe(text, "r");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

CaseSpec with(const CaseBlock& own) { return expand(over_recipe(parse_recipe(kRecipe, "r"), own)).at(0); }

TEST(Recipe, IsWhatACaseDoesNotSayItself) {
  const CaseSpec spec = with({{"ema", {{"0.5"}, "--ema"}}, {"batch", {{"8"}, "--batch"}}});
  EXPECT_EQ(spec.model.name, "mlp");
  EXPECT_EQ(spec.ema, 0.5);
  EXPECT_EQ(spec.batch, 8);
  EXPECT_EQ(spec.lr_schedule, Schedule::cosine);
}

TEST(Recipe, KeepsItsEpochsBesideATarget) {
  const StopSpec until = with({{"until", {{"accuracy=0.9"}, "--until"}}}).stop;
  EXPECT_EQ(until.epochs, 6);
  ASSERT_TRUE(until.until);
  EXPECT_EQ(with({{"until", {{"accuracy=0.9"}, "--until"}}, {"epochs", {{"9"}, "--epochs"}}}).stop.epochs, 9);
  EXPECT_FALSE(with({{"steps", {{"10"}, "--steps"}}}).stop.epochs);
}

TEST(Recipe, IsNamedByACaseOfASuite) {
  const Suite suite = parse_suite(
      R"({"cases": [{"recipe": "lenet5-fashion-mnist", "batch": 8}, {"recipe": "lenet5-fashion-mnist", "until": "loss=1"}]})",
      "s");
  const CaseSpec first = expand(suite.cases[0]).at(0), second = expand(suite.cases[1]).at(0);
  EXPECT_EQ(first.model.name, "lenet5");
  EXPECT_EQ(first.batch, 8);
  EXPECT_TRUE(second.stop.until && second.stop.epochs);
}

TEST(Recipe, IsRefusedInOneLine) {
  EXPECT_THAT(failure(R"({"source": "s", "options": {}})"), HasSubstr("description"));
  EXPECT_THAT(failure(R"({"description": "d", "source": "s"})"), HasSubstr("recipe r: no options"));
  EXPECT_THAT(failure(R"({"description": "d", "source": "s", "options": {"betas": 1}})"), HasSubstr("unknown key 'betas'"));
  EXPECT_THAT(failure(R"({"description": "d", "source": "s", "options": {"batch": [8, 16]}})"), HasSubstr("one value"));
  EXPECT_THAT(failure(R"({"description": "d", "source": "s", "options": {"lr_schedule": "cosine"}})"), HasSubstr("epochs"));
  try {
    load_recipe("lenet5-fashion");
    ADD_FAILURE();
  } catch (const CallError& error) {
    EXPECT_THAT(error.what(), HasSubstr("known: lenet5-fashion-mnist"));
  }
  for (const Recipe& recipe : embedded_recipes()) EXPECT_FALSE(recipe.source.empty()) << recipe.name;
}

}  // namespace
}  // namespace epochbench
