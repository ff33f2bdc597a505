// The CUDA backend on a real GPU: whole models, precisions, streams and timing. Skipped, with the reason, where there is none.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/attention_step.h"
#include "tests/support/made_workload.h"
#include "tests/support/print.h"
#include "tests/support/roundoff.h"
#include "tests/support/trainer.h"

namespace epochbench {
namespace {

using test::Trainer;
using test::Training;

constexpr int kCpuThreads = 4;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = make_cuda_backend(0);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "no GPU: " << error.what();
    }
  }
  const Backend& gpu() const { return *backend_; }

  // Leaves `skipped` if this GPU does not have the precision, which is not a failure.
  std::optional<Trainer> trainer(const Training& training) const {
    try {
      return std::optional<Trainer>(std::in_place, training, gpu());
    } catch (const GraphError& error) {
      if (std::string(error.what()).find("compute capability") == std::string::npos) throw;
      return std::nullopt;
    }
  }

 private:
  std::unique_ptr<Backend> backend_;
};

std::string test_name(const Training& training) {
  std::string name = training.model.substr(0, training.model.find(':'));
  std::erase(name, '-');
  return name + "_" + epochbench::name(training.precision);
}

class GpuParity : public Gpu, public testing::WithParamInterface<Training> {};

TEST_P(GpuParity, TenLossesAreThoseOfTheCpu) {
  const std::vector<double> expected = Trainer(GetParam(), *make_cpu_backend(kCpuThreads)).losses(10);
  const std::vector<double> losses = Trainer(GetParam(), gpu()).losses(10);
  EXPECT_NEAR(losses[0] / expected[0], 1, 1e-5);
  for (std::size_t i = 1; i < expected.size(); ++i) EXPECT_NEAR(losses[i] / expected[i], 1, 1e-4) << "step " << i;
}

INSTANTIATE_TEST_SUITE_P(Models, GpuParity,
                         testing::Values(Training{"mlp", 64}, Training{"lenet5", 64, "digits"}, Training{"resnet20", 32},
                                         Training{"resnet18", 8}, Training{"resnet50", 8}, Training{"bert-tiny", 8},
                                         Training{"bert-base:sequence=32", 4}, Training{"vit-s-16", 4},
                                         Training{"gpt2:sequence=128", 2}, Training{"llama-15m:kv-heads=2", 2},
                                         Training{"lstm", 32}, Training{"lstm-lm:units=130,vocabulary=1000", 8}),
                         [](const auto& info) { return test_name(info.param); });

class GpuPrecision : public Gpu, public testing::WithParamInterface<Training> {};

// The first loss is a mean over all that was rounded on the way. Later ones also hold what ReLU, pooling and AdamW make of
// numbers that lie closer together than a rounding: a share sqrt(eps); see cuda_backend_test.cpp.
TEST_P(GpuPrecision, LossesAreThoseOfTheReferenceInThisPrecision) {
  auto on_gpu = trainer(GetParam());
  if (!on_gpu) GTEST_SKIP() << "this GPU has no " << name(GetParam().precision);
  const double eps = test::unit_roundoff(GetParam().precision);
  const std::vector<double> expected = Trainer(GetParam(), *make_reference_backend()).losses(3);
  const std::vector<double> losses = on_gpu->losses(3);
  EXPECT_NEAR(losses[0] / expected[0], 1, eps);
  for (std::size_t i = 1; i < expected.size(); ++i) EXPECT_NEAR(losses[i] / expected[i], 1, std::sqrt(eps)) << "step " << i;
}

std::vector<Training> small_models_in_low_precisions() {
  std::vector<Training> all;
  for (Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16})
    for (Training training : {Training{"mlp:width=96", 12}, Training{"lenet5", 12, "digits"}, Training{"resnet20", 4},
                              Training{"bert-tiny:sequence=16", 4}, Training{test::kSmallVit, 4}, Training{test::kSmallGpt2, 4},
                              Training{test::kSmallLlama, 4}}) {
      training.precision = precision;
      training.dropout = 0;  // a library's masks are others
      all.push_back(training);
    }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Models, GpuPrecision, testing::ValuesIn(small_models_in_low_precisions()),
                         [](const auto& info) { return test_name(info.param); });

class GpuLearning : public Gpu, public testing::WithParamInterface<Precision> {};

TEST_P(GpuLearning, LearnsDigits) {
  auto on_gpu = trainer({"lenet5", 64, "digits", GetParam()});
  if (!on_gpu) GTEST_SKIP() << "this GPU has no " << name(GetParam());
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int i = 0; i < 22; ++i) on_gpu->step(Entry::train, i * 64);
  EXPECT_GT(on_gpu->step(Entry::evaluate, 0).correct, 0.85 * 64);
}

INSTANTIATE_TEST_SUITE_P(Precisions, GpuLearning, testing::ValuesIn(kPrecisions),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_F(Gpu, CapturedStepsTrainAsStepsNodeByNode) {
  const Training training{"mlp:width=96", 32};
  Trainer node_by_node(training, gpu()), captured(training, gpu());
  node_by_node.fill(0, 0);
  node_by_node.executable().submit(0);
  node_by_node.executable().profile(Entry::train, 3);
  const auto steps = static_cast<int>(node_by_node.read("step"));  // some of them captured, to keep the device busy
  ASSERT_GE(steps, 3);
  for (int i = 0; i < steps; ++i) captured.step(Entry::train, 0);
  const std::vector<float> expected = captured.state(VariableRole::parameter);
  const std::vector<float> weights = node_by_node.state(VariableRole::parameter);
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    off += std::pow(weights[i] - expected[i], 2);
    norm += std::pow(expected[i], 2);
  }
  EXPECT_LE(std::sqrt(off / norm), 1e-4);  // tuning may have chosen other algorithms
}

TEST_F(Gpu, StepsInFlightAreThoseOneByOne) {
  const Training training{"lenet5", 32, "digits"};
  Trainer in_flight(training, gpu()), one_by_one(training, gpu());
  const std::vector<double> expected = one_by_one.losses(12);
  Executable& executable = in_flight.executable();
  for (int i = 0; i < 12; ++i) {
    executable.await(kInputSlots - 1);
    in_flight.fill(i % kInputSlots, i * training.batch);
    executable.submit(i % kInputSlots);
    executable.run(Entry::train);
  }
  executable.synchronize();
  std::vector<StepRecord> records;
  executable.drain(records);
  ASSERT_EQ(records.size(), expected.size());
  for (std::size_t i = 0; i < records.size(); ++i) EXPECT_NEAR(records[i].loss / expected[i], 1, 1e-4) << i;
}

TEST_F(Gpu, TwoExecutablesAtOnceDoNotMeet) {
  const Training image{"lenet5", 32, "digits"}, text{"bert-tiny", 4};
  const std::vector<double> images = Trainer(image, gpu()).losses(6), texts = Trainer(text, gpu()).losses(6);
  Trainer first(image, gpu()), second(text, gpu());
  for (int i = 0; i < 6; ++i) {
    first.fill(0, i * image.batch);
    second.fill(0, i * text.batch);
    for (Trainer* trainer : {&first, &second}) {
      trainer->executable().submit(0);
      trainer->executable().run(Entry::train);
    }
    for (Trainer* trainer : {&first, &second}) trainer->executable().synchronize();
  }
  std::vector<StepRecord> of_first, of_second;
  first.executable().drain(of_first);
  second.executable().drain(of_second);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(of_first.at(i).loss / images[i], 1, 1e-4) << i;  // tuned apart
    EXPECT_NEAR(of_second.at(i).loss / texts[i], 1, 1e-4) << i;
  }
}

TEST_F(Gpu, ASlotSubmittedAgainNeedsNoCopyToGiveTheSameLoss) {
  Trainer trainer({"resnet20", 16}, gpu());
  const double loss = trainer.step(Entry::evaluate, 0).loss;
  for (int i = 0; i < 5; ++i) {
    trainer.executable().resubmit(0);
    trainer.executable().run(Entry::evaluate);
  }
  trainer.executable().synchronize();
  std::vector<StepRecord> records;
  trainer.executable().drain(records);
  ASSERT_EQ(records.size(), 5u);
  for (const StepRecord& record : records) EXPECT_EQ(record.loss, loss);
}

TEST_F(Gpu, AnOverflowSkipsTheStepAndHalvesTheScale) {
  Trainer trainer({"lenet5", 32, "digits", Precision::fp16}, gpu());
  trainer.step(Entry::train, 0);
  const auto weights = trainer.state(VariableRole::parameter), moments = trainer.state(VariableRole::optimizer);
  trainer.write("loss_scale", 0x1p24f);  // beyond what fp16 gradients hold
  trainer.step(Entry::train, 0);
  EXPECT_EQ(trainer.read("loss_scale"), 0x1p23f);
  EXPECT_EQ(trainer.read("skipped_steps"), 1);
  EXPECT_EQ(trainer.read("step"), 2);
  EXPECT_EQ(trainer.state(VariableRole::parameter), weights);
  EXPECT_EQ(trainer.state(VariableRole::optimizer), moments);
}

TEST_F(Gpu, EventsAndTheHostsClockAgreeToOnePercent) {
  constexpr int kWindow = 100;
  Trainer trainer({"resnet20", 256}, gpu());
  Executable& executable = trainer.executable();
  trainer.fill(0, 0);
  executable.submit(0);
  auto window = [&](int steps) {
    std::vector<StepRecord> records;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) {
      executable.resubmit(0);
      executable.run(Entry::train);
      executable.await(2);
    }
    executable.synchronize();
    const double host = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    executable.drain(records);
    double device = 0;
    for (const StepRecord& record : records) device += record.device_seconds;
    return device / host;
  };
  window(10);
  EXPECT_NEAR(window(kWindow), 1, 0.01);
}

TEST_F(Gpu, ProfilesEveryNodeWithWhatRan) {
  Trainer trainer({"resnet20", 256}, gpu());
  trainer.fill(0, 0);
  trainer.executable().submit(0);
  const std::vector<NodeTime> nodes = trainer.executable().profile(Entry::train, 3);
  double sum = 0;
  for (const NodeTime& node : nodes) {
    EXPECT_GE(node.seconds, 0) << node.name;
    EXPECT_FALSE(node.implementation.empty()) << node.name;
    sum += node.seconds;
  }
  const double step = trainer.step(Entry::train, 0).device_seconds;
  EXPECT_GT(sum, 0.5 * step);
  EXPECT_LT(sum, 2 * step);
}

TEST_F(Gpu, VariablesComeBackAsTheyWereWritten) {
  Trainer trainer({"bert-tiny", 2}, gpu());
  for (const Variable& variable : trainer.program().variables) {
    std::vector<float> values(static_cast<std::size_t>(variable.desc.elements())), back(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000003);
    trainer.executable().write(variable.name, values);
    trainer.executable().read(variable.name, back);
    EXPECT_EQ(back, values) << variable.name;
  }
}

TEST_F(Gpu, PaddedRowsDoNotCountInAnEvaluation) {
  Trainer trainer({"lenet5", 32, "digits"}, gpu());
  trainer.losses(2);
  const StepRecord whole = trainer.step(Entry::evaluate, 0);
  StepRecord parts = trainer.step(Entry::evaluate, 0, 20);
  const StepRecord rest = trainer.step(Entry::evaluate, 20, 12);
  EXPECT_NEAR((parts.loss + rest.loss) / whole.loss, 1, 1e-5);
  EXPECT_EQ(parts.correct + rest.correct, whole.correct);
}

TEST_F(Gpu, TooLittleMemoryIsReportedAndTheNextProgramRuns) {
  CaseSpec spec;
  spec.model = find_model("lenet5");
  spec.batch = std::int64_t{1} << 27;  // tens of terabytes
  const WorkloadSpec workload = workload_spec(spec);
  const Program program = make_program(workload, gpu(), {Entry::train});
  EXPECT_THROW(gpu().compile(program), OutOfMemory);
  EXPECT_EQ(Trainer({"lenet5", 8, "digits"}, gpu()).losses(2).size(), 2u);
}

// A second program of a kind finds the libraries' code loaded, which the driver counts as well, as it does the memory of other
// processes: run it alone.
TEST_F(Gpu, TakesTheMemoryThatIsPlanned) {
  for (const auto& [model, batch] : {std::pair{"resnet50", 64}, std::pair{"bert-base", 16}})
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      const auto taken_and_planned = [&, model = model, batch = batch]() -> std::optional<std::pair<double, double>> {
        auto one = trainer({.model = model, .batch = batch, .precision = precision});
        if (!one) return std::nullopt;
        one->losses(2);
        return std::pair(static_cast<double>(*one->executable().device_bytes()),
                         static_cast<double>(memory(one->program()).total()));
      };
      taken_and_planned();
      const auto second = taken_and_planned();
      if (!second) continue;
      EXPECT_NEAR(second->first, second->second, 0.1 * second->second + 32e6) << model << " " << name(precision);
    }
}

// Whatever draws the masks: the library, whose engines are checked before they are used, or our own softmax.
TEST_F(Gpu, AttentionsDirectionsDrawTheSameMasksWithTheShareThatWasAskedFor) {
  using Shape = AttentionShape;
  for (const auto& [dtype, element] :
       {std::pair{DType::f32, Element::f32}, {DType::bf16, Element::bf16}, {DType::f16, Element::f16}})
    for (const Shape& shape : {Shape{3, 17, 3, 5}, Shape{4, 128, 12, 64, true}, Shape{64, 128, 12, 64, true},
                               Shape{2, 77, 4, 32, false, true}, Shape{2, 256, 8, 64, true, true, 2}})
      for (const double dropout : {0.0, 0.1, 0.125, 0.9}) {
        const test::AttentionLayer layer{shape, dtype, dropout};
        const Graph graph = test::AttentionStep(layer).graph;
        if (std::ranges::any_of(graph.nodes, [&](const Node& node) { return gpu().unsupported(graph, node).has_value(); }))
          continue;  // a GPU without bf16
        EXPECT_EQ(test::broken_identity(gpu(), layer, element), "")
            << name(dtype) << " batch " << shape.batch << " sequence " << shape.sequence << " dropout " << dropout;
      }
}

TEST_F(Gpu, AnIndexBeyondTheDevicesIsRefused) { EXPECT_THROW(make_cuda_backend(1000), DeviceError); }

}  // namespace
}  // namespace epochbench
