// The answer of `compare` as people, programs and GitHub read it: constructed comparisons.
#include "src/report/compare/compare_report.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ComparedCase made_case(const std::string& name, Finding finding, double ratio) {
  ComparedCase compared;
  compared.name = name;
  compared.decision.finding = finding;
  compared.decision.ratio = ratio;
  compared.decision.ratio_ci95 = {ratio - 0.01, ratio + 0.01};
  compared.decision.p_value = 0.002;
  compared.decision.used = 10;
  compared.step_seconds = {0.05, 0.05 * ratio};
  compared.processes = {10, 10};
  compared.foreign_cores = 0.031;
  return compared;
}

Comparison made_comparison() {
  Comparison comparison;
  comparison.sides[0] = {{"0.1.0", "0123456789abcdef", false, "Release", "gcc 12.2.0"}, "main.json", "2026-01-02T03:04:05Z"};
  comparison.sides[1] = {{"0.1.0", "fedcba9876543210", true, "Release", "gcc 12.2.0"}, "new.json", "2026-01-03T03:04:05Z"};
  comparison.cases = {made_case("lenet5/cpu/fp32/b64", Finding::regression, 1.05),
                      made_case("mlp/cpu/fp32/b64", Finding::no_change, 1.001),
                      made_case("resnet20/cpu/fp32/b128", Finding::inconclusive, 1.02)};
  comparison.cases[2].decision.note = "about 9 more repetitions per side would decide";
  comparison.cases[2].decision.more = 9;
  return comparison;
}

TEST(CompareText, HasARowACaseAndSaysWhatToDo) {
  const std::string text = compare_text(made_comparison());
  EXPECT_THAT(text, StartsWith("baseline  main.json  0123456 (2026-01-02, 0.1.0, Release, gcc 12.2.0)\n"
                               "new       new.json  fedcba9-dirty (2026-01-03, 0.1.0, Release, gcc 12.2.0)\n"));
  EXPECT_THAT(text, HasSubstr("lenet5/cpu/fp32/b64      50.0 ms  1.050  1.040 to 1.060  regression      10   0.031\n"));
  EXPECT_THAT(text, HasSubstr("  resnet20/cpu/fp32/b128\n    about 9 more repetitions per side would decide\n"));
  EXPECT_THAT(text, HasSubstr("threshold 3.00 %"));
  EXPECT_THAT(text, HasSubstr("verdict: regression: 1 case is slower, 1 case is inconclusive, 1 case is as fast as before\n"));
  EXPECT_THAT(text, EndsWith("  epochbench compare --interleave BASELINE_BINARY NEW_BINARY --suite SUITE\n"));
}

TEST(CompareText, KeepsTo100ColumnsAndTellsLongNames) {
  Comparison comparison = made_comparison();
  const std::string name = "bert-large:sequence=512/cpu/bf16/b4/dropout=0/learning-rate=0.0001/order=sequential/threads=16";
  comparison.cases[0].name = name;
  comparison.cases[0].decision.ratio = 123.456;
  comparison.cases[0].decision.ratio_ci95 = {0.0123456, 1234.56};
  comparison.cases[0].processes = {123, 124};
  std::istringstream lines(compare_text(comparison));
  std::string line, table_row;
  while (std::getline(lines, line)) {
    if (line.find("..") != std::string::npos) table_row = line;
    EXPECT_TRUE(display_width(line) <= 100 || line.find(name) != std::string::npos) << line;
  }
  EXPECT_THAT(table_row, StartsWith("bert-large:seque..ntial/threads=16"));
  EXPECT_THAT(compare_text(comparison), HasSubstr("\n  " + name + "\n"));
}

TEST(CompareText, SaysThatNothingElseNeedsDoing) {
  Comparison comparison = made_comparison();
  comparison.cases.resize(2);
  const std::string text = compare_text(comparison);
  EXPECT_THAT(text, Not(HasSubstr("--interleave")));
  EXPECT_EQ(next_step(comparison).text, "");
  EXPECT_EQ(next_step(comparison).command, "");
}

TEST(CompareText, TellsWhatWasNotCompared) {
  Comparison comparison;
  comparison.missing = {{"a", "no run by this name on the new side"}};
  comparison.added = {{"b", ""}};
  comparison.changed = {{"c", "batch 16 and 8"}};
  comparison.not_measured = {{"d", "skipped: no GPU"}};
  comparison.baseline_not_ok = {{"e", "failed"}};
  std::string text = compare_text(comparison);
  for (const char* part : {"missing: a: no run by this name", "added: b\n", "changed, so not compared: c: batch 16 and 8",
                           "not measured: d: skipped: no GPU", "not ok in the baseline: e: failed",
                           "A missing case counts as a regression; --allow CASE accepts it.\n",
                           "A case that is not compared makes the exit code 2; --allow CASE accepts it.\n",
                           "verdict: regression: 3 of 5 cases were not compared, 1 case is missing"})
    EXPECT_THAT(text, HasSubstr(part));
  comparison.allowed = {"a"};
  text = compare_text(comparison);
  EXPECT_THAT(text, AllOf(HasSubstr("missing (allowed): a"), Not(HasSubstr("A missing case"))));
  EXPECT_THAT(text, HasSubstr("verdict: not compared: 3 of 5 cases were not compared\n"));
  comparison.allowed = {"a", "c", "d", "e"};
  EXPECT_THAT(compare_text(comparison), Not(HasSubstr("--allow")));
}

TEST(CompareText, BeginsTheVerdictWithWhatWasNotCompared) {
  Comparison comparison = made_comparison();
  comparison.cases[2].decision.finding = Finding::not_compared;
  comparison.cases[0].decision.finding = Finding::no_change;
  EXPECT_THAT(compare_text(comparison),
              HasSubstr("verdict: not compared: 1 of 3 cases was not compared, 2 cases are as fast as before\n"));
  EXPECT_EQ(compare_json(comparison)["verdict"], "not_compared");
  EXPECT_THAT(github_annotations(comparison),
              HasSubstr("::error title=epochbench%3A resnet20/cpu/fp32/b128::not compared: about 9 more"));
}

TEST(NextStep, NamesSuiteBinariesAndPairs) {
  Comparison comparison = made_comparison();
  comparison.suite = "quick";
  EXPECT_THAT(next_step(comparison).command, EndsWith("BASELINE_BINARY NEW_BINARY --suite quick"));
  comparison.suite = "x; rm -rf '~'";
  EXPECT_THAT(next_step(comparison).command, EndsWith(R"(--suite 'x; rm -rf '\''~'\''')"));
  comparison.suite = "gate";
  comparison.interleaved = true;
  comparison.sides[0].label = "old/epochbench";
  comparison.sides[1].label = "my build/epochbench";
  comparison.cases[2].decision.more = 19;
  EXPECT_EQ(next_step(comparison).command,
            "epochbench compare --interleave old/epochbench 'my build/epochbench' --suite gate --max-pairs 29");
}

TEST(NextStep, OfTwoFilesFollowsFromWhatIsMissing) {
  Comparison comparison = made_comparison();
  comparison.suite = "quick";
  comparison.sides[0].label = "old.json";
  comparison.sides[1].label = "my new.json";
  Decision& open = comparison.cases[2].decision;
  open.finding = Finding::not_compared;
  open.remedy = Remedy::measure_baseline;
  EXPECT_EQ(next_step(comparison).command, "epochbench run --suite quick --repetitions 15 --overwrite --out old.json");
  open.remedy = Remedy::measure_new;
  EXPECT_EQ(next_step(comparison).command, "epochbench run --suite quick --repetitions 15 --overwrite --out 'my new.json'");
  comparison.suite.clear();
  EXPECT_EQ(next_step(comparison).command, "") << "no call is known that measures these cases";
  EXPECT_THAT(next_step(comparison).text, HasSubstr("with --repetitions 15"));
  comparison.suite = "quick";
  open.remedy = Remedy::interleave;
  EXPECT_THAT(next_step(comparison).command, StartsWith("epochbench compare --interleave "));
  open.remedy = Remedy::speedup;
  EXPECT_EQ(next_step(comparison).command, "epochbench speedup old.json 'my new.json'");
  comparison.baseline_not_ok = {{"a", "failed"}};
  comparison.sides[0].label = "folder";
  EXPECT_EQ(next_step(comparison).command, "epochbench run --suite quick --repetitions 15") << "a file of its own choice";
}

TEST(NextStep, KeepsWhatTheCallWasGiven) {
  Comparison comparison = made_comparison();
  comparison.threshold = 0.07;
  EXPECT_THAT(next_step(comparison).command, EndsWith(" --suite SUITE --threshold 7"));
  comparison.interleaved = true;
  comparison.threshold = 0.005;
  comparison.sides[1].build_type = "Debug";
  EXPECT_THAT(next_step(comparison).command, EndsWith(" --suite SUITE --threshold 0.5 --force --max-pairs 20"));
}

TEST(NextStep, TakesNoFewerPairsThanACallWithoutTheOption) {
  Comparison comparison = made_comparison();
  comparison.interleaved = true;
  comparison.cases[2].decision.used = 3;  // interrupted: 7 more until the first look
  comparison.cases[2].decision.more = 7;
  EXPECT_THAT(next_step(comparison).command, EndsWith(" --max-pairs 20"));
}

TEST(NextStep, SuggestsNoCallThatWouldBeRefusedOrDecideNothing) {
  Comparison comparison = made_comparison();
  comparison.interleaved = true;
  comparison.cases[2].decision.more = 990;
  EXPECT_THAT(next_step(comparison).command, EndsWith(" --max-pairs 1000"));
  comparison.cases[2].decision.more = 991;
  EXPECT_EQ(next_step(comparison).command, "");
  EXPECT_THAT(compare_text(comparison),
              EndsWith("\nnext: a quieter machine: here about 1001 pairs would decide, and a call takes at most 1000\n"));
  EXPECT_THAT(github_summary(comparison), HasSubstr("What would decide: a quieter machine"));
  EXPECT_TRUE(compare_json(comparison)["next"].is_null());
  comparison.cases[2].decision.more.reset();
  EXPECT_EQ(next_step(comparison).text, "") << "no number of pairs decides it";
  comparison.interleaved = false;
  EXPECT_NE(next_step(comparison).command, "") << "files that say too little";
}

TEST(IssueText, IsACodeAndASentence) {
  EXPECT_EQ(to_string(Issue{IssueCode::peak_memory, 100.0 * (1 << 20), 120.0 * (1 << 20), 1.1}),
            "peak_memory: 120 MiB, 20.0 % more than 100 MiB");
  EXPECT_EQ(to_string(Issue{IssueCode::not_ok, 0, 0, 0, "failed: line\nbreak"}),
            "not_ok: it was ok and is not any more: failed: line break");
  EXPECT_EQ(to_string(Issue{IssueCode::compile_time, 1, 2.5, 2}), "compile_time: 2.50 s, 2.5 times the 1.00 s of the baseline");
  EXPECT_EQ(to_string(Issue{IssueCode::final_loss, 2, 2.5, 1e-4, {}, 100}),
            "final_loss: the loss of step 100 is 2.50000 and was 2.00000; rounding explains a relative difference of 0.00010");
}

TEST(CompareJson, HasTheContractsKeys) {
  Comparison comparison = made_comparison();
  comparison.missing = {{"a", "gone"}};
  comparison.cases[1].issues = {{IssueCode::peak_memory, 100, 120, 1.1}, {IssueCode::not_ok, 0, 0, 0, "failed"}};
  comparison.cases[1].decision.ratio_ci95.reset();
  comparison.cases[1].foreign_cores.reset();
  const Json json = compare_json(comparison);
  EXPECT_EQ(json["verdict"], "regression");
  EXPECT_EQ(json["method"], "files");
  EXPECT_EQ(json["missing"], Json::array({"a"}));
  EXPECT_EQ(json["reasons"]["a"], "gone");
  for (const char* key : {"added", "changed", "not_measured", "baseline_not_ok"}) EXPECT_EQ(json[key], Json::array());
  ASSERT_EQ(json["cases"].size(), 3u);
  const Json& first = json["cases"][0];
  EXPECT_EQ(first["name"], "lenet5/cpu/fp32/b64");
  EXPECT_EQ(first["verdict"], "regression");
  EXPECT_DOUBLE_EQ(first["ratio"].get<double>(), 1.05);
  EXPECT_EQ(first["ratio_ci95"].size(), 2u);
  EXPECT_DOUBLE_EQ(first["p_value"].get<double>(), 0.002);
  EXPECT_EQ(first["note"], "");
  EXPECT_EQ(first["new_repetitions"], 10);
  EXPECT_TRUE(first["more"].is_null());
  const Json& second = json["cases"][1];
  EXPECT_TRUE(second["ratio_ci95"].is_null());
  EXPECT_TRUE(second["foreign_cpu_cores"].is_null());
  EXPECT_EQ(second["concerns"][0]["code"], "peak_memory");
  EXPECT_EQ(second["concerns"][0]["after"], 120.0);
  EXPECT_EQ(second["concerns"][0]["fails"], true);
  EXPECT_TRUE(second["concerns"][1]["before"].is_null()) << "not known is null, not 0";
  EXPECT_EQ(json["cases"][2]["more"], 9);
  EXPECT_THAT(json["next"].get<std::string>(), HasSubstr("--interleave"));
  comparison.interleaved = true;
  EXPECT_EQ(compare_json(comparison)["cases"][0]["pairs"], 10);
}

TEST(GithubAnnotations, AreOfTheKindThatTheFindingIs) {
  Comparison comparison = made_comparison();
  comparison.cases[1].decision.finding = Finding::improvement;
  comparison.cases[1].decision.ratio = 0.9;
  comparison.cases[1].issues = {{IssueCode::compile_time, 1, 2.5, 2}};
  comparison.missing = {{"gone", "no run"}};
  comparison.changed = {{"other", "batch 16 and 8"}};
  comparison.added = {{"fresh", ""}};
  const std::string text = github_annotations(comparison);
  EXPECT_THAT(text, HasSubstr("::error title=epochbench%3A lenet5/cpu/fp32/b64::5.00 %25 slower (95 %25: 4.00 %25 slower to "
                              "6.00 %25 slower), 10 repetitions per side\n"));
  EXPECT_THAT(text, HasSubstr("::error title=epochbench%3A gone::missing: no run\n"));
  EXPECT_THAT(text, HasSubstr("::warning title=epochbench%3A mlp/cpu/fp32/b64::compile_time: "));
  EXPECT_THAT(text, HasSubstr("::warning title=epochbench%3A resnet20/cpu/fp32/b128::inconclusive: about 9 more"));
  EXPECT_THAT(text, HasSubstr("::error title=epochbench%3A other::"));
  EXPECT_THAT(text, HasSubstr("::notice title=epochbench%3A mlp/cpu/fp32/b64::10.00 %25 faster"));
  EXPECT_THAT(text, HasSubstr("::notice title=epochbench%3A fresh::the baseline has nothing"));
  comparison.allowed = {"gone"};
  EXPECT_THAT(github_annotations(comparison), HasSubstr("::notice title=epochbench%3A gone::"));
}

TEST(CompareText, CountsACaseThatIsInconclusiveWithoutATime) {
  Comparison comparison;
  comparison.cases.resize(1);
  EXPECT_EQ(reason_text(comparison), "1 case is inconclusive");
}

TEST(GithubAnnotations, LetNoNameBeginACommand) {
  Comparison comparison = made_comparison();
  comparison.cases[0].name = "a,b:c\n::error::no";
  const std::string text = github_annotations(comparison);
  EXPECT_THAT(text, HasSubstr("title=epochbench%3A a%2Cb%3Ac %3A%3Aerror%3A%3Ano::"));
  EXPECT_THAT(text, Not(HasSubstr("\n::error::no")));
}

TEST(GithubAnnotations, AreTenOfAKindAtMost) {
  Comparison comparison;
  for (int i = 0; i < 25; ++i) comparison.missing.push_back({"case " + std::to_string(i), ""});
  const std::string text = github_annotations(comparison);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_THAT(text, HasSubstr("and 16 more"));
}

TEST(GithubSummary, IsATableWithoutMarkupOutOfNames) {
  Comparison comparison = made_comparison();
  comparison.cases[0].name = "a|b<script>@you_me*";
  const std::string text = github_summary(comparison);
  EXPECT_THAT(text, StartsWith("## epochbench: regression\n"));
  EXPECT_THAT(text, HasSubstr("| a\\|b&lt;script\\>&#64;you\\_me\\* | 1.050 | 1.040 to 1.060 | regression |"));
  EXPECT_THAT(text, HasSubstr("```\nepochbench compare --interleave"));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
}

TEST(OneLine, HasNoControlCharacters) { EXPECT_EQ(one_line("a\x1B[2Jb\nc\x7F"), "a [2Jb c "); }

}  // namespace
}  // namespace epochbench
