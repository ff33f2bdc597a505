// What a stored result gets when it is read: best peaks, data sets of epochs, least times of steps.
#include "src/session/complete_result.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "epochbench/model.h"
#include "src/result/result_json.h"
#include "src/workload/nominal_epoch.h"
#include "src/workload/workload.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::Optional;

Workload synthetic_work(const std::string& model, std::int64_t samples, std::int64_t batch = 16,
                        std::optional<std::int64_t> tokens = {}) {
  Workload work;
  work.model = model;
  work.dataset = "synthetic";
  work.samples_per_epoch = samples;
  work.batch = batch;
  work.tokens_per_sample = tokens;
  return work;
}

TEST(NominalDataset, IsKnownOfEveryModel) {
  for (const ModelFamily& family : model_registry()) {
    EXPECT_FALSE(family.nominal_epoch.dataset.empty()) << family.name;
    EXPECT_GT(family.nominal_epoch.samples, 10'000) << family.name;
    CaseSpec spec;
    spec.model = find_model(family.name);
    const SampleSpec sample = family.sample(workload_spec(spec).config);
    const auto tokens = sample.text() ? std::optional(sample.sequence) : std::nullopt;
    EXPECT_EQ(nominal_dataset(synthetic_work(family.name, family.nominal_epoch.samples, 1, tokens)),
              family.nominal_epoch.dataset)
        << family.name << " with its default options";
  }
}

TEST(NominalDataset, IsPartOfACasesWorkload) {
  CaseSpec spec;
  spec.model = find_model("lenet5");
  spec.batch = 64;
  DatasetSizes sizes;
  const auto dataset_of = [&](const char* data) {
    spec.data = data;
    return describe_workload(spec, dataset_size(spec, sizes)).nominal_dataset;
  };
  EXPECT_EQ(dataset_of("synthetic"), "MNIST");
  EXPECT_EQ(dataset_of("digits"), std::nullopt);
  spec.epoch_samples = 640;
  EXPECT_EQ(dataset_of("synthetic"), std::nullopt);
}

TEST(NominalDataset, IsThatOfAnEpochOfItsSize) {
  EXPECT_EQ(nominal_dataset(synthetic_work("resnet50", 1281167)), "ImageNet");
  EXPECT_EQ(nominal_dataset(synthetic_work("resnet50:classes=10", 1281152)), "ImageNet") << "whole batches";
  EXPECT_EQ(nominal_dataset(synthetic_work("resnet50", 1281151)), std::nullopt) << "a batch less";
  EXPECT_EQ(nominal_dataset(synthetic_work("resnet50", 1281168)), std::nullopt);
  EXPECT_EQ(nominal_dataset(synthetic_work("resnet50", 0)), std::nullopt);
  EXPECT_EQ(nominal_dataset(synthetic_work("a model of later", 1281167)), std::nullopt);
  Workload real = synthetic_work("lenet5", 60000);
  real.dataset = "mnist:/data";
  EXPECT_EQ(nominal_dataset(real), std::nullopt);
}

TEST(NominalDataset, OfATextThatIsCutIntoSamplesDependsOnTheirLength) {
  EXPECT_EQ(nominal_dataset(synthetic_work("gpt2", 8823810, 1, 1024)), "OpenWebText");
  EXPECT_EQ(nominal_dataset(synthetic_work("gpt2:sequence=512", 8823810, 1, 512)), std::nullopt);
  EXPECT_EQ(nominal_dataset(synthetic_work("bert-base:sequence=384", 87599, 8, 384)), "SQuAD") << "a question is a question";
}

TEST(CompleteResult, NamesTheDataSetsOfOlderFiles) {
  Result result = read_result(std::string(PUBLISHED_RESULTS) + "/zen4-2cores-quick.json");
  for (const auto& run : result.runs) EXPECT_FALSE(run.workload.nominal_dataset) << "the file is older";
  complete(result);
  for (const auto& run : result.runs) {
    const std::string& model = run.workload.model;
    const std::optional<std::string> known = model == "resnet50"    ? std::optional("ImageNet")
                                             : model == "resnet20"  ? std::optional("CIFAR-10")
                                             : model == "bert-base" ? std::optional("SQuAD")
                                                                    : std::nullopt;
    EXPECT_EQ(run.workload.nominal_dataset, known) << run.name;
  }
}

// Five processes measured the CPU of this file, and the first reached least: 2.07 TFLOP/s in fp32 of 2.68.
TEST(CompleteResult, TakesTheBestBurstOfAFile) {
  Result result = read_result(std::string(PUBLISHED_RESULTS) + "/h200-record.json");
  const double first = result.context.cpu.peak_processes.at(0).peak_flops_per_second.at("fp32").value();
  EXPECT_THAT(result.context.cpu.peak_flops_per_second.at("fp32"), Optional(first));
  complete(result);
  const double best = result.context.cpu.peak_flops_per_second.at("fp32").value();
  EXPECT_GT(best, 1.29 * first);
  int on_cpu = 0, on_gpu = 0;
  for (const auto& run : result.runs) {
    if (!run.efficiency || !run.efficiency->peak_fraction) continue;
    if (run.device.backend == BackendKind::cuda) {
      ++on_gpu;
      const double peak = result.context.gpus.at(0).peak_flops_per_second.at(name(run.precision)).value();
      EXPECT_DOUBLE_EQ(*run.efficiency->peak_fraction, run.efficiency->flops_per_second / peak) << run.name;
    } else if (run.precision == Precision::fp32) {
      ++on_cpu;
      EXPECT_DOUBLE_EQ(*run.efficiency->peak_fraction, run.efficiency->flops_per_second / best) << run.name;
    }
  }
  EXPECT_GT(on_cpu, 0);
  EXPECT_GT(on_gpu, 0);
}

// A higher peak of a later process shortens the least time of every step that products bound.
TEST(CompleteResult, BoundsFollowTheBestPeak) {
  Result result = read_result(std::string(PUBLISHED_RESULTS) + "/zen4-2cores-quick.json");
  complete(result);
  std::vector<double> before;
  for (const auto& run : result.runs) before.push_back(run.efficiency->bound_seconds.value_or(0));
  EXPECT_GT(std::ranges::count_if(before, [](double seconds) { return seconds > 0; }), 3) << "of the models of this build";
  CpuInfo& cpu = result.context.cpu;
  const double twice = 2 * cpu.peak_flops_per_second.at("fp32").value();
  cpu.peak_processes.push_back({60, {{"fp32", twice}}, {}});
  complete(result);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 0) continue;
    EXPECT_LT(result.runs[i].efficiency->bound_seconds.value(), before[i]) << result.runs[i].name;
  }
}

}  // namespace
}  // namespace epochbench
