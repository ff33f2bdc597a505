// Names are labels: every answer to the results that lie in results/ is the same when all runs have other names.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claims.h"
#include "src/analysis/compare/comparison.h"
#include "src/analysis/speedup/speedup.h"
#include "src/analysis/sweep/curves.h"
#include "src/base/text.h"
#include "src/report/answers/answers_page.h"
#include "src/report/compare/compare_report.h"
#include "src/report/html/html_page.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "src/result/result_json.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

std::vector<NamedResult> recorded_results() {
  std::vector<NamedResult> results;
  for (const auto& entry : std::filesystem::directory_iterator(PUBLISHED_RESULTS)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".json" && name.find("schema") == std::string::npos)
      results.push_back({name, read_result(entry.path().string())});
  }
  std::sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return results;
}

// Gives the runs of a result names that say nothing: unique within a repetition and equal across repetitions. They sort the
// other way round, and say nothing of the other results.
class Renaming {
 public:
  Result of(Result result) {
    std::map<std::string, std::string> labels;
    for (Run& run : result.runs) {
      std::string& label = labels[run.name];
      if (label.empty()) {
        label = "<" + std::to_string(next_--) + ">";
        names_[label] = run.name;
      }
      run.name = label;
    }
    for (Run& run : result.runs)
      if (run.quality && run.quality->parity_with) run.quality->parity_with = labels[*run.quality->parity_with];
    return result;
  }

  std::string back(std::string text) const {
    for (const auto& [label, name] : names_) replace_all(text, label, name);
    return text;
  }

 private:
  int next_ = 99'999;
  std::map<std::string, std::string> names_;  // by label
};

// Everything that an answer says of some results, as text.
using Answer = std::function<std::string(const std::vector<NamedResult>&)>;

void expect_same(const std::vector<NamedResult>& results, const Answer& answer) {
  Renaming renaming;
  std::vector<NamedResult> renamed = results;
  for (NamedResult& each : renamed) each.result = renaming.of(std::move(each.result));
  const std::string expected = answer(results);
  EXPECT_EQ(renaming.back(answer(renamed)), expected);
  EXPECT_GT(expected.size(), 20u) << "there is an answer";
}

// The answer is the same for all results together and for each by itself.
void expect_same_of_all(const Answer& answer) {
  const std::vector<NamedResult> all = recorded_results();
  ASSERT_GE(all.size(), 4u);
  expect_same(all, answer);
  for (const NamedResult& each : all) {
    SCOPED_TRACE(each.path);
    expect_same({each}, answer);
  }
}

TEST(NamesAreLabels, ForSpeedup) {
  expect_same_of_all([](const auto& results) {
    return print_json(speedup_json(speedup_of(results, SpeedupOf::same_batch))) +
           print_json(speedup_json(speedup_of(results, SpeedupOf::best_batch)));
  });
}

TEST(NamesAreLabels, ForClaims) {
  expect_same_of_all([](const auto& results) {
    const ClaimCatalog& catalog = embedded_claims();
    return print_json(claims_json(catalog, judge(catalog.claims, results)));
  });
}

TEST(NamesAreLabels, ForAnswers) {
  expect_same_of_all([](const auto& results) {
    std::string text;
    for (const NamedResult& each : results) text += print_json(answers_json(each)) + input_text(each.result);
    return text;
  });
}

TEST(NamesAreLabels, ForSweepAnswers) {
  expect_same_of_all([](const auto& results) {
    std::string text;
    for (const NamedResult& each : results)
      for (const Axis axis : kAxes) text += print_json(json_of(answers_of(each.result, axis)));
    return text;
  });
}

// But for the numbers of notes, whose texts name runs: runs of one name in several files share a note.
TEST(NamesAreLabels, ForTheDataOfTheReport) {
  expect_same_of_all([](const auto& results) {
    Json data = page_data(results, {}, embedded_claims());
    if (Json& tables = data.at("tables"); tables.contains("speedup")) {
      tables["speedup"].erase("notes");
      for (Json& row : tables["speedup"].at("rows")) row.erase(row.size() - 1);
    }
    return print_json(data);
  });
}

// Each result against each, the other side renamed by itself: nothing but settings says which runs belong together.
TEST(NamesAreLabels, ForCompare) {
  const std::vector<NamedResult> all = recorded_results();
  for (const NamedResult& baseline : all)
    for (const NamedResult& contender : all) {
      SCOPED_TRACE(baseline.path + " and " + contender.path);
      Renaming renaming;
      const NamedResult renamed{contender.path, renaming.of(contender.result)};
      const std::string expected = print_json(compare_json(compare_results({baseline}, {contender})));
      EXPECT_EQ(renaming.back(print_json(compare_json(compare_results({baseline}, {renamed})))), expected);
    }
}

TEST(NamesAreLabels, RunsOfOneNameAndOtherSettingsDoNotMatch) {
  const NamedResult baseline = made_result("a.json", "box", {{"cpu", "fp32"}});
  NamedResult contender = made_result("b.json", "box", {{"cpu", "fp32", 100, 16, "/order=sequential"}});
  for (epochbench::Run& run : contender.result.runs) run.name = baseline.result.runs[0].name;
  const Comparison comparison = compare_results({baseline}, {contender});
  EXPECT_THAT(comparison.cases, testing::IsEmpty());
  EXPECT_THAT(comparison.missing, testing::SizeIs(1));
  EXPECT_THAT(comparison.added, testing::SizeIs(1));
  const Speedup speedup = speedup_of({baseline, contender}, SpeedupOf::same_batch);
  EXPECT_THAT(speedup.pairs, testing::IsEmpty()) << "of one machine, build and device";
}

TEST(NamesAreLabels, MeasurementSettingsSeparateNoPairUnlessNothingElseDoes) {
  const MadeRun plain{"cpu", "fp32"}, unmetered{"cpu", "fp32", 100, 16, "/meters=off"};
  const NamedResult baseline = made_result("a.json", "box", {plain});
  EXPECT_THAT(compare_results({baseline}, {made_result("b.json", "box", {unmetered})}).cases, testing::SizeIs(1));
  const NamedResult both = made_result("b.json", "box", {plain, unmetered});
  const Comparison comparison = compare_results({both}, {both});
  EXPECT_THAT(comparison.cases, testing::SizeIs(2));
  EXPECT_THAT(comparison.cases[0].processes, testing::ElementsAre(5, 5)) << "no run of the other counts";
}

}  // namespace
}  // namespace epochbench
