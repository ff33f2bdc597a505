// Every output shows the same numbers of a case, to the last digit: of every published result.
#include <filesystem>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/cost/local_cost.h"
#include "src/analysis/speedup/speedup.h"
#include "src/base/text.h"
#include "src/report/answers/answers_page.h"
#include "src/report/export/export_formats.h"
#include "src/report/html/html_page.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

std::vector<NamedResult> published_results() {
  std::vector<NamedResult> all;
  for (const auto& entry : std::filesystem::directory_iterator(PUBLISHED_RESULTS))
    if (const std::string path = entry.path().string(); path.ends_with(".json") && !path.ends_with("schema.json"))
      all.push_back({path, read_result(path)});
  return all;
}

struct Shown {
  std::string rate, epoch, cost;  // "" where it is not known
};

// By the name of the case; a name that two cases have is left out.
std::map<std::string, Shown> shown_numbers(const Result& result) {
  std::map<std::string, Shown> all;
  std::map<std::string, int> count;
  for (const RunGroup& group : measured_cases(result.runs)) {
    all[group.name] = {cell(group.runs, kThroughput), cell(group.runs, kEpochTime), cell(group.runs, kEpochCost)};
    ++count[group.name];
  }
  std::erase_if(all, [&](const auto& entry) { return count[entry.first] > 1; });
  return all;
}

// The line of a table that begins with the name.
std::string row_of(const std::string& text, const std::string& begin) {
  for (const std::string& line : split(text, '\n'))
    if (line.starts_with(begin + " ")) return line;
  ADD_FAILURE() << "no row " << begin;
  return "";
}

TEST(OneEstimator, GivesTheSameNumbersInEveryTable) {
  int cases = 0;
  for (const auto& [path, result] : published_results()) {
    const std::string table = summary(result), markdown = markdown_text(result);
    for (const auto& [name, shown] : shown_numbers(result)) {
      ++cases;
      for (const std::string& number : {shown.rate, shown.epoch, shown.cost}) {
        EXPECT_THAT(row_of(table, name), HasSubstr("  " + number)) << path;
        EXPECT_THAT(row_of(markdown, "| `" + name + "`"), HasSubstr(number)) << path;
      }
    }
  }
  EXPECT_GT(cases, 50);
}

TEST(OneEstimator, GivesTheSameNumbersOnThePage) {
  for (const NamedResult& named : published_results()) {
    const auto numbers = shown_numbers(named.result);
    const Json data = page_data({named}, {}, embedded_claims());
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < data["columns"].size(); ++i) place[data["columns"][i]] = i;
    for (const Json& row : data["rows"]) {
      const auto shown = numbers.find(row[place["name"]]);
      if (shown == numbers.end()) continue;
      EXPECT_EQ(row[place["rate"]]["text"], shown->second.rate + "/s") << shown->first;
      const Json& cost = row[place["cost"]];
      EXPECT_EQ(row[place["epoch"]]["text"], shown->second.epoch + (cost.is_null() ? "" : ", " + shown->second.cost))
          << shown->first;
      if (!cost.is_null()) {
        EXPECT_EQ(cost["text"], shown->second.cost) << shown->first;
      }
    }
  }
}

TEST(OneEstimator, GivesTheSameNumbersInAnswersCostsAndRatios) {
  int answers = 0, sides = 0;
  for (const NamedResult& named : published_results()) {
    const auto numbers = shown_numbers(named.result);
    for (const AnswerSection& section : answer_sections(named))
      for (const std::string& answer : section.answers) {
        std::string name = answer.substr(0, answer.find(": "));
        if (name.ends_with(kLoadMark)) name.resize(name.size() - std::string(kLoadMark).size());
        const auto shown = numbers.find(name);
        if (shown == numbers.end() || answer.find("an epoch in") == std::string::npos) continue;
        ++answers;
        EXPECT_THAT(answer, HasSubstr(": " + shown->second.rate + " samples/s"));
        EXPECT_THAT(answer, HasSubstr("an epoch in " + shown->second.epoch + " "));
      }
    for (const RunCost& cost : rent_or_buy(named.result.runs, {}))
      if (const auto shown = numbers.find(cost.name); shown != numbers.end()) {
        EXPECT_EQ(cell(cost.epoch_seconds.value, format_seconds), shown->second.epoch) << cost.name;
      }
    for (const SpeedupPair& pair : speedup_of({named}, SpeedupOf::same_batch).pairs)
      for (const SpeedupSide* side : {&pair.baseline, &pair.contender})
        if (const auto shown = numbers.find(side->name); shown != numbers.end()) {
          ++sides;
          EXPECT_EQ(format_rate(side->rate), shown->second.rate) << side->name;
          EXPECT_NEAR(pair.ratio.value, pair.contender.rate / pair.baseline.rate,
                      (pair.by_rounds ? 0.1 : 1e-12) * pair.ratio.value)
              << "a ratio is the quotient of two numbers that are shown";
        }
  }
  EXPECT_GE(answers, 6);
  EXPECT_GE(sides, 6);
}

}  // namespace
}  // namespace epochbench
