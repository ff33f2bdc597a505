// The result document as JSON and back, and files that are not one.
#include "src/report/result_json.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;

Result complete_result() {
  Result result;
  Context& c = result.context;
  c.date = "2026-01-02T03:04:05Z";
  c.host_name = "box";
  c.epochbench_version = "0.1.0";
  c.git_sha = "abc";
  c.git_dirty = true;
  c.build_type = "Release";
  c.compiler = "gcc 12.2.0";
  c.command_line = {{"epochbench", "run"}};
  c.load_average = {0.5, 0.25, 0.125};
  c.cpu.model = "Some CPU";
  c.cpu.sockets = 1;
  c.cpu.cores = 2;
  c.cpu.threads_available = 4;
  c.cpu.isa = {"avx2"};
  c.cpu.l1d_bytes = 32768;
  c.cpu.memory_bytes = std::int64_t{1} << 40;
  c.cpu.peak_flops_per_second = {{"fp32", 1e11}, {"bf16", std::nullopt}};
  c.cpu.peak_instruction = {{"fp32", "vfmadd (avx2)"}, {"bf16", std::nullopt}};
  c.cpu.peak_threads = 2;
  GpuInfo gpu;
  gpu.name = "Some GPU";
  gpu.uuid = "GPU-1";
  gpu.pci_bus_id = "0000:65:00.0";
  gpu.memory_bytes = 8;
  gpu.peak_flops_per_second = {{"fp32", 1.0}, {"tf32", 2.0}, {"bf16", 3.0}, {"fp16", std::nullopt}};
  c.gpus = {gpu};

  Run ok;
  ok.name = "mlp:depth=3/cpu/fp32/b64";
  ok.repetition = 2;
  ok.workload = {"mlp:depth=3",
                 "train",
                 10,
                 std::string(32, 'a'),
                 64,
                 "digits",
                 1408,
                 "adamw lr=0.001",
                 std::numeric_limits<std::uint64_t>::max(),
                 123.5,
                 7,
                 41};
  ok.device = {"cpu", "Some CPU", 2, "avx2", true, "winograd", "fusion+prefetch"};
  ok.precision = "fp32";
  ok.input = Input{3, false, 0.002, "decoded"};
  ok.timing =
      Timing{3, {0.1, 1.0 / 3, 1e-9}, 0.1, {{0.05, 0.2}}, 0.433333334, 12.5, "projected", 0.01, 20, "noise", 1e-6, 0.003};
  ok.throughput = Throughput{640, std::nullopt};
  ok.latency = Latency{3, 0.25, std::nullopt, std::nullopt, 0.5, {0.25, 1.0 / 3, 0.5}};
  ok.efficiency = Efficiency{1e10, 0.25, 0.01, std::nullopt};
  ok.memory = Memory{100, 200, 0.5, 64};
  ok.interference = Interference{0.75};
  ok.gpu = GpuState{0.5, 1e9, 60, 3, 0, {"sw_power_cap"}, {{{0, 1}, {2, 2}}}, 12345, "memory: Not Supported"};
  ok.quality = Quality{{2.5, 2.25}, 2.25, "accuracy", 0.9, {0.8, 0.9}, "mlp/cpu/fp32/b64", 1e-7, "library"};
  ok.energy =
      Energy{"rapl", 1.0, 2.0, std::nullopt, 4.0, 5.0, 4.0, std::nullopt, 5.0, std::nullopt, 0.25, "GPU: no card", {"whole"}};
  ok.cost = Cost{0.34, 0.001, 0.002, "user", "EUR"};
  ok.profile = Profile{7,
                       0.75,
                       std::nullopt,
                       std::nullopt,
                       {{"matmul", 1, 0.5, 2.0 / 3, 200, 20, std::nullopt, 100, 10, std::nullopt},
                        {"relu", 1, 0.25, 1.0 / 3, std::nullopt, 80, 0.5, 0, 20, 0.125}},
                       {{"fc1", "matmul", "avx2 matmul", 0.5, 100, 10, std::nullopt, std::nullopt, std::nullopt},
                        {"relu1", "relu", "avx2 relu", 0.25, 0, 20, 0.125, "memory", 0.5}}};

  Run failed;
  failed.name = "mlp/cpu/fp32/b64";
  failed.status = RunStatus::out_of_memory;
  failed.message = "needs 5 GB";
  failed.workload = ok.workload;
  failed.device = ok.device;
  failed.precision = "fp32";
  failed.timing = ok.timing;  // must not be written
  failed.latency = ok.latency;
  failed.profile = ok.profile;
  result.runs = {ok, failed};
  return result;
}

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
  EXPECT_EQ(run.input->cache, "decoded");
  EXPECT_EQ(run.profile->classes[1].limit_fraction, 0.5);
  EXPECT_EQ(run.profile->classes[1].limit_seconds, 0.125);
  EXPECT_FALSE(run.profile->nodes[0].limit);
  EXPECT_EQ(run.profile->nodes[1].limit, "memory");
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
  EXPECT_NO_THROW(Json::parse(result_to_text(result)));
}

TEST(ResultJson, ANewerVersionIsRefusedByName) {
  std::string text = result_to_text(complete_result());
  text.replace(text.find("\"schema_version\": 1"), 19, "\"schema_version\": 2");
  EXPECT_THAT(parse_failure(text),
              testing::AllOf(HasSubstr("file.json"), HasSubstr("version 2 is newer"), HasSubstr("update")));
}

TEST(ResultJson, FurtherKeysAreIgnored) {
  Json document = Json::parse(result_to_text(complete_result()));
  document["later"] = 1;
  document["runs"][0]["timing"]["later"] = {1, 2};
  EXPECT_EQ(parse_result(document.dump(), "file.json").runs.size(), 2u);
}

TEST(ResultJson, WrongDocumentsSayWhereTheyAreWrong) {
  EXPECT_THAT(parse_failure("{}"), HasSubstr("no schema_version"));
  EXPECT_THAT(parse_failure("[1, 2]"), HasSubstr("must be an object"));
  Json document = Json::parse(result_to_text(complete_result()));
  document["runs"][1]["status"] = "splendid";
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("file.json.runs[1].status: unknown status 'splendid'"));
  document["runs"][1]["status"] = "failed";
  document["runs"][0]["timing"]["step_seconds"] = "fast";
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("runs[0].timing.step_seconds: must be an array of numbers"));
  document["runs"][0]["gpu"]["throttled_step_ranges"] = Json::array({Json::array({1})});
  document["runs"][0]["timing"] = nullptr;
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("gpu.throttled_step_ranges: must be an array of pairs"));
  document["runs"][0]["gpu"] = nullptr;
  document["runs"][0]["repetition"] = 1e300;
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("repetition: must be a whole number"));
  document["runs"][0].erase("repetition");
  EXPECT_THAT(parse_failure(document.dump()), HasSubstr("runs[0].repetition: missing"));
}

TEST(ParseJson, RefusesWhatIsNotJsonInOneLine) {
  for (const char* text : {"", "{", "{\"a\": nan}", "{\"a\": 1e999}", "\x01\x02", "{} {}", "{\"a\":\n\n\"\xff\xfe\"}", "'"})
    try {
      parse_json(text, "file.json");
      FAIL() << text;
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), HasSubstr("file.json: not valid JSON"));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      EXPECT_LT(std::string(error.what()).size(), 400u);
    }
}

TEST(ParseJson, RefusesDeepNestingBeforeParsing) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth), "file.json"));
  EXPECT_THROW(parse_json(nested(kMaxJsonDepth + 1), "file.json"), FormatError);
  EXPECT_THROW(parse_json(std::string(20'000'000, '['), "file.json"), FormatError);
  EXPECT_NO_THROW(parse_json("\"" + std::string(1000, '[') + "\\\"[\"", "file.json"));  // brackets in a string are text
}

TEST(PrintJson, KeepsListsOfNumbersOnOneLine) {
  EXPECT_EQ(print_json(Json{{"a", {1, 2}}, {"b", Json::array()}, {"c", {{"d", nullptr}}}}),
            "{\n  \"a\": [1, 2],\n  \"b\": [],\n  \"c\": {\n    \"d\": null\n  }\n}\n");
}

}  // namespace
}  // namespace epochbench
