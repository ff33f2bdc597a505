// What a run records of its case, the label that follows from it, and the settings of files that have names alone.
#include <filesystem>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/case/run_name.h"
#include "src/result/anonymous.h"
#include "src/result/result_json.h"
#include "support/made_cases.h"

namespace epochbench {
namespace {

Settings settings_on(const CaseBlock& block, int threads) {
  const CaseSpec spec = finished(expand(block).at(0), threads);
  return settings_of(spec, default_case(spec.model.family, threads));
}

const CaseBlock kEverything = block_of({{"model", "mlp:depth=3,width=64"},
                                        {"device", "cpu"},
                                        {"precision", "bf16"},
                                        {"mode", "forward"},
                                        {"batch", "8"},
                                        {"threads", "1"},
                                        {"pin", "none"},
                                        {"kernels", "portable"},
                                        {"meters", "off"},
                                        {"without", "prefetch+fusion"},
                                        {"data", "idx:/a/b"},
                                        {"tokenizer", "gpt2:/a/tokens/"},
                                        {"min_time", "2"},
                                        {"warmup", "0"},
                                        {"epoch_samples", "9"},
                                        {"seed", "7"},
                                        {"learning_rate", "0.010"},
                                        {"weight_decay", "0"},
                                        {"label_smoothing", "0.1"},
                                        {"augment", "flip+crop"},
                                        {"normalize", "measured"},
                                        {"on_bad_image", "skip"},
                                        {"cold", "on"},
                                        {"order", "sequential"},
                                        {"loader_threads", "0"},
                                        {"decode_cost", "2e-3"},
                                        {"cache", "decoded"},
                                        {"init", "/a/w.safetensors"}});

TEST(Settings, HoldWhatDiffersFromTheDefaultWithItsType) {
  EXPECT_EQ(settings_on(block_of({{"model", "lenet5"}}), 2), (Settings{{"model", "lenet5"}}));
  EXPECT_EQ(settings_on(kEverything, 2),
            (Settings{{"model", "mlp"},
                      {"model_options", std::map<std::string, std::int64_t>{{"depth", 3}, {"width", 64}}},
                      {"precision", "bf16"},
                      {"mode", "forward"},
                      {"batch", std::int64_t{8}},
                      {"threads", std::int64_t{1}},
                      {"pin", "none"},
                      {"kernels", "portable"},
                      {"meters", false},
                      {"without", std::vector<std::string>{"fusion", "prefetch"}},
                      {"data", "idx:/a/b"},
                      {"tokenizer", "gpt2:tokens"},
                      {"min_time", 2.0},
                      {"warmup", std::int64_t{0}},
                      {"epoch_samples", std::int64_t{9}},
                      {"seed", std::int64_t{7}},
                      {"learning_rate", 0.01},
                      {"weight_decay", 0.0},
                      {"label_smoothing", 0.1},
                      {"augment", std::vector<std::string>{"crop", "flip"}},
                      {"normalize", "measured"},
                      {"on_bad_image", "skip"},
                      {"cold", true},
                      {"order", "sequential"},
                      {"loader_threads", std::int64_t{0}},
                      {"decode_cost", 0.002},
                      {"cache", "decoded"},
                      {"init", "w.safetensors"}}));
}

TEST(Settings, HoldTheScheduleOfTheLearningRate) {
  const CaseBlock block = block_of({{"model", "mlp"}, {"lr_schedule", "cosine"}, {"lr_warmup", "5"}, {"epochs", "2"}});
  const Settings expected{
      {"model", "mlp"}, {"epochs", std::int64_t{2}}, {"lr_schedule", "cosine"}, {"lr_warmup", std::int64_t{5}}};
  EXPECT_EQ(settings_on(block, 2), expected);
  EXPECT_EQ(run_name(expected), "mlp/cpu/fp32/b64/lr-schedule=cosine/lr-warmup=5");
  EXPECT_EQ(settings_from_name(run_name(identifying(expected))), identifying(expected));
  EXPECT_EQ(setting_class("lr_schedule"), SettingClass::workload);
  EXPECT_EQ(setting_class("lr_warmup"), SettingClass::workload);
  EXPECT_EQ(setting_class("tokenizer"), SettingClass::workload);
}

TEST(Settings, LeaveOutWhatChangesNothingInThisCase) {
  EXPECT_EQ(settings_on(block_of({{"model", "lenet5"}, {"dropout", "0.5"}, {"batch", "64"}, {"data", "digits"}}), 2),
            (Settings{{"model", "lenet5"}}));
  EXPECT_EQ(settings_on(block_of({{"model", "lenet5"}, {"device", "cuda"}, {"threads", "1"}, {"pin", "none"}}), 2),
            (Settings{{"model", "lenet5"}, {"device", "cuda:0"}}));
}

TEST(Settings, EveryOneOfThemHasAClassAndSurvivesJson) {
  for (const auto& [key, value] : settings_on(kEverything, 2)) EXPECT_TRUE(find_setting(key)) << key;
  EXPECT_EQ(JsonConversion<Settings>::read(json_of(settings_on(kEverything, 2)), "settings"), settings_on(kEverything, 2));
  for (const char* text : {"[]", R"({"a": null})", R"({"a": [1]})", R"({"a": {"b": "c"}})"})
    EXPECT_THROW(JsonConversion<Settings>::read(Json::parse(text), "runs[0].settings"), FormatError) << text;
}

TEST(SettingsFromName, AreThoseThatTheNameWasMadeOf) {
  Settings stopless = identifying(settings_on(kEverything, 2));
  EXPECT_FALSE(stopless.contains("min_time"));
  EXPECT_EQ(settings_from_name(run_name(stopless)), stopless);
  for (const char* name :
       {"lenet5/cpu/fp32/b64", "lenet5/cuda/tf32/b1", "lenet5/cuda/fp32/b64/device=cuda:1", "mlp:width=4096/reference/fp32/b64",
        "resnet20/pytorch/bf16/b128/compile=default/data=digits/device=cuda:0/threads=3/wait=spin/warmup=10",
        "lenet5/cpu/fp32/b64/decode-cost=2e-04/gemm=portable", "resnet20/cpu/fp32/b32/data=idx:/a/b=c/d/threads=1"})
    EXPECT_EQ(run_name(settings_from_name(name)), name);
  EXPECT_EQ(
      settings_from_name("resnet20/cpu/fp32/b32/data=idx:/a/b=c/d/threads=1"),
      (Settings{{"model", "resnet20"}, {"batch", std::int64_t{32}}, {"data", "idx:/a/b=c/d"}, {"threads", std::int64_t{1}}}));
}

TEST(SettingsFromName, KeepApartWhatTheyDoNotKnow) {
  EXPECT_EQ(settings_from_name("nightly run"), (Settings{{"model", "nightly run"}}));
  EXPECT_EQ(settings_from_name("m/cpu/fp32/b8/dropout=0/order=sequential"),
            (Settings{{"model", "m"}, {"batch", std::int64_t{8}}, {"dropout", 0.0}, {"order", "sequential"}}));
  EXPECT_EQ(
      settings_from_name("m/cpu/fp8/b8/threads=many/what-else=1"),
      (Settings{{"model", "m"}, {"precision", "fp8"}, {"batch", std::int64_t{8}}, {"threads", "many"}, {"what_else", "1"}}));
  for (const char* name :
       {"", "/", "///b", "a/b/c/b99999999999999999999", "m:/cpu/fp32/b8", "m/cpu/fp32/b8/", "m/cpu/fp32/b8/=/="})
    EXPECT_FALSE(settings_from_name(name).empty()) << name;
}

// Files from before settings, read and written again.
TEST(SettingsFromName, ReadEveryPublishedResult) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PUBLISHED_RESULTS)) {
    if (entry.path().extension() != ".json" || entry.path().string().find("schema") != std::string::npos) continue;
    const Result result = read_result(entry.path().string());
    const Result again = parse_result(result_to_text(result), "again");
    ASSERT_EQ(result.runs.size(), again.runs.size());
    std::map<Settings, std::string> names;
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
      const auto& run = result.runs[i];
      EXPECT_EQ(run_name(run.settings).substr(0, run.name.find("decode-cost")),
                run.name.substr(0, run.name.find("decode-cost")));
      EXPECT_EQ(names.emplace(run.settings, run.name).first->second, run.name) << "one name for one case";
      EXPECT_EQ(again.runs[i].settings, run.settings) << run.name;
    }
    ++files;
  }
  EXPECT_GE(files, 4);
}

TEST(Anonymous, SettingsHaveNoPaths) {
  Result result;
  auto& run = result.runs.emplace_back();
  run.workload.dataset = "idx:/home/somebody/data";
  run.name = "lenet5/cpu/fp32/b64/data=idx:/home/somebody/data";
  run.settings = settings_from_name(run.name);
  const auto hidden = anonymous(result).runs[0];
  EXPECT_EQ(hidden.settings, settings_from_name(hidden.name));
  EXPECT_EQ(to_text(hidden.settings.at("data")), "idx:");
}

}  // namespace
}  // namespace epochbench
