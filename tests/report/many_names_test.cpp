// Results of thousands of names: what answers take grows with their number, not with its square.
#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "src/analysis/claims/claims.h"
#include "src/analysis/speedup/speedup.h"
#include "src/report/answers/answers_page.h"
#include "src/report/html/html_page.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

struct Answer {
  const char* name;
  std::function<void(const NamedResult&)> of;
  friend void PrintTo(const Answer& answer, std::ostream* out) { *out << answer.name; }
};

// Each model has a pair of devices, a training that reached its quality, and a run that failed for a reason of its own.
NamedResult many_names(int models) {
  NamedResult named = made_result("many.json", "box", {});
  for (int i = 0; i < models; ++i) {
    const std::string model = "mlp:width=" + std::to_string(i + 1);
    Run cpu = made_run({"cpu", "fp32", 100, 16, "", model, 1}, 0), gpu = made_run({"cuda", "fp32", 900, 16, "", model, 1}, 0);
    Run trained = made_run({"cpu", "bf16", 100, 16, "", model, 1}, 0),
        failed = made_run({"cpu", "fp32", 1, 8, "", model, 1}, 0);
    trained.timing->stopped_by = StopReason::until;
    trained.quality->eval_metric = EvalMetric::accuracy;
    trained.quality->eval_value = 0.97;
    trained.quality->eval_history = {0.9, 0.97};
    failed.status = RunStatus::failed;
    failed.message = "out of memory in " + model;
    for (Run* run : {&cpu, &gpu, &trained, &failed}) named.result.runs.push_back(std::move(*run));
  }
  return named;
}

// Processor time, so that other processes count by what they take of the caches only.
double seconds_of(const Answer& answer, const NamedResult& named) {
  const std::clock_t begin = std::clock();
  answer.of(named);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

class ManyNames : public testing::TestWithParam<Answer> {};

// A square would make it 16, and caches, which hold the few, up to 5; reading the file, which is linear, is not part of it. The
// least times of pairs in turns; a pair beside which the machine was slow is followed by others.
TEST_P(ManyNames, FourTimesAsManyTakeLessThanSevenTimesAsLong) {
  const Answer& answer = GetParam();
  const NamedResult few = many_names(250), many = many_names(1000);
  double min_few = std::numeric_limits<double>::infinity(), min_many = min_few;
  for (int pair = 0; pair < 2 || (pair < 10 && min_many / min_few >= 7); ++pair) {
    min_few = std::min(min_few, seconds_of(answer, few));
    min_many = std::min(min_many, seconds_of(answer, many));
  }
  EXPECT_LT(min_many / min_few, 7);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, ManyNames,
    testing::Values(Answer{"answers", [](const NamedResult& named) { answer_sections(named); }},
                    Answer{"claims", [](const NamedResult& named) { judge(embedded_claims().claims, {named}); }},
                    Answer{"report", [](const NamedResult& named) { page_data({named}, {}, embedded_claims()); }},
                    Answer{"speedup", [](const NamedResult& named) { speedup_of({named}, SpeedupOf::same_batch); }}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace epochbench
