// The mark behind runs that other processes disturbed, and the line that explains it: in every table that people read.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"
#include "src/base/statistics.h"
#include "src/report/answers/answers_page.h"
#include "src/report/compare/compare_report.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/load.h"
#include "src/result/result_json.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Two cases; the second was disturbed in its third repetition.
NamedResult partly_loaded(double foreign_cores) {
  MadeRun quiet, loaded;
  loaded.batch = 32;
  NamedResult named = made_result("r.json", "box", {quiet, loaded});
  for (Run& run : named.result.runs) {
    run.workload.dataset = "synthetic";
    if (run.workload.batch == 32 && run.repetition == 2) run.interference->foreign_cpu_cores = foreign_cores;
  }
  return named;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : split(text, '\n'))
    if (line.find(part) != std::string::npos) return line;
  return "";
}

TEST(LoadMark, IsFromTheThresholdOn) {
  EXPECT_FALSE(is_loaded(std::optional<double>()));
  EXPECT_FALSE(is_loaded(std::optional(0.149)));
  EXPECT_TRUE(is_loaded(std::optional(kQuietForeignCores)));
  EXPECT_EQ(load_note(), "†: other processes took 0.15 CPU cores or more, or a repetition took 15 % longer than the median");
}

TEST(LoadMark, IsOnACaseWithARepetitionFarBelowTheMedian) {
  const auto table = [](int repetitions, double slower) {
    NamedResult named = made_result("r.json", "box", {MadeRun{.repetitions = repetitions}});
    named.result.runs.back().throughput->samples_per_second /= slower;
    return summary(named.result);
  };
  EXPECT_THAT(table(5, 1.16), AllOf(StartsWith(load_note() + "\n"), HasSubstr("b16 †")));
  EXPECT_THAT(table(5, 1.14), Not(HasSubstr("†")));
  EXPECT_THAT(table(5, 1 / 1.5), Not(HasSubstr("†"))) << "a fast one is not disturbed";
  EXPECT_THAT(table(2, 1.5), Not(HasSubstr("†"))) << "either of two may be the wrong one";
}

// Other processes explain few of the slow repetitions of results/.
TEST(LoadMark, IsOnEveryStoredCaseWithASlowRepetition) {
  std::size_t slow = 0, loaded = 0, marked = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(EPOCHBENCH_SOURCE_DIR) + "/results")) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(".json") || name.ends_with("schema.json")) continue;
    const Result result = read_result(file.path().string());
    for (const RunGroup& group : measured_cases(result.runs)) {
      if (group.runs.size() < 3) continue;
      const double usual = median(values_of(group.runs, kThroughput));
      for (const auto* run : group.runs) {
        if (run->throughput->samples_per_second * 1.15 >= usual) continue;
        ++slow;
        loaded += is_loaded(*run);
        marked += any_disturbed(group.runs);
      }
    }
  }
  EXPECT_GT(slow, 30u);
  EXPECT_LT(2 * loaded, slow) << "why others' load alone does not suffice";
  EXPECT_EQ(marked, slow);
}

TEST(LoadMark, IsInTheTableOfRuns) {
  const std::string cases = summary(partly_loaded(0.2).result);
  EXPECT_THAT(line_with(cases, "/b32"), HasSubstr("b32 †"));
  EXPECT_THAT(line_with(cases, "/b16"), Not(HasSubstr("†")));
  const std::string text = summary(partly_loaded(0.2).result, TableRows::runs);
  EXPECT_THAT(text, StartsWith(load_note() + "\n"));
  EXPECT_THAT(line_with(text, "b32 #2"), HasSubstr("b32 #2 †"));
  EXPECT_THAT(line_with(text, "b32 #1"), Not(HasSubstr("†")));
  EXPECT_THAT(summary(partly_loaded(0.1).result), Not(HasSubstr("†")));
}

TEST(LoadMark, IsInMarkdown) {
  const std::string text = markdown_text(partly_loaded(0.2).result);
  EXPECT_THAT(text, StartsWith(load_note() + "\n\n|"));
  EXPECT_THAT(line_with(text, "/b32`"), HasSubstr("` † |"));
  EXPECT_THAT(line_with(text, "/b16`"), Not(HasSubstr("†")));
  EXPECT_THAT(markdown_text(partly_loaded(0.1).result), Not(HasSubstr("†")));
}

TEST(LoadMark, IsOnThePageOfAnswers) {
  const std::string text = answers_page(partly_loaded(0.2));
  EXPECT_THAT(text, AllOf(HasSubstr("\n" + load_note() + "\n"), HasSubstr("/b32 †: ")));
  EXPECT_THAT(line_with(text, "/b16"), Not(HasSubstr("†")));
  EXPECT_THAT(answers_page(partly_loaded(0.1)), Not(HasSubstr("†")));
}

TEST(LoadMark, IsInPairsOfRuns) {
  NamedResult both = made_result("r.json", "box", {MadeRun{}, MadeRun{.backend = "cuda", .rate = 1000}});
  EXPECT_THAT(speedup_text(speedup_of({both}, SpeedupOf::same_batch)), Not(HasSubstr("†")));
  for (auto& run : both.result.runs)
    if (run.device.backend == BackendKind::cpu) run.interference->foreign_cpu_cores = 0.5;
  EXPECT_THAT(speedup_text(speedup_of({both}, SpeedupOf::same_batch)),
              AllOf(StartsWith(load_note() + "\n"), HasSubstr("cpu/fp32/b16 †  ")));
}

}  // namespace
}  // namespace epochbench
