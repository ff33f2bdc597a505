// The result document as JSON and back, and files that are not one.
#include "src/result/result_json.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/complete_result.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string parse_failure(const std::string& text) {
  try {
    parse_result(text, "file.json");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(ResultJson, RoundTripIsExact) {
  const std::string text = result_to_text(complete_result());
  EXPECT_EQ(result_to_text(parse_result(text, "file.json")), text);
  const epochbench::Run run = parse_result(text, "file.json").runs[0];
  EXPECT_EQ(run.timing->step_seconds, (std::vector<double>{0.1, 1.0 / 3, 1e-9}));
  EXPECT_EQ(run.workload.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(run.quality->parity_with, "mlp/cpu/fp32/b64");
  EXPECT_EQ(run.energy->cpu_joules_per_epoch, 2.0);
  EXPECT_EQ(run.workload.forward_flops_per_sample, 41);
  EXPECT_EQ(run.device.without, "fusion+prefetch");
  EXPECT_EQ(run.latency->samples, 3);
  EXPECT_EQ(run.latency->p50_seconds, 0.25);
  EXPECT_FALSE(run.latency->p99_seconds);
  EXPECT_EQ(run.latency->step_seconds, (std::vector<double>{0.25, 1.0 / 3, 0.5}));
  EXPECT_EQ(run.profile->passes, 7);
  EXPECT_EQ(run.input->loader_threads, 3);
  EXPECT_FALSE(run.input->prefetch);
  EXPECT_EQ(run.input->decode_cost_seconds, 0.002);
  EXPECT_EQ(run.input->cache, Cache::decoded);
  EXPECT_EQ(run.input->images, "u8");
  EXPECT_EQ(run.input->left_out_images, 2);
  EXPECT_EQ(run.input->files->validation, 40);
  EXPECT_EQ(run.profile->classes[1].limit_fraction, 0.5);
  EXPECT_EQ(run.profile->classes[1].limit_seconds, 0.125);
  EXPECT_FALSE(run.profile->nodes[0].limit);
  EXPECT_EQ(run.profile->nodes[1].limit, NodeLimit::memory);
  EXPECT_EQ(run.gpu->throttle_reasons, std::vector<std::string>{"sw_power_cap"});
  EXPECT_EQ(run.gpu->throttled_step_ranges->at(0).second, 1);
  EXPECT_EQ(run.gpu->memory_used_bytes, 12345);
  EXPECT_EQ(run.gpu->reason, "memory: Not Supported");
  EXPECT_EQ(run.energy->cpu_average_watts, 4.0);
  EXPECT_EQ(run.energy->cpu_idle_watts, 5.0);
  EXPECT_EQ(run.energy->window_seconds, 0.25);
  EXPECT_EQ(run.energy->reason, "GPU: no card");
  EXPECT_EQ(run.energy->remarks, std::vector<std::string>{"whole"});
  EXPECT_EQ(run.cost->currency, "EUR");
  EXPECT_EQ(run.workload.nominal_dataset, "MNIST");
  const CpuInfo cpu = parse_result(text, "file.json").context.cpu;
  EXPECT_EQ(cpu.peak_bursts_flops_per_second.at("fp32"), (std::vector<double>{0.75e11, 1e11}));
  EXPECT_EQ(cpu.peak_foreign_cpu_cores, 0.125);
}

TEST(ResultJson, CostsAreInUsdUnlessTheFileSaysOtherwise) {
  Result result = complete_result();
  result.runs[0].cost->currency.reset();
  EXPECT_EQ(Json::parse(result_to_text(result))["runs"][0]["cost"]["currency"], "USD");
}

TEST(ResultJson, GroupsOfARunThatIsNotOkAreNull) {
  const Json document = Json::parse(result_to_text(complete_result()));
  const Json& run = document["runs"][1];
  EXPECT_EQ(run["status"], "out_of_memory");
  for (const char* group : {"timing", "throughput", "latency", "efficiency", "memory", "interference", "gpu", "quality",
                            "energy", "cost", "profile"})
    EXPECT_TRUE(run.contains(group) && run[group].is_null()) << group;
  EXPECT_EQ(run["workload"]["model"], "mlp:depth=3");
}

TEST(ResultJson, NumbersThatAreNotFiniteBecomeNull) {
  Result result = complete_result();
  result.runs[0].quality->final_loss = std::numeric_limits<double>::quiet_NaN();
  result.runs[0].quality->loss = {1.0, std::numeric_limits<double>::infinity()};
  result.runs[0].timing->epoch_seconds = std::numeric_limits<double>::infinity();
  const std::string text = result_to_text(result);
  const Json run = Json::parse(text)["runs"][0];
  EXPECT_TRUE(run["quality"]["final_loss"].is_null());
  EXPECT_TRUE(run["quality"]["loss"][1].is_null());
  EXPECT_TRUE(run["timing"]["epoch_seconds"].is_null());
  EXPECT_TRUE(std::isnan(parse_result(text, "file.json").runs[0].quality->loss[1]));
}

TEST(ResultJson, TextThatIsNotUtf8IsStillWritten) {
  Result result = complete_result();
  result.runs[1].message = "bad \xff byte\nand a line break";
  EXPECT_TRUE(Json::accept(result_to_text(result)));
}

TEST(ResultJson, ANewerVersionIsRefusedByName) {
  std::string text = result_to_text(complete_result());
  text.replace(text.find("\"schema_version\": 2"), 19, "\"schema_version\": 3");
  EXPECT_THAT(parse_failure(text),
              testing::AllOf(HasSubstr("file.json"), HasSubstr("version 3 is newer"), HasSubstr("update")));
}

TEST(ResultJson, FurtherKeysAreIgnored) {
  Json document = Json::parse(result_to_text(complete_result()));
  document["later"] = 1;
  document["runs"][0]["timing"]["later"] = {1, 2};
  EXPECT_EQ(parse_result(document.dump(), "file.json").runs.size(), 2u);
}

TEST(ResultJson, WrongDocumentsSayWhereTheyAreWrong) {
  EXPECT_THAT(parse_failure("{}"), HasSubstr("no schema_version"));
  EXPECT_THAT(parse_failure("[1, 2]"), HasSubstr("must be an object, not array, so not a result of epochbench"));
  Json document = Json::parse(result_to_text(complete_result()));
  document["runs"][1]["status"] = "splendid";
  EXPECT_EQ(parse_failure(document.dump()),
            "file.json.runs[1].status: must be one of ok, failed, skipped, out_of_memory, diverged, interrupted, "
            "contradicts_itself, not 'splendid'; "
            "results/schema.json says what belongs there");
  document["runs"][1]["status"] = "failed";
  document["runs"][0]["timing"]["step_seconds"] = {0.1, nullptr};
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("runs[0].timing.step_seconds[1]: must be above 0"));
  document["runs"][0]["timing"]["step_seconds"] = "fast";
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("runs[0].timing.step_seconds: must be an array"));
  document["runs"][0]["gpu"]["throttled_step_ranges"] = Json::array({Json::array({1})});
  document["runs"][0]["timing"] = nullptr;
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("gpu.throttled_step_ranges[0]: must have two numbers"));
  document["runs"][0]["gpu"]["throttled_step_ranges"] = Json::array({{0, 1}, {3, 18'446'744'073'709'551'615U}});
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("gpu.throttled_step_ranges[1][1]: too large"));
  document["runs"][0]["gpu"] = nullptr;
  document["runs"][0]["repetition"] = 1e300;
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("repetition: must be a whole number"));
  document["runs"][0].erase("repetition");
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("runs[0].repetition: missing"));
}

TEST(ResultJson, AnUnknownWordIsNamedWithItsPlaceAndTheKnownOnes) {
  const std::pair<const char*, const char*> places[] = {
      {"/runs/0/workload/mode", "train, forward"},
      {"/runs/0/device/backend", "cpu, cuda, reference, pytorch"},
      {"/runs/0/device/products", "fp32, tf32, bf16, fp16, int8"},
      {"/runs/0/precision", "fp32, tf32, bf16, fp16, int8"},
      {"/runs/0/input/cache", "none, decoded"},
      {"/runs/0/timing/epoch_kind", "measured, projected"},
      {"/runs/0/timing/stopped_by", "noise, stable_noise, time, steps, epochs, until, interrupted, failed"},
      {"/runs/0/quality/eval_metric", "accuracy, loss"},
      {"/runs/0/energy/source", "unavailable, rapl, nvml, rapl+nvml"},
      {"/runs/0/cost/price_scaling", "per-core, per-vcpu, per-gpu, whole"},
      {"/runs/0/profile/nodes/1/limit", "compute, memory"},
      {"/answers/over", "batch, width, samples, threads, ranks, ranks_weak"},
      {"/answers/best/0/precision", "fp32, tf32, bf16, fp16, int8"},
      {"/answers/crossover/0/in", "time, cost"},
      {"/answers/scaling/0/fits/0/law", "amdahl, usl"}};
  const Json document = Json::parse(result_to_text(complete_result()));
  for (const auto& [place, known] : places) {
    Json changed = document;
    changed.at(Json::json_pointer(place)) = "odd";
    EXPECT_THAT(parse_failure(changed.dump()),
                testing::AllOf(testing::StartsWith("file.json."),
                               HasSubstr(std::string(place).substr(std::string(place).rfind('/') + 1) + ": must be one of " +
                                         known + ", not 'odd'")))
        << place;
  }
}

std::string json_failure(const std::string& text) {
  try {
    parse_json(text, "file.json");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(ParseJson, RefusesWhatIsNotJsonInOneLine) {
  for (const char* text : {"", "{", "{\"a\": nan}", "{\"a\": 1e999}", "\x01\x02", "{} {}", "{\"a\":\n\n\"\xff\xfe\"}", "'"}) {
    const std::string failure = json_failure(text);
    EXPECT_THAT(failure, HasSubstr("file.json: not valid JSON")) << text;
    EXPECT_THAT(failure, Not(HasSubstr("\n"))) << text;
    EXPECT_LT(failure.size(), 400u) << text;
  }
}

TEST(ParseJson, SaysWhereAndHowToFixIt) {
  EXPECT_EQ(json_failure("{\"a\":\n  NaN}"),
            "file.json: not valid JSON at line 2, column 3: invalid literal; fix that place (an unknown value is null, never "
            "NaN)");
  EXPECT_THAT(json_failure("[1,\n2,\n\n}"), HasSubstr("at line 4, column 1: unexpected '}'; fix that place"));
  EXPECT_THAT(json_failure("[1e999]"), HasSubstr("number overflow"));
  EXPECT_THAT(json_failure("{\"a\": [1, 2"), HasSubstr("column 12: unexpected end of input; it ends too early, so copy it"));
  EXPECT_THAT(json_failure("{\"a\": \"text"), HasSubstr("missing closing quote; it ends too early"));
  EXPECT_THAT(json_failure("samples: 3"), HasSubstr("so this is not a file of epochbench; name another"));
  EXPECT_THAT(json_failure(""), HasSubstr("at line 1, column 1: unexpected end of input; it ends too early"));
  EXPECT_THAT(json_failure("{\"a\":\"\xff\"}"), HasSubstr("column 7: invalid string: ill-formed UTF-8 byte; save it as UTF-8"));
  EXPECT_THAT(json_failure("\xff\xfe{"), HasSubstr("at line 1, column 1: invalid literal; save it as UTF-8"));
  EXPECT_THAT(json_failure(std::string("pictures/\0\0", 11)), HasSubstr("not JSON but other data"));
  EXPECT_THAT(json_failure(std::string("{}\n\0", 4)), HasSubstr("at line 2, column 1: a zero byte, so the file is damaged"));
  EXPECT_EQ(json_failure("\xef\xbb\xbf{}"), "");  // a byte order mark is UTF-8
}

TEST(ParseJson, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(json_failure(R"({"runs": [{}, {"timing": {"b": 1, "c": [], "b": 2}}]})"),
            "file.json: runs[1].timing has 'b' twice; keep one of them");
  EXPECT_EQ(json_failure(R"({"a": 1, "\u0061": 2})"), "file.json: has 'a' twice; keep one of them");
  EXPECT_EQ(json_failure(R"([{"a": {"a": 1}}, {"a": 1}])"), "");
}

TEST(ParseJson, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(json_failure(nested(kMaxJsonDepth)), "");
  EXPECT_THAT(json_failure(nested(kMaxJsonDepth + 1)), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(json_failure(std::string(20'000'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(json_failure(R"({"runs": [{"a": )" + nested(100) + "}]}"), HasSubstr("file.json: runs[0].a[0][0]"));
  EXPECT_EQ(json_failure("\"" + std::string(1000, '[') + "\\\"[\""), "");  // brackets in a string are text
}

// Memory and time follow from how much there is to build, not from the text's length alone.
TEST(ParseJson, RefusesMoreThanItCanHold) {
  const auto members = [](std::size_t count) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_EQ(json_failure(members(kMaxJsonMembers)), "");
  EXPECT_THAT(json_failure("[" + members(kMaxJsonMembers + 1) + "]"), HasSubstr("file.json: [0] has more than 256 members"));
  std::string values = "{\"runs\":[";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) values += "0,";
  EXPECT_THAT(json_failure(values + "0]}"), HasSubstr("file.json: runs[19999998] comes after 20000000 values"));
}

TEST(PrintJson, KeepsListsOfNumbersOnOneLine) {
  EXPECT_EQ(print_json(Json{{"a", {1, 2}}, {"b", Json::array()}, {"c", {{"d", nullptr}}}}),
            "{\n  \"a\": [1, 2],\n  \"b\": [],\n  \"c\": {\n    \"d\": null\n  }\n}\n");
}

}  // namespace
}  // namespace epochbench
