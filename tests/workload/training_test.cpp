// Whole training steps: CPU against reference, determinism, evaluation with padded batches.
#include <cmath>

#include <gtest/gtest.h>

#include "support/made_workload.h"
#include "support/trainer.h"

namespace epochbench {
namespace {

using test::Trainer;
using test::Training;

class TenLosses : public testing::TestWithParam<Training> {};

TEST_P(TenLosses, OfTheCpuAreThoseOfTheReference) {
  const std::vector<double> expected = Trainer(GetParam(), *make_reference_backend()).losses(10);
  for (int threads : {1, 3}) {
    const std::vector<double> losses = Trainer(GetParam(), *make_cpu_backend(threads)).losses(10);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i] / expected[i], 1, 1e-5) << "step " << i;
  }
  EXPECT_NEAR(expected[0], std::log(10.0), 0.8);
}

INSTANTIATE_TEST_SUITE_P(Models, TenLosses,
                         testing::Values(Training{"mlp:width=96", 12, "digits"}, Training{"lenet5", 6, "digits"},
                                         Training{"resnet20", 2}),
                         [](const auto& info) { return info.param.model.substr(0, info.param.model.find(':')); });

TEST(Determinism, SameThreadsGiveBitEqualLosses) {
  for (const Training& training : {Training{"mlp", 16, "digits"}, Training{"lenet5", 16, "digits"}, Training{"resnet20", 8}})
    for (int threads : {1, 2, 3}) {
      const auto backend = make_cpu_backend(threads);
      EXPECT_EQ(Trainer(training, *backend).losses(5), Trainer(training, *backend).losses(5)) << training.model;
    }
}

// Of SGD and of AdamW. The first loss is that of the initial weights, the second one that of a step.
TEST(WeightDecay, ChangesTheLossesUnlessItIsTheModels) {
  for (Training training : {Training{"resnet20", 4}, Training{"mlp", 16, "digits"}}) {
    const auto backend = make_cpu_backend(1);
    const double own = test::made_workload(training.model, training.batch).optimizer.weight_decay;
    const std::vector<double> losses = Trainer(training, *backend).losses(3);
    training.weight_decay = own;
    EXPECT_EQ(Trainer(training, *backend).losses(3), losses) << training.model;
    training.weight_decay = 0.9;
    const std::vector<double> decayed = Trainer(training, *backend).losses(3);
    EXPECT_EQ(decayed[0], losses[0]) << training.model;
    EXPECT_NE(decayed[2], losses[2]) << training.model;
  }
}

TEST(WeightDecay, BelongsToTheIdentityOfTheWorkload) {
  CaseSpec spec;
  spec.model = "resnet20";
  const std::string own = count(workload_spec(spec)).fingerprint;
  spec.weight_decay = 1e-4;
  EXPECT_EQ(count(workload_spec(spec)).fingerprint, own);
  spec.weight_decay = 1e-3;
  EXPECT_NE(count(workload_spec(spec)).fingerprint, own);
  EXPECT_EQ(workload_spec(spec).optimizer.to_string(), "sgd lr=0.05 momentum=0.9 weight_decay=0.001");
}

TEST(Evaluation, IgnoresPaddedRowsAndLeavesTheWeightsAlone) {
  for (const char* model : {"lenet5", "resnet20"}) {
    Trainer trainer({model, 8}, *make_cpu_backend(2));
    trainer.losses(2);
    const StepRecord whole = trainer.step(Entry::evaluate, 0);
    StepRecord parts = trainer.step(Entry::evaluate, 0, 3);
    double loss = parts.loss, correct = parts.correct;
    for (std::int64_t i = 3; i < 8; ++i) {
      parts = trainer.step(Entry::evaluate, i, 1);
      loss += parts.loss;
      correct += parts.correct;
    }
    EXPECT_NEAR(loss / whole.loss, 1, 1e-5);
    EXPECT_EQ(correct, whole.correct);
    EXPECT_EQ(trainer.step(Entry::evaluate, 0).loss, whole.loss);
  }
}

TEST(Training, LearnsDigits) {
  Trainer trainer({"lenet5", 64, "digits"}, *make_cpu_backend(2));
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int i = 0; i < 22; ++i) trainer.step(Entry::train, i * 64);
  EXPECT_GT(trainer.step(Entry::evaluate, 0).correct, 0.85 * 64);
}

}  // namespace
}  // namespace epochbench
