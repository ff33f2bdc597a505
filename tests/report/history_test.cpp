// Series over time out of made-up results: what is a point, what is a series, and which commit is named.
#include "src/analysis/compare/history.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/compare/compare_report.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The i-th night's result; its commit is "commit<i>".
NamedResult night(int i, double rate) {
  MadeRun made;
  made.rate = rate;
  NamedResult result = made_result("night-" + std::to_string(i) + ".json", "box", {made});
  char date[32];
  std::snprintf(date, sizeof date, "2026-%02d-%02dT02:00:00Z", 1 + i / 28, 1 + i % 28);
  result.result.context.date = date;
  result.result.context.git_sha = "commit" + std::to_string(i);
  return result;
}

// 60 nights with a noise of 1 %; `rate` by night.
template <typename Rate>
std::vector<NamedResult> nights(Rate rate) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<NamedResult> results;
  for (int i = 0; i < 60; ++i) results.push_back(night(i, rate(i) * std::exp(noise(random))));
  return results;
}

TEST(History, NamesTheCommitOfAStep) {
  auto results = nights([](int i) { return i < 35 ? 100 : 94; });
  std::swap(results[3], results[50]);  // the order of the files is not that of the dates
  const History history = history_of(results, {});
  ASSERT_THAT(history.series, SizeIs(1));
  const HistorySeries& series = history.series[0];
  EXPECT_EQ(series.name, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(series.reason, "");
  ASSERT_THAT(series.points, SizeIs(60));
  EXPECT_EQ(series.points[0].processes, 5u);
  ASSERT_THAT(series.changes, SizeIs(1));
  EXPECT_EQ(series.points[series.changes[0].begin].git_sha, "commit35");
  EXPECT_NEAR(std::exp(series.changes[0].after - series.changes[0].before), 100.0 / 94, 0.01);
  const std::string text = history_text(history);
  EXPECT_THAT(text, HasSubstr("a step at commit3 of 2026-02-08; the last before it: commit3 of 2026-02-07"));
  EXPECT_THAT(text, HasSubstr("\n  1.06"));
  const Json json = history_json(history);
  EXPECT_EQ(json["series"][0]["changes"][0]["begin"]["git_sha"], "commit35");
  EXPECT_EQ(json["series"][0]["changes"][0]["last_before"]["git_sha"], "commit34");
  EXPECT_EQ(json["series"][0]["points"].size(), 60u);
}

TEST(History, NamesTheCommitAtWhichACreepBegan) {
  const History history =
      history_of(nights([](int i) { return 100 * std::exp(-0.005 * std::min(std::max(i - 24, 0), 20)); }), {});
  ASSERT_THAT(history.series[0].changes, SizeIs(1));
  const LevelChange& change = history.series[0].changes[0];
  EXPECT_EQ(change.kind, ChangeKind::creep);
  EXPECT_NEAR(static_cast<double>(change.begin), 25, 4);
  EXPECT_THAT(history_text(history), HasSubstr("a creep from commit"));
}

TEST(History, SaysThatThreePointsAreTooFew) {
  const History history = history_of({night(0, 100), night(1, 50), night(2, 10)}, {});
  EXPECT_THAT(history.series[0].changes, IsEmpty());
  EXPECT_EQ(history.series[0].reason, "3 points, and a change takes 6: 3 on either side");
  EXPECT_THAT(history_text(history), HasSubstr("3 points, and a change takes 6"));
}

TEST(History, TellsPointsOfOneDayApart) {
  auto results = nights([](int) { return 100; });
  EXPECT_THAT(history_text(history_of(results, {})), HasSubstr("no change of level from 2026-01-01 to 2026-03-04\n"));
  results.back().result.context.date = "2026-03-03T14:05:00Z";  // the day of the night before it
  EXPECT_THAT(history_text(history_of(results, {})),
              HasSubstr("no change of level from 2026-01-01 02:00 to 2026-03-03 14:05\n"));
}

TEST(History, LeavesLoadedAndRepeatedMeasurementsOut) {
  NamedResult loaded = night(1, 50), copy = night(0, 100);
  copy.path = "latest.json";
  for (auto& run : loaded.result.runs) run.interference->foreign_cpu_cores = 0.9;
  NamedResult partly = night(2, 100);
  partly.result.runs[0].interference->foreign_cpu_cores = 0.9;
  partly.result.runs[0].timing->step_seconds_median *= 5;
  const History history = history_of({night(0, 100), loaded, copy, partly}, {});
  ASSERT_THAT(history.series, SizeIs(1));
  ASSERT_THAT(history.series[0].points, SizeIs(2));
  EXPECT_EQ(history.series[0].points[1].processes, 4u);
  EXPECT_DOUBLE_EQ(history.series[0].points[1].value, 0.16);
  ASSERT_THAT(history.left_out, SizeIs(2));
  EXPECT_THAT(history.left_out[0].reason, HasSubstr("other processes"));
  EXPECT_EQ(history.left_out[1].reason, "the same measurement is in night-0.json");
}

TEST(History, NeverMixesMachinesOrWorkloads) {
  NamedResult machine = night(1, 100), workload = night(2, 100), compiler = night(3, 100);
  machine.result.context.host_name = "other";
  for (auto& run : workload.result.runs) run.workload.fingerprint = "other";
  compiler.result.context.compiler = "clang 14";
  EXPECT_THAT(history_of({night(0, 100), machine, workload, compiler, night(4, 100)}, {}).series, SizeIs(4));
}

NamedTurns turns(int i, double log_ratio, const std::string& reference) {
  NamedTurns named{"turns-" + std::to_string(i) + ".json", {}};
  char date[32];
  std::snprintf(date, sizeof date, "2026-03-%02dT02:00:00Z", 1 + i);
  named.document.context.date = date;
  named.document.builds[kBaseline].git_sha = reference;
  named.document.builds[kContender].git_sha = "commit" + std::to_string(i);
  TurnsCase& turns = named.document.cases.emplace_back();
  turns.name = "mlp/cpu/fp32/b64";
  turns.model = "mlp";
  turns.device = "cpu";
  turns.precision = Precision::fp32;
  turns.batch = 64;
  for (int pair = 0; pair < 10; ++pair) {
    turns.pairs.emplace_back().log_ratio = log_ratio + 0.0001 * (pair - 4.5) + 1e-4 * ((i * 7) % 5 - 2);
    turns.pairs.back().foreign_cpu_cores = 1.5;
  }
  turns.pairs[0].log_ratio.reset();
  return named;
}

TEST(History, MarksTurnsThatOtherProcessesDisturbed) {
  NamedTurns loaded = turns(0, 0, "abc"), quiet = loaded;
  for (TurnsPair& pair : quiet.document.cases[0].pairs) pair.foreign_cpu_cores = 0.1;
  EXPECT_THAT(history_text(history_of({}, {loaded})),
              testing::AllOf(HasSubstr("mlp/cpu/fp32/b64 †"), HasSubstr("†: other processes")));
  EXPECT_THAT(history_text(history_of({}, {quiet})), testing::Not(HasSubstr("†")));
}

TEST(History, OfTurnsIsOfRatiosToOneReference) {
  std::vector<NamedTurns> all;
  for (int i = 0; i < 20; ++i) all.push_back(turns(i, i < 12 ? 0 : 0.02, "pinned"));
  all.push_back(turns(25, 0, "another"));
  const History history = history_of({}, all);
  ASSERT_THAT(history.series, SizeIs(2));
  const HistorySeries& series = history.series[0];
  EXPECT_EQ(series.of, HistoryOf::ratio);
  EXPECT_THAT(series.setting, HasSubstr("pinned"));
  EXPECT_EQ(series.points[0].processes, 9u);
  EXPECT_NEAR(series.points[12].value, std::exp(0.02), 1e-3);
  ASSERT_THAT(series.changes, SizeIs(1));
  EXPECT_EQ(series.points[series.changes[0].begin].git_sha, "commit12");
}

TEST(History, MatchesTurnsBySettingsAndNotByName) {
  NamedTurns renamed = turns(1, 0, "pinned"), other = turns(2, 0, "pinned");
  renamed.document.cases[0].name = "a label";
  other.document.cases[0].settings["order"] = std::string("sequential");
  const History history = history_of({}, {turns(0, 0, "pinned"), renamed, other});
  ASSERT_THAT(history.series, SizeIs(2));
  EXPECT_THAT(history.series[0].points, SizeIs(2));
}

TEST(History, TellsTurnsWithoutAPair) {
  NamedTurns empty = turns(0, 0, "pinned");
  for (TurnsPair& pair : empty.document.cases[0].pairs) pair.log_ratio.reset();
  const History history = history_of({}, {empty});
  EXPECT_THAT(history.series, IsEmpty());
  EXPECT_THAT(history.left_out, SizeIs(1));
}

}  // namespace
}  // namespace epochbench
