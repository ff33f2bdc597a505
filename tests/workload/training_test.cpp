// Whole training steps: CPU against reference, determinism, evaluation with padded batches.
#include <cmath>

#include <gtest/gtest.h>

#include "support/made_workload.h"
#include "support/staged_bytes.h"
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
  const WorkloadSpec workload = test::made_workload(GetParam().model, GetParam().batch);
  EXPECT_NEAR(expected[0], std::log(static_cast<double>(workload.model.family->sample(workload.config).classes)), 0.8);
}

INSTANTIATE_TEST_SUITE_P(Models, TenLosses,
                         testing::Values(Training{"mlp:width=96", 12, "digits"}, Training{"lenet5", 6, "digits"},
                                         Training{"resnet20", 2}, Training{test::kSmallGpt2, 3}, Training{test::kSmallLlama, 3},
                                         Training{"llama-15m:layers=1,units=24,heads=3,hidden=17,sequence=1,vocabulary=256", 5},
                                         Training{"gpt2:layers=1,units=24,heads=3,sequence=1,vocabulary=256", 5}),
                         [](const auto& info) { return test::parameter_name(info.param.model); });

TEST(Determinism, SameThreadsGiveBitEqualLosses) {
  for (const Training& training : {Training{"mlp", 16, "digits"}, Training{"lenet5", 16, "digits"}, Training{"resnet20", 8},
                                   Training{test::kSmallGpt2, 4}, Training{test::kSmallLlama, 4}})
    for (int threads : {1, 2, 3}) {
      const auto backend = make_cpu_backend(threads);
      EXPECT_EQ(Trainer(training, *backend).losses(5), Trainer(training, *backend).losses(5)) << training.model;
    }
}

// After one step the first moments are 1 - beta1 times the gradient that was used, so their norm is that of all gradients, or
// the largest allowed one. A loss scale does not count.
TEST(ClipNorm, LimitsTheGradientOfAllParametersTogether) {
  const auto norm_of_moments = [](const Backend& backend, Precision precision, double clip_norm) {
    CaseSpec spec;
    spec.model = find_model(test::kSmallGpt2);
    spec.batch = 2;
    spec.dropout = 0;
    WorkloadSpec workload = workload_spec(spec);
    workload.optimizer.clip_norm = clip_norm;
    Trainer trainer(workload, "synthetic", precision, backend);
    trainer.step(Entry::train, 0);
    double squares = 0;
    for (const Variable& variable : trainer.program().variables) {
      if (!variable.name.ends_with(".moment1")) continue;
      std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
      trainer.executable().read(variable.name, values);
      for (float value : values) squares += static_cast<double>(value) * value;
    }
    return std::sqrt(squares) / (1 - workload.optimizer.beta1);
  };
  const auto cpu = make_cpu_backend(2), reference = make_reference_backend();
  const double whole = norm_of_moments(*reference, Precision::fp32, 0);
  for (double clip_norm : {whole / 3, whole * 3}) {
    const double expected = std::min(whole, clip_norm);
    EXPECT_NEAR(norm_of_moments(*reference, Precision::fp32, clip_norm) / expected, 1, 1e-5);
    EXPECT_NEAR(norm_of_moments(*cpu, Precision::fp32, clip_norm) / expected, 1, 1e-5);
    EXPECT_NEAR(norm_of_moments(*reference, Precision::fp16, clip_norm) / expected, 1, 1e-2);
  }
}

TEST(ClipNorm, BelongsToTheIdentityOfTheWorkload) {
  WorkloadSpec workload = test::made_workload("lenet5", 4);
  const std::string own = count(workload).fingerprint;
  workload.optimizer.clip_norm = 1;
  EXPECT_NE(count(workload).fingerprint, own);
}

// Both with SGD and with AdamW. The first loss is that of the initial weights, the second one that of a step.
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
  spec.model = find_model("resnet20");
  const std::string own = count(workload_spec(spec)).fingerprint;
  spec.weight_decay = 1e-4;
  EXPECT_EQ(count(workload_spec(spec)).fingerprint, own);
  spec.weight_decay = 1e-3;
  EXPECT_NE(count(workload_spec(spec)).fingerprint, own);
  EXPECT_EQ(workload_spec(spec).optimizer.to_string(), "sgd lr=0.05 momentum=0.9 weight_decay=0.001");
}

// What changes the loss of training alone: evaluation stays, and the CPU trains as the reference does.
void expect_trained_but_not_evaluated(const Training& changed, const Training& plain) {
  const auto backend = make_cpu_backend(2);
  Trainer with(changed, *backend), without(plain, *backend);
  EXPECT_EQ(with.step(Entry::evaluate, 0).loss, without.step(Entry::evaluate, 0).loss);
  EXPECT_NE(with.step(Entry::train, 0).loss, without.step(Entry::train, 0).loss);
  const std::vector<double> expected = Trainer(changed, *make_reference_backend()).losses(5);
  const std::vector<double> losses = Trainer(changed, *backend).losses(5);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i] / expected[i], 1, 1e-5) << "step " << i;
}

TEST(LabelSmoothing, IsTrainedButNotEvaluated) {
  Training smoothed{"mlp", 16, "digits"};
  smoothed.label_smoothing = 0.2;
  expect_trained_but_not_evaluated(smoothed, {"mlp", 16, "digits"});
}

TEST(LabelSmoothing, BelongsToTheIdentityOfTheWorkload) {
  CaseSpec spec;
  spec.model = find_model("lenet5");
  const std::string own = count(workload_spec(spec)).fingerprint;
  spec.label_smoothing = 0.1;
  EXPECT_NE(count(workload_spec(spec)).fingerprint, own);
}

TEST(Mixup, IsTrainedButNotEvaluated) {
  for (const char* model : {"mlp", "lenet5"}) {
    SCOPED_TRACE(model);
    Training mixed{model, 7};
    mixed.mixup = 0.4;
    mixed.label_smoothing = 0.1;
    expect_trained_but_not_evaluated(mixed, {model, 7});
  }
}

// Pairs are neighbors, so that parts with an even number of samples have those of the whole batch.
TEST(Mixup, OfPartsIsThatOfTheWholeBatch) {
  const auto backend = make_reference_backend();
  Training whole{"mlp", 8, "digits"};
  whole.mixup = 1;
  Training parts = whole;
  parts.accumulate = 2;
  const std::vector<double> expected = Trainer(whole, *backend).losses(3), losses = Trainer(parts, *backend).losses(3);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i] / expected[i], 1, 1e-6) << "step " << i;
}

TEST(Mixup, GradientMatchesFiniteDifference) {
  const auto backend = make_cpu_backend(2);
  Training training{"resnet20", 5};  // whose step is the gradient
  training.mixup = 1;
  Trainer trainer(training, *backend);
  const std::string name = "fc.bias";
  const auto read = [&](const std::string& variable, std::int64_t size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    trainer.executable().read(variable, values);
    return values;
  };
  const std::vector<float> before = read(name, 10);
  const auto loss_at = [&](std::size_t i, float delta) {
    Trainer moved(training, *backend);
    std::vector<float> values = before;
    values[i] += delta;
    moved.executable().write(name, values);
    return moved.step(Entry::train, 0).loss;
  };
  trainer.write("learning_rate", 1);
  trainer.step(Entry::train, 0);
  const std::vector<float> after = read(name, 10);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double expected = (loss_at(i, 0.05f) - loss_at(i, -0.05f)) / 0.1;
    EXPECT_NEAR(before[i] - after[i], expected, 2e-3 * std::abs(expected) + 2e-4) << i;
  }
}

TEST(Mixup, BelongsToTheIdentityOfTheWorkload) {
  CaseSpec spec;
  spec.model = find_model("lenet5");
  const std::string own = count(workload_spec(spec)).fingerprint;
  spec.mixup = 0.2;
  const std::string mixed = count(workload_spec(spec)).fingerprint;
  EXPECT_NE(mixed, own);
  spec.mixup = 0.4;
  EXPECT_NE(count(workload_spec(spec)).fingerprint, mixed);
}

TEST(Mixup, IsOfImagesThatAreTrained) {
  CaseSpec spec;
  spec.mixup = 0.2;
  const auto refusal = [&] {
    try {
      workload_spec(spec);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  spec.model = find_model("lenet5");
  EXPECT_EQ(refusal(), "");
  spec.mode = Mode::forward;
  EXPECT_EQ(refusal(), "--mixup: mode forward trains nothing; leave it out");
  spec.mode = Mode::train;
  spec.model = find_model("bert-tiny");
  EXPECT_EQ(refusal(), "--mixup: bert-tiny reads texts, and only images can be mixed; leave it out");
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

TEST(Bytes, TrainAsFloatsDoToTheBit) {
  for (const char* model : {"lenet5", "mlp:width=96"})
    for (Precision precision : {Precision::fp32, Precision::bf16})
      test::expect_bytes_train_as_floats(*make_reference_backend(), model, precision);
}

// A whole case: bytes where images keep their size and the backend decodes them, and the result says which.
TEST(Bytes, AreStagedWhereImagesAreNotResizedAndTheBackendHasAKernel) {
  const test::TemporaryFolder folder;
  test::write_idx_folder(folder, 28, 28, 20, 8);
  CaseSpec spec;
  spec.model = find_model("lenet5");
  spec.data = "idx:" + folder.path().string();
  spec.batch = 4;
  spec.threads = 1;
  const auto staged = [&](const char* device, const std::string& data, Cache cache) {
    spec.device = parse_device(device);
    spec.data = data;
    spec.cache = cache;
    PreparedCase prepared = prepare_case(spec);
    DatasetSizes sizes;
    EXPECT_EQ(prepared.planned_bytes, planned_bytes(spec, sizes));
    prepared.batches->begin_training(0);
    const BatchSource::Batch batch = prepared.batches->next();
    const std::size_t images = prepared.executable->stage(batch.slot, 0).size();
    EXPECT_EQ(images, prepared.input->images == "u8" ? 4u * 28 * 28 : 16u * 28 * 28);
    prepared.executable->submit(batch.slot);
    prepared.executable->run(Entry::train);
    std::vector<StepRecord> records;
    prepared.executable->drain(records);
    return std::pair(*prepared.input->images, records.at(0).loss);
  };
  for (Cache cache : {Cache::none, Cache::decoded}) {
    const auto [bytes, loss] = staged("reference", *spec.data, cache);
    const auto [floats, of_cpu] = staged("cpu", *spec.data, cache);
    EXPECT_EQ(bytes, "u8");
    EXPECT_EQ(floats, "f32");
    EXPECT_NEAR(of_cpu / loss, 1, 1e-5);
  }
  EXPECT_EQ(staged("reference", "digits", Cache::none).first, "f32");
}

TEST(Training, LearnsDigits) {
  Trainer trainer({"lenet5", 64, "digits"}, *make_cpu_backend(2));
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int i = 0; i < 22; ++i) trainer.step(Entry::train, i * 64);
  EXPECT_GT(trainer.step(Entry::evaluate, 0).correct, 0.85 * 64);
}

}  // namespace
}  // namespace epochbench
