// Ten training steps of each model against the losses of PyTorch that scripts/peers/ten_losses stored: same initial weights,
// same batches, no dropout.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/worker/runner.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

class TenLosses : public testing::TestWithParam<const char*> {};

TEST_P(TenLosses, AreThoseOfPyTorch) {
  const std::filesystem::path path = std::filesystem::path(TEN_LOSSES_FOLDER) / (std::string(GetParam()) + ".json");
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const auto stored = nlohmann::json::parse(file);
  CaseSpec spec;
  spec.model = stored.at("model");
  spec.data = stored.at("data");
  spec.order = from_name<Order>(stored.at("order").get<std::string>()).value();
  spec.batch = stored.at("batch");
  spec.seed = stored.at("seed");
  spec.dropout = stored.at("dropout").get<double>();
  spec.label_smoothing = stored.at("label_smoothing").get<double>();
  if (const auto rate = stored.find("learning_rate"); rate != stored.end() && !rate->is_null())
    spec.learning_rate = rate->get<double>();
  spec.threads = 2;
  const auto expected = stored.at("loss").get<std::vector<double>>();
  ASSERT_EQ(expected.size(), path.stem() == "nasnet-large" ? 1u : 10u);

  std::vector<DeviceKind> devices{DeviceKind::cpu};
  if (path.stem().string().ends_with("-small")) devices.push_back(DeviceKind::reference);
  for (const DeviceKind device : devices) {
    spec.device.kind = device;
    PreparedCase prepared;
    try {
      prepared = prepare_case(spec);
    } catch (const OutOfMemory& error) {
      GTEST_SKIP() << error.what();  // bert-large takes more than 5 GB
    }
    Runner runner(*prepared.executable, *prepared.batches, prepared.entry, steady_seconds, read_usage);
    runner.begin_epoch(0);
    const std::vector<double> losses = runner.steps(static_cast<std::int64_t>(expected.size())).loss;
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(losses[i] / expected[i], 1, 1e-4) << "step " << i << " on " << to_string(spec.device);
  }
}

TEST(Evaluation, TextLossIsTheMeanOverItsLabels) {
  CaseSpec spec;
  spec.model = "bert-tiny:sequence=32";
  spec.data = "founding-documents";
  spec.batch = 64;  // of 182 test windows, so the last batch is padded
  spec.threads = 2;
  PreparedCase prepared = prepare_case(spec);
  Runner runner(*prepared.executable, *prepared.batches, prepared.entry, steady_seconds, read_usage);
  const Evaluation evaluation = runner.evaluate(prepared.labels_per_sample);
  EXPECT_EQ(evaluation.samples, 182);
  EXPECT_NEAR(evaluation.loss, std::log(30522.0), 0.2);  // untrained: a uniform guess
  EXPECT_LT(evaluation.accuracy, 0.05);
}

TEST(Evaluation, LossOfNextTokensIsTheMeanOverAllPositions) {
  CaseSpec spec;
  spec.model = "lstm-lm:units=16,vocabulary=256";
  spec.data = "founding-documents";
  spec.batch = 50;
  spec.threads = 2;
  PreparedCase prepared = prepare_case(spec);
  EXPECT_EQ(prepared.labels_per_sample, 35);
  EXPECT_EQ(prepared.metric, "loss");
  Runner runner(*prepared.executable, *prepared.batches, prepared.entry, steady_seconds, read_usage);
  EXPECT_NEAR(runner.evaluate(prepared.labels_per_sample).loss, std::log(256.0), 0.1);  // untrained: a uniform guess
}

INSTANTIATE_TEST_SUITE_P(Models, TenLosses,
                         testing::Values("mlp", "lenet5", "resnet20", "resnet18", "resnet34", "resnet50", "resnet101",
                                         "resnet152", "bert-tiny", "bert-base", "bert-large", "gpt2-small", "gpt2-128",
                                         "llama-small", "llama-15m", "llama-110m-128", "vit-b-16", "vit-s-16", "mobilenet-v2",
                                         "efficientnet-b0", "efficientnet-b2", "nasnet-mobile", "nasnet-small", "nasnet-large",
                                         "lstm", "lstm-lm"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace epochbench
