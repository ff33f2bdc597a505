// Suite files: what they may hold, and what is said of those that are wrong.
#include "src/case/suite.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "epochbench/embedded.h"
#include "src/base/errors.h"
#include "src/session/planned_case.h"
#include "support/made_cases.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

std::string failure(const std::string& text) {
  try {
    for (const CaseBlock& block : parse_suite(text, "s").cases) expand(block);
  } catch (const std::runtime_error& error) {  // CallError or FormatError, both exit code 2
    return error.what();
  }
  return "";
}

TEST(Suite, ValuesMultiplyOutAndDefaultsHold) {
  const Suite suite = parse_suite(R"({"description": "d", "defaults": {"steps": 5, "batch": 32},
      "cases": [{"model": "mlp:width=64,depth=1,lenet5", "seed": [1, 2]}, {"model": ["mlp"], "batch": 8, "epochs": 1}]})",
                                  "s");
  EXPECT_EQ(suite.description, "d");
  ASSERT_EQ(suite.cases.size(), 2u);
  const auto first = expand(suite.cases[0]), second = expand(suite.cases[1]);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(name_on(first[1], 2), "mlp:depth=1,width=64/cpu/fp32/b32/seed=2");
  EXPECT_EQ(name_on(first[2], 2), "lenet5/cpu/fp32/b32/seed=1");
  EXPECT_EQ(first[0].stop.steps, 5);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].batch, 8);
  EXPECT_EQ(second[0].stop.epochs, 1);
  EXPECT_FALSE(second[0].stop.steps);
}

TEST(Suite, NamesItselfAndItsRepetitions) {
  const Suite suite =
      parse_suite(R"({"name": "mine", "repetitions": 5, "cases": [{"model": "mlp", "min_time_seconds": 2}]})", "file.json");
  EXPECT_EQ(suite.name, "mine");
  EXPECT_EQ(suite.repetitions, 5);
  EXPECT_EQ(expand(suite.cases[0])[0].stop.min_time_seconds, 2);
  EXPECT_EQ(parse_suite(R"({"cases": [{"model": "mlp"}]})", "s").repetitions, 1);
  EXPECT_THAT(failure(R"({"name": 3, "cases": [{"model": "mlp"}]})"), HasSubstr("name must be a string"));
  EXPECT_THAT(failure(R"({"repetitions": {}, "cases": [{"model": "mlp"}]})"), HasSubstr("suite s: repetitions: must be"));
}

TEST(Suite, MayHaveABudgetAndAPageOfAnswers) {
  const Suite suite = parse_suite(R"({"budget_seconds": 3600, "answers": true, "cases": [{"model": "mlp"}]})", "s");
  EXPECT_EQ(suite.budget_seconds, 3600);
  EXPECT_TRUE(suite.answers);
  const Suite plain = parse_suite(R"({"cases": [{"model": "mlp"}]})", "s");
  EXPECT_EQ(plain.budget_seconds, std::nullopt);
  EXPECT_FALSE(plain.answers);
  EXPECT_THAT(failure(R"({"answers": 1, "cases": [{"model": "mlp"}]})"), HasSubstr("answers must be true or false"));
  EXPECT_THAT(failure(R"({"budget_seconds": [1], "cases": [{"model": "mlp"}]})"), HasSubstr("budget_seconds: must be"));
}

TEST(Suite, ACaseMayHaveRepetitionsOfItsOwn) {
  const Suite suite =
      parse_suite(R"({"repetitions": 2, "cases": [{"model": "mlp"}, {"model": "mlp", "seed": 1, "repetitions": 3},
      {"model": "mlp", "seed": 1, "repetitions": 1}]})",
                  "s");
  std::vector<CaseSpec> cases;
  for (const CaseBlock& block : suite.cases)
    for (const CaseSpec& spec : expand(block)) cases.push_back(spec);
  std::vector<std::string> order;
  for (const PlannedCase& planned : plan_cases(cases, 2))
    order.push_back(planned.spec.name.substr(planned.spec.name.rfind('/') + 1) + " #" +
                    std::to_string(planned.spec.repetition));
  EXPECT_THAT(order, testing::ElementsAre("b64 #0", "seed=1 #0", "b64 #1", "seed=1 #1", "seed=1 #2"));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "repetitions": 0}]})"), HasSubstr("cases[0].repetitions: '0' must be"));
}

TEST(Suite, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "bach": 3}]})"),
              HasSubstr("suite s: cases[0]: unknown key 'bach'; did you mean batch?"));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "epsilon": 3}]})"),
              testing::AllOf(HasSubstr("unknown key 'epsilon'; known: "), HasSubstr("batch")));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "batch": 0}]})"), HasSubstr("suite s: cases[0].batch: '0' must be"));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "batch": 1e20}]})"), HasSubstr("cases[0].batch"));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "batch": []}]})"), HasSubstr("an empty list"));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "batch": {}}]})"),
              HasSubstr("a string, a number, true or false, or a list"));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp", "batch": true}]})"), HasSubstr("'true' must be a whole number"));
  EXPECT_THAT(failure(R"({"cases": [{"model": "mlp"}, {"batch": 8}]})"), HasSubstr("cases[1]: no model"));
  EXPECT_THAT(failure(R"({"cases": ["mlp"]})"), HasSubstr("cases[0]: must be an object"));
  EXPECT_THAT(failure(R"({"cases": []})"), HasSubstr("at least one case"));
  EXPECT_THAT(failure(R"({"case": []})"),
              HasSubstr("unknown key 'case'; known: name, description, repetitions, budget_seconds, answers, defaults, cases"));
  EXPECT_THAT(failure(R"({"defaults": {"price": 1}, "cases": [{"model": "mlp"}]})"),
              HasSubstr("defaults: unknown key 'price'"));
  EXPECT_THAT(failure("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(failure("{"), HasSubstr("suite s: not valid JSON"));
  EXPECT_THAT(failure(std::string(100, '[')), HasSubstr("nested deeper"));
}

TEST(Suite, NeverBecomesMoreCasesThanMemoryHolds) {
  std::string list = "[1";
  for (int i = 2; i <= 101; ++i) list += "," + std::to_string(i);
  list += "]";
  const std::string case_of_10201 = R"({"cases": [{"model": "mlp", "batch": )" + list + R"(, "threads": )" + list + "}]}";
  EXPECT_THAT(failure(case_of_10201), HasSubstr("suite s: cases[0].threads: the lists multiply out to more than 10000 cases"));
  EXPECT_EQ(failure(R"({"cases": [{"model": "mlp", "batch": )" + list + "}]}"), "");
  const std::vector<CaseSpec> cases = expand(parse_suite(R"({"cases": [{"model": "mlp", "seed": 1}]})", "s").cases[0]);
  std::vector<CaseSpec> many;
  for (std::uint64_t seed = 0; seed < 11; ++seed) {
    many.push_back(cases[0]);
    many.back().seed = seed;
  }
  try {
    plan_cases(many, 10'000);
    FAIL();
  } catch (const CallError& error) {
    EXPECT_THAT(error.what(), HasSubstr("110000 runs are asked for, more than 100000; ask for fewer --repetitions"));
  }
}

TEST(Suite, UnknownNamesListTheKnownOnes) {
  try {
    load_suite("no-such-suite");
    FAIL();
  } catch (const CallError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("'no-such-suite'"), HasSubstr("known suites: "), HasSubstr("quick")));
  }
}

TEST(Suite, EveryEmbeddedSuiteCanBePlanned) {
  const auto suites = embedded_suites();
  ASSERT_FALSE(suites.empty());
  for (const Suite& suite : suites) {
    std::vector<CaseSpec> cases;
    for (const CaseBlock& block : suite.cases)
      for (const CaseSpec& spec : expand(block)) cases.push_back(spec);
    EXPECT_FALSE(plan_cases(cases, 1).empty()) << suite.name;
    EXPECT_FALSE(suite.description.empty()) << suite.name;
    EXPECT_TRUE(embedded_file("bench/suites/" + suite.name + ".json")) << suite.name << " is known by another name";
  }
}

}  // namespace
}  // namespace epochbench
