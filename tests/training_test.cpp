// Whole training steps: CPU against reference, determinism, evaluation with padded batches.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "src/workload/workload.h"

namespace epochbench {
namespace {

struct Training {
  std::string model;
  std::int64_t batch;
  std::string data = "synthetic";
};

void PrintTo(const Training& training, std::ostream* out) { *out << training.model << " batch " << training.batch; }

WorkloadSpec workload(const Training& training) {
  CaseSpec spec;
  spec.model = training.model;
  spec.batch = training.batch;
  return workload_spec(spec);
}

class Trainer {
 public:
  Trainer(const Training& training, const Backend& backend) : training_(training) {
    const WorkloadSpec spec = workload(training);
    const Program program = make_program(spec, backend, {Entry::train, Entry::evaluate});
    data_ = open_dataset(training.data, spec.model.family->sample(spec.config), 1000, 0);
    executable_ = backend.compile(program);
    initialize(*executable_, program, 0);
  }

  // Samples `first`, `first` + 1, …; rows from `valid` on are ignored.
  StepRecord step(Entry entry, std::int64_t first, std::int64_t valid = -1) {
    const std::vector<std::span<std::byte>> inputs{executable_->stage(0, 0), executable_->stage(0, 1)};
    for (std::int64_t row = 0; row < training_.batch; ++row) data_->fill(Split::train, first + row, 0, row, inputs);
    for (std::int64_t row = valid; valid >= 0 && row < training_.batch; ++row)
      reinterpret_cast<std::int32_t*>(inputs[1].data())[row] = -1;
    executable_->submit(0);
    executable_->run(entry);
    executable_->synchronize();
    std::vector<StepRecord> records;
    executable_->drain(records);
    return records.at(0);
  }

  std::vector<double> losses(int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(step(Entry::train, i * training_.batch).loss);
    return losses;
  }

 private:
  Training training_;
  std::unique_ptr<Dataset> data_;
  std::unique_ptr<Executable> executable_;
};

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
