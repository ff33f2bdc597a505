// The mark behind runs that other processes disturbed, and the line that explains it: in every table that people read.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/speedup/speedup.h"
#include "src/report/answers/answers_page.h"
#include "src/report/compare/compare_report.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/load.h"
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
  EXPECT_EQ(load_note(), "†: other processes took 0.15 CPU cores or more meanwhile, so its times may be too long");
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
    if (run.device.backend == "cpu") run.interference->foreign_cpu_cores = 0.5;
  EXPECT_THAT(speedup_text(speedup_of({both}, SpeedupOf::same_batch)),
              AllOf(StartsWith(load_note() + "\n"), HasSubstr("cpu/fp32/b16 †  ")));
}

}  // namespace
}  // namespace epochbench
