// The cases of binaries that take turns: those of all their suites.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/case/suite.h"
#include "src/session/interleaved_pairs.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

std::vector<std::string> names(const std::vector<PlannedCase>& cases) {
  std::vector<std::string> all;
  for (const PlannedCase& each : cases) all.push_back(each.spec.name);
  return all;
}

constexpr const char* kSmaller = R"({"cases": [{"model": "mlp", "data": "synthetic", "epochs": 2}]})";
constexpr const char* kLarger = R"({"cases": [{"model": "mlp", "data": "synthetic"}, {"model": "bert-tiny"}]})";

TEST(UnitedSuites, HaveTheCasesOfAllOnce) {
  const std::vector<std::string> own = names(plan_pairs("gate"));
  std::vector<std::string> expected = own;
  expected.emplace_back("bert-tiny/cpu/fp32/b16");
  EXPECT_EQ(names(plan_pairs("gate", {kSmaller, *own_suite_text("gate")})), own) << "whatever ends a case";
  EXPECT_EQ(names(plan_pairs("gate", {kLarger, kSmaller})), expected) << "a case that one binary has lost is still measured";
}

TEST(UnitedSuites, ASuiteThatIsNotUnderstoodIsLeftOutAudibly) {
  CaptureStderr();
  const std::vector<PlannedCase> cases = plan_pairs("gate", {R"({"cases": [{"model": "mlp", "from-the-future": 1}]})"});
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("the other binary's cases are left out: suite gate: cases[0]"));
  EXPECT_EQ(names(cases), names(plan_pairs("gate")));
}

TEST(OwnSuite, IsFoundByNameAlone) {
  EXPECT_THAT(own_suite_text("gate").value_or(""), HasSubstr("\"cases\""));
  for (const char* name : {"", "no such suite", "../claims"}) EXPECT_FALSE(own_suite_text(name)) << name;
}

}  // namespace
}  // namespace epochbench
