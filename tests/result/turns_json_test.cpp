// The document of turns as JSON and back, and other documents, which are refused.

#include <gmock/gmock.h>

#include "src/base/json.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

TurnsDocument made() {
  TurnsDocument document;
  document.context.date = "2026-01-02T03:04:05Z";
  document.context.host_name = "host";
  document.context.cpu.model = "a CPU";
  document.binaries = {"old/epochbench", "new/epochbench"};
  document.builds[kBaseline] = {"0.1.0", std::nullopt, std::nullopt, "Release", "gcc"};
  document.builds[kContender] = {"0.2.0", "abc", true, "Debug", "clang"};
  document.suite = "gate";
  document.order_seed = 7;
  document.threshold = 0.05;
  document.max_pairs = 12;
  TurnsCase& turns = document.cases.emplace_back();
  turns.name = "mlp/cpu/fp32/b4";
  turns.model = "mlp";
  turns.device = "cpu";
  turns.precision = Precision::fp32;
  turns.batch = 4;
  turns.threads = 2;
  turns.settings = {{"batch", std::int64_t{4}}, {"threads", std::int64_t{2}}};
  TurnsPair& pair = turns.pairs.emplace_back();
  pair.started_first = kContender;
  pair.steps_per_turn = 2;
  pair.dropped_rounds = 1;
  pair.first = {kContender, kBaseline};
  pair.log_ratio = 0.0078125;
  pair.foreign_cpu_cores = 0.25;
  for (const Side side : kSides) {
    TurnsSide& side_of_pair = pair.sides[side];
    side_of_pair.fingerprint = "1111";
    side_of_pair.isa = "avx512";
    side_of_pair.compile_seconds = 0.5;
    side_of_pair.step_seconds = {0.01, 0.02, 0.03, 0.04};
    side_of_pair.step_seconds_median = 0.025;
    side_of_pair.peak_bytes = 1000;
    side_of_pair.first_losses = {2.5, 2};
    side_of_pair.final_loss = 1;
    side_of_pair.steps = 9;
    side_of_pair.library_dropout_masks = side == kContender;
  }
  TurnsPair& broken = turns.pairs.emplace_back();
  broken.sides[kContender].status = RunStatus::out_of_memory;
  broken.sides[kContender].message = "needs 5 GiB";
  TurnsCase& skipped = document.cases.emplace_back();
  skipped.name = "mlp/cuda/fp32/b4";
  skipped.model = "mlp";
  skipped.device = "cuda:0";
  skipped.precision = Precision::fp32;
  skipped.batch = 4;
  skipped.settings = {{"device", std::string("cuda:0")}};
  skipped.skipped = "no GPU";
  return document;
}

std::string refusal(const std::string& text) {
  try {
    parse_turns(text, "file.json");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "it is one";
}

TEST(TurnsJson, ComesBackAsItWas) {
  const std::string text = turns_to_text(made());
  EXPECT_TRUE(is_turns(parse_json(text, "file.json")));
  const TurnsDocument document = parse_turns(text, "file.json");
  EXPECT_EQ(turns_to_text(document), text);
  EXPECT_EQ(document.order_seed, 7u);
  EXPECT_EQ(document.threshold, 0.05);
  EXPECT_EQ(document.max_pairs, 12);
  EXPECT_EQ(document.binaries[kContender], "new/epochbench");
  EXPECT_EQ(document.builds[kContender].git_sha, "abc");
  EXPECT_FALSE(document.builds[kBaseline].git_sha);
  ASSERT_EQ(document.cases.size(), 2u);
  EXPECT_EQ(document.cases[1].skipped, "no GPU");
  EXPECT_FALSE(document.cases[1].threads);
  EXPECT_EQ(document.cases[0].settings, made().cases[0].settings);
  ASSERT_EQ(document.cases[0].pairs.size(), 2u);
  const TurnsPair& pair = document.cases[0].pairs[0];
  EXPECT_EQ(pair.log_ratio, 0.0078125);
  EXPECT_EQ(pair.started_first, kContender);
  EXPECT_EQ(pair.first, (std::vector<Side>{kContender, kBaseline}));
  EXPECT_EQ(pair.sides[kContender].step_seconds, (std::vector<double>{0.01, 0.02, 0.03, 0.04}));
  EXPECT_EQ(document.cases[0].pairs[1].sides[kContender].status, RunStatus::out_of_memory);
  EXPECT_FALSE(document.cases[0].pairs[1].ok());
}

TEST(TurnsJson, OlderDocumentsHaveTheSettingsOfTheirNames) {
  Json document = Json::parse(turns_to_text(made()));
  document["cases"][0].erase("settings");
  document["cases"][0]["name"] = "mlp/cpu/fp32/b4/order=sequential";
  const Settings settings = turns_from_json(document, "file.json").cases[0].settings;
  EXPECT_EQ(settings.at("order"), SettingValue(std::string("sequential")));
}

TEST(TurnsJson, OtherDocumentsAreRefused) {
  EXPECT_FALSE(is_turns(parse_json(result_to_text(Result{}), "file.json")));
  EXPECT_THAT(refusal(result_to_text(Result{})), HasSubstr("no turns_version"));
  EXPECT_THAT(refusal("{"), HasSubstr("not valid JSON"));
  const auto with = [](const char* pointer, const Json& value) {
    Json document = Json::parse(turns_to_text(made()));
    document[Json::json_pointer(pointer)] = value;
    return document.dump();
  };
  EXPECT_THAT(refusal(with("/turns_version", 2)), HasSubstr("newer"));
  EXPECT_THAT(refusal(with("/turns_version", 0)), HasSubstr("at least 1"));
  EXPECT_THAT(refusal(with("/threshold", 0)), HasSubstr("threshold: must be above 0"));
  EXPECT_THAT(refusal(with("/max_pairs", 1'000'000)), HasSubstr("max_pairs: out of range"));
  EXPECT_THAT(refusal(with("/cases", 3)), HasSubstr("cases"));
  EXPECT_THAT(refusal(with("/cases/0/threads", 0)), HasSubstr("threads"));
  EXPECT_THAT(refusal(with("/cases/0/pairs/0/started_first", "both")), HasSubstr("cases[0].pairs[0].started_first"));
  EXPECT_THAT(refusal(with("/cases/0/pairs/0/first_by_round/1", 5)), HasSubstr("first_by_round"));
  EXPECT_THAT(refusal(with("/cases/0/pairs/0/new/status", "fine")), HasSubstr("new.status: must be one of ok, "));
  EXPECT_THAT(refusal(with("/cases/0/pairs/0/new/step_seconds/2", "x")), HasSubstr("step_seconds"));
}

}  // namespace
}  // namespace epochbench
