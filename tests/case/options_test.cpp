// Numbers, words and lists as people type them, and the cases that they make.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/case/case_block.h"
#include "src/session/planned_case.h"
#include "support/made_cases.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string failure(const CaseBlock& block) {
  try {
    expand(block);
  } catch (const CallError& error) {
    EXPECT_EQ(error.code(), kExitCallIsWrong);
    return error.what();
  }
  return "";
}

std::vector<std::string> names(const CaseBlock& block, int default_threads = 2) {
  std::vector<std::string> result;
  for (const CaseSpec& spec : expand(block)) result.push_back(name_on(spec, default_threads));
  return result;
}

TEST(ParseInteger, TakesWholeNumbersWithinTheRange) {
  EXPECT_EQ(parse_integer("1", 1, 10), 1);
  EXPECT_EQ(parse_integer("10", 1, 10), 10);
  for (const char* text : {"4", "4.0", "4e0", "0.4e1", "40e-1"}) EXPECT_EQ(parse_integer(text, 1, 10), 4) << text;
  for (const char* text : {"0", "11", "-4", "", " 1", "1 ", "+1", "3.5", "1.1e1", "0x1", "1e20", "nan", "inf",
                           "100000000000000000000", "ten", "1,2"})
    EXPECT_THROW(parse_integer(text, 1, 10), CallError) << text;
}

TEST(ParseReal, TakesFiniteNumbersWithinTheRange) {
  EXPECT_DOUBLE_EQ(parse_real("1e-3", {0, 1}), 1e-3);
  EXPECT_DOUBLE_EQ(parse_real("0", {0, 1}), 0);
  for (const char* text : {"nan", "inf", "-inf", "1e999", "", "0.5x", "1,5", "-0.1", "1.1"})
    EXPECT_THROW(parse_real(text, {0, 1}), CallError) << text;
  EXPECT_THROW(parse_real("0", {0, 1, false, true}), CallError);
  EXPECT_THROW(parse_real("1", {0, 1, true, false}), CallError);
}

TEST(ParseSeed, TakesAllOfUnsigned64) {
  EXPECT_EQ(parse_seed("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_seed("1e3"), 1000u);
  for (const char* text : {"-1", "-1.0", "18446744073709551616", "1e20", "1.5", ""})
    EXPECT_THROW(parse_seed(text), CallError) << text;
}

TEST(SplitList, RefusesEmptyParts) {
  EXPECT_THAT(split_list("a,b"), ElementsAre("a", "b"));
  for (const char* text : {"", ",", "a,", ",a", "a,,b"}) EXPECT_THROW(split_list(text), CallError) << text;
}

TEST(SplitValues, AnOptionBelongsToTheModelBeforeIt) {
  const CaseOption& model = *find_case_option("model");
  EXPECT_THAT(split_values(model, "mlp:width=64,depth=3,lenet5,mlp,width=32,depth=1"),
              ElementsAre("mlp:width=64,depth=3", "lenet5", "mlp:width=32,depth=1"));
  EXPECT_THROW(split_values(model, "width=64,mlp"), CallError);
  EXPECT_THAT(split_values(*find_case_option("data"), "idx:/a,b"), ElementsAre("idx:/a,b"));
}

TEST(RunName, SaysWhatIsNotTheDefaultInAlphabeticalOrder) {
  EXPECT_THAT(names(block_of({{"model", "resnet20"}})), ElementsAre("resnet20/cpu/fp32/b128"));
  EXPECT_THAT(names(block_of({{"model", "lenet5"}, {"threads", "1,2"}})),
              ElementsAre("lenet5/cpu/fp32/b64/threads=1", "lenet5/cpu/fp32/b64"));
  EXPECT_THAT(
      names(block_of({{"model", "mlp:depth=3,width=64"},
                      {"batch", "8"},
                      {"data", "synthetic"},
                      {"threads", "1"},
                      {"seed", "7"},
                      {"mode", "forward"},
                      {"order", "sequential"},
                      {"pin", "none"},
                      {"meters", "off"},
                      {"learning_rate", "0.010"},
                      {"epoch_samples", "100"},
                      {"warmup", "0"}})),
      ElementsAre(
          "mlp:depth=3,width=64/cpu/fp32/b8/data=synthetic/epoch-samples=100/learning-rate=0.01/meters=off/mode=forward/"
          "order=sequential/pin=none/seed=7/threads=1/warmup=0"));
}

TEST(RunName, LeavesOutTheUsualWarmUp) {
  const auto warm = [](const char* device, const char* warmup, const char* stop = "min_time") {
    return names(block_of({{"model", "lenet5"}, {"device", device}, {"warmup", warmup}, {stop, "5"}})).front();
  };
  EXPECT_EQ(warm("cpu", "3"), "lenet5/cpu/fp32/b64");
  EXPECT_EQ(warm("cpu", "4"), "lenet5/cpu/fp32/b64/warmup=4");
  EXPECT_EQ(warm("cuda", "3", "steps"), "lenet5/cuda/fp32/b64");
  EXPECT_EQ(warm("cuda", "3"), "lenet5/cuda/fp32/b64/warmup=3") << "where a GPU would warm up by time";
}

TEST(CaseSpec, AGpuWarmsUpByTimeUnlessStepsOrEpochsAreAskedFor) {
  CaseSpec spec;
  EXPECT_EQ(default_warm_up_steps(spec), 3);
  spec.device = cuda_device(0);
  EXPECT_FALSE(default_warm_up_steps(spec));
  spec.stop.min_time_seconds = 5;
  EXPECT_FALSE(default_warm_up_steps(spec));
  CaseSpec steps = spec, epochs = spec, until = spec;
  steps.stop.steps = 10;
  epochs.stop.epochs = 1;
  until.stop.until = Until{EvalMetric::loss, 1};
  for (const CaseSpec& counted : {steps, epochs, until}) EXPECT_EQ(default_warm_up_steps(counted), 3);
}

TEST(RunName, SaysHowSamplesReachTheSteps) {
  EXPECT_THAT(
      names(block_of({{"model", "lenet5"}, {"loader_threads", "0,1,2"}})),
      ElementsAre("lenet5/cpu/fp32/b64/loader-threads=0", "lenet5/cpu/fp32/b64", "lenet5/cpu/fp32/b64/loader-threads=2"));
  EXPECT_THAT(names(block_of({{"model", "lenet5"}, {"decode_cost", "0,2e-3"}, {"cache", "none,decoded"}})),
              ElementsAre("lenet5/cpu/fp32/b64", "lenet5/cpu/fp32/b64/cache=decoded", "lenet5/cpu/fp32/b64/decode-cost=0.002",
                          "lenet5/cpu/fp32/b64/cache=decoded/decode-cost=0.002"));
}

TEST(RunName, LeavesOutDefaultsStoppingOptionsAndDropoutOfModelsWithoutIt) {
  EXPECT_THAT(names(block_of({{"model", "lenet5"},
                              {"data", "digits"},
                              {"batch", "64"},
                              {"steps", "5"},
                              {"dropout", "0.5"},
                              {"pin", "auto"},
                              {"meters", "on"}})),
              ElementsAre("lenet5/cpu/fp32/b64"));
}

TEST(RunName, SaysWhatIsLeftOut) {
  EXPECT_THAT(names(block_of({{"model", "mlp"}, {"without", "none,prefetch+fusion"}, {"gemm", "best,portable"}})),
              ElementsAre("mlp/cpu/fp32/b64", "mlp/cpu/fp32/b64/gemm=portable", "mlp/cpu/fp32/b64/without=fusion+prefetch",
                          "mlp/cpu/fp32/b64/gemm=portable/without=fusion+prefetch"));
}

TEST(RunName, TellsDevicesApart) {
  EXPECT_THAT(names(block_of({{"model", "lenet5"}, {"device", "cpu,cuda,cuda:1"}})),
              ElementsAre("lenet5/cpu/fp32/b64", "lenet5/cuda/fp32/b64", "lenet5/cuda/fp32/b64/device=cuda:1"));
}

TEST(Expand, MultipliesListsWithTheModelSlowest) {
  EXPECT_THAT(names(block_of({{"model", "mlp,lenet5"}, {"batch", "8,16"}})),
              ElementsAre("mlp/cpu/fp32/b8", "mlp/cpu/fp32/b16", "lenet5/cpu/fp32/b8", "lenet5/cpu/fp32/b16"));
}

TEST(Expand, RefusesAValueThatStandsTwice) {
  const auto with = [](const char* key, const char* value) { return failure(block_of({{"model", "mlp"}, {key, value}})); };
  for (const auto& [key, value] : {std::pair("batch", "8,16,8"),
                                   {"batch", "8,8.0"},
                                   {"precision", "fp32,bf16,fp32"},
                                   {"device", "cuda,cpu,cuda:0"},
                                   {"without", "none,winograd,winograd"}})
    EXPECT_THAT(with(key, value),
                testing::EndsWith(" stands twice; to measure a case several times, give a number of repetitions"))
        << key;
  EXPECT_THAT(failure(block_of({{"model", "mlp,mlp"}})), HasSubstr("--model: mlp stands twice"));
  EXPECT_THAT(names(block_of({{"model", "mlp:width=8,mlp:width=16,mlp"}})), testing::SizeIs(3));
}

TEST(Expand, RefusesBadValuesWithThePlaceAndTheRange) {
  const auto with = [](const char* key, const char* value) { return failure(block_of({{"model", "lenet5"}, {key, value}})); };
  EXPECT_THAT(with("batch", "0"), HasSubstr("--batch: '0' must be a whole number from 1"));
  EXPECT_THAT(with("batch", "100000000000000000000"), HasSubstr("--batch"));
  EXPECT_THAT(with("threads", "0"), HasSubstr("--threads"));
  EXPECT_THAT(with("device", "tpu"), testing::EndsWith("--device: 'tpu' is unknown"));
  EXPECT_THAT(with("device", "cuda:x"), testing::EndsWith("--device: 'cuda:x' is unknown"));
  EXPECT_THAT(with("device", "cuda:256"), testing::EndsWith("--device: 'cuda:256' is unknown"));
  EXPECT_THAT(with("precision", "fp8"), testing::EndsWith("--precision: 'fp8' is unknown"));
  EXPECT_THAT(with("until", "f1=0.5"), HasSubstr("choose from accuracy, loss"));
  EXPECT_THAT(with("until", "accuracy"), HasSubstr("METRIC=VALUE"));
  EXPECT_THAT(with("until", "accuracy=97"), HasSubstr("--until"));
  EXPECT_THAT(with("min_time", "-1"), HasSubstr("--min-time"));
  EXPECT_THAT(with("order", "random"), HasSubstr("--order"));
  EXPECT_THAT(with("loader_threads", "-1"), HasSubstr("--loader-threads: '-1' must be a whole number from 0"));
  EXPECT_THAT(with("decode_cost", "-0.1"), HasSubstr("--decode-cost"));
  EXPECT_THAT(with("cache", "pixels"), HasSubstr("--cache: 'pixels' is unknown; choose from none, decoded"));
  EXPECT_THAT(with("without", "fusion+speed"),
              HasSubstr("choose from none, fusion, graph-capture, library-attention, packed-weights, prefetch, winograd"));
  EXPECT_THAT(with("gemm", "fast"), HasSubstr("choose from best, portable"));
  EXPECT_THAT(with("dropout", "1"), HasSubstr("--dropout"));
  EXPECT_THAT(with("label_smoothing", "1"), HasSubstr("--label-smoothing: '1' must be a number from 0 and below 1"));
  EXPECT_THAT(with("learning_rate", "nan"), HasSubstr("--learning-rate"));
  EXPECT_THAT(with("lr_schedule", "linear"),
              HasSubstr("--lr-schedule: 'linear' is unknown; choose from constant, cosine, step"));
  EXPECT_THAT(with("lr_warmup", "-1"), HasSubstr("--lr-warmup: '-1' must be a whole number from 0"));
  EXPECT_THAT(with("lr_warmup", "5%"), HasSubstr("--lr-warmup"));
  for (const char* tokenizer : {"", "gpt2", "gpt2:", "wordpiece:", "bert:x"})
    EXPECT_THAT(with("tokenizer", tokenizer), HasSubstr("must be gpt2:DIR")) << tokenizer;
  EXPECT_THAT(with("weight_decay", "1"), HasSubstr("--weight-decay: '1' must be a number from 0 and below 1"));
  EXPECT_THAT(failure(block_of({{"model", "vgg"}})),
              HasSubstr("--model: unknown model 'vgg'; the nearest built-in model is resnet152, and "
                        "scripts/peers/profile_module measures a PyTorch module of your own (all: epochbench list models)"));
  EXPECT_THAT(failure(block_of({{"model", "mine.onnx"}})),
              HasSubstr("--model: unknown model 'mine.onnx'; ONNX files cannot be imported, and scripts/peers/profile_module"));
  EXPECT_THAT(failure(block_of({{"model", "mlp:height=3"}})), HasSubstr("it takes depth, width"));
}

// The command line adds what the machine has instead.
TEST(Expand, NamesTheWordThatIsNoDeviceOrPrecision) {
  for (const auto& [key, word, unknown] : {std::tuple("device", "tpu", Unknown::device),
                                           {"precision", "fp8", Unknown::precision},
                                           {"batch", "x", Unknown::nothing}})
    try {
      expand(block_of({{"model", "mlp"}, {key, word}}));
      FAIL() << key;
    } catch (const CallError& error) {
      EXPECT_EQ(error.unknown(), unknown) << key;
      EXPECT_EQ(error.word(), unknown == Unknown::nothing ? "" : word);
    }
}

TEST(Expand, RefusesStoppingOptionsThatContradict) {
  EXPECT_THAT(failure(block_of({{"model", "mlp"}, {"steps", "5"}, {"epochs", "1"}})), HasSubstr("exclude each other"));
  EXPECT_THAT(failure(block_of({{"model", "mlp"}, {"steps", "5"}, {"until", "loss=1"}})), HasSubstr("whole epochs"));
  EXPECT_THAT(failure(block_of({{"model", "mlp"}, {"mode", "forward"}, {"until", "loss=1"}})), HasSubstr("training"));
  EXPECT_EQ(failure(block_of({{"model", "mlp"}, {"epochs", "5"}, {"until", "loss=1"}})), "");
}

TEST(Expand, NamesTheOptionThatContradicts) {
  EXPECT_THAT(failure(block_of({{"batch", "8"}, {"model", "mlp"}, {"precision", "int8"}})),
              testing::StartsWith("--precision: int8 is for inference"));
  EXPECT_THAT(failure(block_of({{"batch", "8"}, {"model", "mlp"}, {"until", "loss=1"}, {"steps", "5"}})),
              testing::StartsWith("--until: "));
}

TEST(Expand, AScheduleNeedsTrainingAndItsLength) {
  const auto with = [](CaseBlock block) {
    block["model"] = {{"mlp"}, "--model"};
    return failure(block);
  };
  for (const char* schedule : {"cosine", "step"}) {
    EXPECT_THAT(with(block_of({{"lr_schedule", schedule}})), HasSubstr("needs to know how many steps there are"));
    EXPECT_THAT(with(block_of({{"lr_schedule", schedule}, {"min_time", "1"}})), HasSubstr("add epochs"));
    EXPECT_THAT(with(block_of({{"lr_schedule", schedule}, {"until", "loss=1"}})), HasSubstr("with until, the maximum"));
    EXPECT_EQ(with(block_of({{"lr_schedule", schedule}, {"until", "loss=1"}, {"epochs", "3"}})), "");
    EXPECT_EQ(with(block_of({{"lr_schedule", schedule}, {"steps", "9"}})), "");
  }
  EXPECT_EQ(with(block_of({{"lr_schedule", "constant"}, {"lr_warmup", "9"}})), "");
  EXPECT_THAT(with(block_of({{"mode", "forward"}, {"lr_warmup", "9"}})), HasSubstr("needs training"));
  EXPECT_THAT(with(block_of({{"mode", "forward"}, {"lr_schedule", "step"}, {"steps", "9"}})), HasSubstr("needs training"));
}

TEST(Merged, StoppingOptionsReplaceAllStoppingOptions) {
  const CaseBlock suite = block_of({{"model", "mlp"}, {"until", "accuracy=0.9"}, {"epochs", "9"}, {"batch", "8"}});
  const auto drafts = expand(merged(suite, block_of({{"steps", "5"}})));
  ASSERT_EQ(drafts.size(), 1u);
  EXPECT_EQ(drafts[0].stop.steps, 5);
  EXPECT_FALSE(drafts[0].stop.epochs || drafts[0].stop.until);
  EXPECT_EQ(drafts[0].batch, 8);
  EXPECT_EQ(expand(merged(suite, block_of({{"batch", "4"}})))[0].stop.epochs, 9);
}

TEST(PlanCases, RunsAllCasesOnceAndThenAgain) {
  const auto cases = plan_cases(expand(block_of({{"model", "mlp"}, {"batch", "8,16"}, {"steps", "1"}})), 2);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[1].spec.batch, 16);
  EXPECT_EQ(cases[1].spec.repetition, 0);
  EXPECT_EQ(cases[2].spec.batch, 8);
  EXPECT_EQ(cases[2].spec.repetition, 1);
  EXPECT_EQ(cases[0].workload.fingerprint, cases[2].workload.fingerprint);
  EXPECT_NE(cases[0].workload.fingerprint, cases[1].workload.fingerprint);
}

TEST(PlanCases, KeepsTwinsOnceAndRefusesTwinsThatStopOtherwise) {
  auto drafts = expand(block_of({{"model", "mlp"}, {"batch", "8"}, {"steps", "1"}}));
  drafts.push_back(drafts.front());
  EXPECT_EQ(plan_cases(drafts, 1).size(), 1u);
  drafts[1].stop.steps = 2;
  EXPECT_THROW(plan_cases(drafts, 1), CallError);
}

TEST(PlanCases, ACaseThatCannotRunIsSkippedAmongOthersAndAnErrorAlone) {
  const auto cases = plan_cases(expand(block_of({{"model", "mlp"}, {"precision", "fp32,tf32"}})), 1);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_FALSE(cases[0].obstacle);
  EXPECT_THAT(cases[1].obstacle->reason, HasSubstr("tf32"));
  for (const char* precision : {"tf32", "fp16"}) try {
      plan_cases(expand(block_of({{"model", "mlp"}, {"precision", precision}})), 1);
      FAIL() << precision;
    } catch (const CallError& error) {
      EXPECT_EQ(error.code(), kExitCallIsWrong);
    }
}

TEST(PlanCases, DataThatAreNotReadOrNotKeptAreAnObstacle) {
  // On digits, synthetic images and a text.
  const auto obstacles_of = [](CaseBlock block) {
    block["model"] = {{"lenet5", "resnet20", "bert-tiny"}, "--model"};
    std::vector<bool> obstacles;
    for (const PlannedCase& planned : plan_cases(expand(block), 1)) obstacles.push_back(planned.obstacle.has_value());
    return obstacles;
  };
  EXPECT_THAT(obstacles_of(block_of({{"loader_threads", "2"}})), ElementsAre(false, true, false));
  EXPECT_THAT(obstacles_of(block_of({{"decode_cost", "0.001"}})), ElementsAre(false, true, false));
  EXPECT_THAT(obstacles_of(block_of({{"cache", "decoded"}})), ElementsAre(false, true, true));
  EXPECT_THAT(obstacles_of(block_of({{"loader_threads", "1"}, {"decode_cost", "0"}, {"cache", "none"}})),
              ElementsAre(false, false, false));
}

TEST(PlanCases, WhatCannotBeLeftOutIsSkippedAmongOthersAndAnErrorAlone) {
  const auto cases = plan_cases(expand(block_of({{"model", "lenet5"}, {"without", "none,fusion,graph-capture,winograd"}})), 1);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_FALSE(cases[0].obstacle || cases[1].obstacle);
  EXPECT_EQ(cases[0].workload.fingerprint, cases[1].workload.fingerprint);
  EXPECT_THAT(cases[2].obstacle->reason, HasSubstr("graph-capture"));
  EXPECT_THAT(cases[3].obstacle->reason, HasSubstr("winograd"));
  try {
    plan_cases(expand(block_of({{"model", "mlp"}, {"gemm", "portable"}, {"precision", "fp16"}})), 1);
    FAIL();
  } catch (const CallError& error) {
    EXPECT_EQ(error.code(), kExitCallIsWrong);
  }
}

TEST(PlanCases, GivesTrainingsToATargetTheSameSeedsInEveryPrecision) {
  const auto cases = plan_cases(expand(block_of({{"model", "lenet5"},
                                                 {"until", "accuracy=0.9"},
                                                 {"precision", "fp32,fp16"},
                                                 {"device", "reference"},
                                                 {"seed", "7"}})),
                                3);
  std::vector<std::pair<Precision, std::uint64_t>> seeds;
  for (const PlannedCase& planned : cases) seeds.emplace_back(planned.spec.precision, planned.workload.seed);
  EXPECT_THAT(seeds, testing::ElementsAre(std::pair(Precision::fp32, 7u), std::pair(Precision::fp16, 7u),
                                          std::pair(Precision::fp32, 8u), std::pair(Precision::fp16, 8u),
                                          std::pair(Precision::fp32, 9u), std::pair(Precision::fp16, 9u)));
  EXPECT_THAT(cases[4].spec.name, HasSubstr("seed=9"));
  EXPECT_EQ(cases[4].settings.at("seed"), SettingValue(std::int64_t{9}));
  for (const PlannedCase& planned : plan_cases(expand(block_of({{"model", "lenet5"}, {"epochs", "2"}})), 2))
    EXPECT_EQ(planned.spec.seed, 0u) << "repetitions without a target repeat";
}

TEST(PlanCases, RefusesDataThatCannotServe) {
  const auto plan = [](const CaseBlock& block) { return plan_cases(expand(block), 1); };
  EXPECT_THROW(plan(block_of({{"model", "lenet5"}, {"batch", "2000"}})), CallError);
  EXPECT_THROW(plan(block_of({{"model", "resnet20"}, {"until", "accuracy=0.5"}})), CallError);
  EXPECT_THROW(plan(block_of({{"model", "lenet5"}, {"lr_schedule", "step"}, {"lr_warmup", "44"}, {"epochs", "2"}})), CallError);
  EXPECT_EQ(plan(block_of({{"model", "lenet5"}, {"lr_schedule", "step"}, {"lr_warmup", "43"}, {"epochs", "2"}})).size(), 1u);
  EXPECT_ANY_THROW(plan(block_of({{"model", "lenet5"}, {"tokenizer", "gpt2:/nowhere"}})));
  EXPECT_ANY_THROW(plan(block_of({{"model", "lenet5"}, {"data", "mnist"}})));
  try {
    plan(block_of({{"model", "lenet5"},
                   {"data", "idx:/nowhere"},
                   {"only_with", "data"},
                   {"lr_schedule", "cosine"},
                   {"lr_warmup", "200"},
                   {"epochs", "6"}}));
    ADD_FAILURE() << "nothing can run";
  } catch (const CallError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--only-with data: "));
    EXPECT_EQ(error.code(), kExitDeviceMissing);
  }
  EXPECT_ANY_THROW(plan(block_of({{"model", "lenet5"}, {"data", "idx:/nowhere"}})));
}

}  // namespace
}  // namespace epochbench
