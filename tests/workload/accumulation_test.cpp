// Batches in parts, and activations that are recomputed, on the reference and the CPU.

#include <gtest/gtest.h>

#include "support/made_workload.h"
#include "support/parts_of_a_batch.h"

namespace epochbench {
namespace {

using test::Trainer;

// An LSTM whose masks begin in the middle of four random words, as 5 * 33 is not a multiple of 4.
constexpr const char* kOddLstm = "lstm-lm:units=33,sequence=5,vocabulary=41";
constexpr double kRounding = 1e-5;

bool runs(const Backend& backend, const std::string& model, Precision precision) {
  return !unsupported(test::made_workload(model, 4), backend, {Entry::train}, precision);
}

TEST(Accumulation, GivesTheGradientsOfTheWholeBatch) {
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(2);
  for (const auto& [model, parts] :
       {std::pair{test::kSmallGpt2, 2}, {test::kSmallVit, 4}, {kOddLstm, 4}, {"mlp:width=40", 4}}) {
    SCOPED_TRACE(model);
    for (const Backend* backend : {reference.get(), cpu.get()})
      test::expect_parts_equal_the_whole({.model = model, .batch = 4}, parts, *backend, kRounding);
  }
  test::expect_parts_equal_the_whole({.model = "bert-tiny:sequence=16,layers=1", .batch = 4}, 2, *cpu, kRounding);
  test::expect_parts_equal_the_whole({.model = "lenet5", .batch = 6, .data = "digits"}, 3, *cpu, kRounding);
}

// A share of 2^-8, as a rounded value of bf16 has, of most gradients.
TEST(Accumulation, SumsInFloatInEveryPrecision) {
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(2);
  for (Precision precision : {Precision::bf16, Precision::fp16})
    test::expect_parts_equal_the_whole({.model = test::kSmallGpt2, .batch = 4, .precision = precision}, 2, *reference, 0x1p-6);
  if (runs(*cpu, test::kSmallGpt2, Precision::bf16))
    test::expect_parts_equal_the_whole({.model = test::kSmallGpt2, .batch = 4, .precision = Precision::bf16}, 2, *cpu, 0x1p-6);
}

// With a learning rate of 0 the parts of one batch move the statistics as batches of their size would.
TEST(Accumulation, MovesRunningStatisticsWithEachPart) {
  const auto cpu = make_cpu_backend(2);
  for (Checkpoint checkpoint : {Checkpoint::none, Checkpoint::blocks}) {
    Trainer small({"resnet20", 2}, *cpu),
        divided({.model = "resnet20", .batch = 4, .accumulate = 2, .checkpoint = checkpoint}, *cpu);
    for (Trainer* trainer : {&small, &divided}) trainer->write("learning_rate", 0);
    small.losses(2);
    divided.losses(1);
    EXPECT_EQ(divided.state(VariableRole::statistic), small.state(VariableRole::statistic));
  }
}

TEST(Accumulation, ClipsTheNormOfTheSum) {
  const auto norm_of_moments = [](double clip_norm) {
    WorkloadSpec workload = test::made_workload(test::kSmallGpt2, 4);
    workload.optimizer.clip_norm = clip_norm;
    workload.accumulate = 4;
    Trainer trainer(workload, "synthetic", Precision::fp32, *make_cpu_backend(2));
    trainer.step(Entry::train, 0);
    return test::norm(test::gradients(trainer)) / (1 - workload.optimizer.beta1);
  };
  const double whole = norm_of_moments(0);
  EXPECT_NEAR(norm_of_moments(whole / 3) / (whole / 3), 1, 1e-4);
  EXPECT_NEAR(norm_of_moments(whole * 3) / whole, 1, 1e-4);
}

// One part that is not finite makes the update not finite, and the scale is halved once.
TEST(Accumulation, SkipsTheWholeUpdateThatIsNotFinite) {
  Trainer trainer({.model = "mlp:width=40", .batch = 4, .precision = Precision::fp16, .accumulate = 4},
                  *make_reference_backend());
  trainer.write("loss_scale", 0x1p40f);
  const std::vector<float> before = trainer.state(VariableRole::parameter);
  trainer.losses(1);
  EXPECT_EQ(trainer.state(VariableRole::parameter), before);
  EXPECT_EQ(trainer.read("skipped_steps"), 1);
  trainer.write("loss_scale", 1024);
  trainer.losses(1);
  EXPECT_NE(trainer.state(VariableRole::parameter), before);
  EXPECT_EQ(trainer.read("skipped_steps"), 1);
}

TEST(Accumulation, IgnoresRowsWithoutASampleInAnyPart) {
  const auto cpu = make_cpu_backend(2);
  Trainer whole({"lenet5", 6, "digits"}, *cpu),
      divided({.model = "lenet5", .batch = 6, .data = "digits", .accumulate = 3}, *cpu);
  for (std::int64_t valid : {1, 3, 4}) {
    const StepRecord one = whole.step(Entry::evaluate, 0, valid), sum = divided.step(Entry::evaluate, 0, valid);
    EXPECT_NEAR(sum.loss / one.loss, 1, kRounding) << valid;
    EXPECT_EQ(sum.correct, one.correct) << valid;
  }
}

TEST(Accumulation, BelongsToTheIdentityOfModelsWithBatchNormOnly) {
  for (const auto& [model, differs] : {std::pair{"lenet5", false}, {test::kSmallGpt2, false}, {"resnet20", true}}) {
    WorkloadSpec workload = test::made_workload(model, 8);
    const Counts whole = count(workload);
    workload.accumulate = 2;
    const Counts halves = count(workload);
    workload.accumulate = 4;
    EXPECT_EQ(halves.fingerprint != whole.fingerprint, differs) << model;
    EXPECT_EQ(count(workload).fingerprint != halves.fingerprint, differs) << model;
    EXPECT_EQ(halves.train_flops_per_sample, whole.train_flops_per_sample) << model;
    workload.checkpoint = Checkpoint::blocks;
    EXPECT_EQ(count(workload).train_flops_per_sample, whole.train_flops_per_sample) << model;
  }
}

TEST(Accumulation, TakesTheActivationsOfAPartAndTheSumsOfGradients) {
  const auto cpu = make_cpu_backend(2);
  const auto memory_of = [&](std::int64_t batch, std::int64_t parts) {
    WorkloadSpec workload = test::made_workload("bert-base", batch);
    workload.accumulate = parts;
    return memory(make_program(workload, *cpu, {Entry::train, Entry::evaluate}));
  };
  const ProgramMemory part = memory_of(2, 1), whole = memory_of(16, 1), divided = memory_of(16, 8);
  EXPECT_LT(divided.total(), whole.total() - (whole.activations - divided.activations) / 2);
  EXPECT_NEAR(static_cast<double>(divided.gradients), static_cast<double>(part.gradients),
              0.01 * static_cast<double>(part.gradients));
  EXPECT_EQ(divided.parameters, whole.parameters);
}

TEST(Checkpoint, ChangesNothingButMemory) {
  const auto cpu = make_cpu_backend(2), reference = make_reference_backend();
  for (const auto& [model, batch] : {std::pair{test::kSmallGpt2, 8},
                                     {test::kSmallLlama, 8},
                                     {test::kSmallVit, 8},
                                     {"resnet20", 4},
                                     {test::kSmallMobileNet, 4},
                                     {test::kSmallEfficientNet, 4},
                                     {test::kSmallNasNet, 4},
                                     {"lstm-lm:units=33,sequence=35,vocabulary=41,layers=3", 8}}) {
    SCOPED_TRACE(model);
    test::expect_same_with_checkpoints({model, batch}, *cpu);
    if (runs(*cpu, model, Precision::bf16))
      test::expect_same_with_checkpoints({.model = model, .batch = batch, .precision = Precision::bf16}, *cpu);
  }
  for (Precision precision : {Precision::fp32, Precision::fp16})
    test::expect_same_with_checkpoints({.model = test::kSmallGpt2, .batch = 4, .precision = precision}, *reference);
}

TEST(Checkpoint, OfBertBaseTakesTwoFifthsOfTheActivations) {
  const auto cpu = make_cpu_backend(2);
  WorkloadSpec workload = test::made_workload("bert-base", 8);
  const auto memory_of = [&] { return memory(make_program(workload, *cpu, {Entry::train, Entry::evaluate})); };
  const ProgramMemory kept = memory_of();
  workload.checkpoint = Checkpoint::blocks;
  const ProgramMemory recomputed = memory_of();
  EXPECT_LE(recomputed.activations, 0.4 * static_cast<double>(kept.activations));
  EXPECT_EQ(recomputed.gradients, kept.gradients);
}

// Recomputed nodes do products again, but no more than the forward pass has, and no optimizer.
TEST(Checkpoint, RepeatsForwardNodesOnly) {
  const auto cpu = make_cpu_backend(2);
  WorkloadSpec workload = test::made_workload("resnet20", 4);
  const auto total = [&] {
    const Program program = make_program(workload, *cpu, {Entry::train});
    double sum = 0;
    for (const Node& node : program.entry(Entry::train)->graph.nodes) sum += flops(program.entry(Entry::train)->graph, node);
    return sum / 4;
  };
  const double plain = total();
  workload.checkpoint = Checkpoint::blocks;
  const double recomputing = total();
  EXPECT_GT(recomputing, plain);
  EXPECT_LE(recomputing, plain + count(workload).forward_flops_per_sample);
}

TEST(Checkpoint, SaysWhereNothingIsSaved) {
  const auto cpu = make_cpu_backend(1);
  CaseSpec spec;
  spec.checkpoint = Checkpoint::blocks;
  spec.model = find_model("mlp:width=8,depth=1");
  spec.batch = 1;
  EXPECT_NE(nothing_to_leave_out(spec, *cpu).value_or("").find("smaller; leave it out"), std::string::npos);
  spec.model = find_model("resnet20");
  EXPECT_EQ(nothing_to_leave_out(spec, *cpu), std::nullopt);
}

}  // namespace
}  // namespace epochbench
