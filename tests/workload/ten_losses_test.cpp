// Ten training steps of each model against the losses of PyTorch that scripts/peers/ten_losses stored: same initial weights,
// same batches, no dropout.
#include "support/ten_losses.h"

#include <cmath>

#include <gtest/gtest.h>

#include "src/worker/runner.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

class TenLosses : public testing::TestWithParam<const char*> {};

TEST_P(TenLosses, AreThoseOfPyTorch) {
  const std::string name = GetParam();
  auto [spec, expected] = test::stored_losses(name);
  ASSERT_EQ(expected.size(), name == "nasnet-large" ? 1u : 10u);
  spec.threads = 2;
  std::vector<DeviceKind> devices{DeviceKind::cpu};
  if (name.ends_with("-small")) devices.push_back(DeviceKind::reference);
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
  spec.model = find_model("bert-tiny:sequence=32");
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
  spec.model = find_model("lstm-lm:units=16,vocabulary=256");
  spec.data = "founding-documents";
  spec.batch = 50;
  spec.threads = 2;
  PreparedCase prepared = prepare_case(spec);
  EXPECT_EQ(prepared.labels_per_sample, 35);
  EXPECT_EQ(prepared.metric, EvalMetric::loss);
  Runner runner(*prepared.executable, *prepared.batches, prepared.entry, steady_seconds, read_usage);
  EXPECT_NEAR(runner.evaluate(prepared.labels_per_sample).loss, std::log(256.0), 0.1);  // untrained: a uniform guess
}

INSTANTIATE_TEST_SUITE_P(Models, TenLosses,
                         testing::Values("mlp", "lenet5", "resnet20", "resnet18", "resnet34", "resnet50", "resnet101",
                                         "resnet152", "bert-tiny", "bert-base", "bert-large", "gpt2-128", "llama-15m",
                                         "llama-110m-128", "vit-b-16", "vit-s-16", "mobilenet-v2", "efficientnet-b0",
                                         "efficientnet-b2", "nasnet-mobile", "nasnet-large", "lstm", "lstm-lm"),
                         [](const auto& info) { return test::letters_of(info.param); });
INSTANTIATE_TEST_SUITE_P(SmallModels, TenLosses, testing::ValuesIn(test::kSmallLosses),
                         [](const auto& info) { return test::letters_of(info.param); });

}  // namespace
}  // namespace epochbench
