// Whole models through the CUDA backend, with our kernels compiled for the CPU, a fake device and fake libraries,
// against the reference backend in every precision.
#include "src/backend/cuda/cuda_backend.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_nodes.h"
#include "src/workload/workload.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/logits.h"
#include "tests/support/made_workload.h"
#include "tests/support/parts_only.h"
#include "tests/support/print.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using test::FakeLibrariesOptions;
using test::PartsOnly;

const FakeLibrariesOptions kNoPlans{.convolution = false, .attention = false, .bias_gradient = false};

struct Training {
  std::string model;
  std::int64_t batch;
  Precision precision = Precision::fp32;
  double dropout = -1;
  std::optional<double> learning_rate = {};  // empty: the model's own
};

void PrintTo(const Training& training, std::ostream* out) { *out << training.model << " batch " << training.batch; }

WorkloadSpec workload(const Training& training) {
  CaseSpec spec;
  spec.model = training.model;
  spec.batch = training.batch;
  spec.learning_rate = training.learning_rate;
  WorkloadSpec workload = workload_spec(spec);
  workload.config.dropout = training.dropout;
  return workload;
}

struct Outcome {
  std::vector<double> losses;  // of training steps, then of the evaluation
  double correct = 0;
  std::map<std::string, std::vector<float>> variables;
  bool library_masks = false;
};

constexpr int kSteps = 3;

// Three steps with as many batches in flight, then an evaluation.
Outcome train(const Training& training, const Backend& backend) {
  const WorkloadSpec spec = workload(training);
  const Program program = make_program(spec, backend, {Entry::train, Entry::evaluate}, training.precision);
  const auto data = open_dataset("synthetic", spec.model.family->sample(spec.config), 1000, 0);
  const auto executable = backend.compile(program);
  initialize(*executable, program, 0);
  prepare(*executable, program);
  const auto& graph_inputs = program.entry(Entry::train)->graph.inputs;
  for (int i = 0; i <= kSteps; ++i) {
    std::vector<std::span<std::byte>> inputs;
    for (std::size_t input = 0; input < graph_inputs.size(); ++input)
      inputs.push_back(executable->stage(i, static_cast<int>(input)));
    for (std::int64_t row = 0; row < training.batch; ++row) data->fill(Split::train, i * training.batch + row, 0, row, inputs);
    executable->submit(i);
    executable->run(i < kSteps ? Entry::train : Entry::evaluate);
  }
  executable->synchronize();
  std::vector<StepRecord> records;
  executable->drain(records);
  Outcome outcome;
  for (const StepRecord& record : records) outcome.losses.push_back(record.loss);
  outcome.correct = records.back().correct;
  for (const Variable& variable : program.variables) {
    if (variable.role == VariableRole::derived) continue;
    auto& values = outcome.variables[variable.name];
    values.resize(static_cast<std::size_t>(variable.desc.elements()));
    executable->read(variable.name, values);
  }
  outcome.library_masks = executable->library_dropout_masks();
  return outcome;
}

Outcome train_on_cuda(const Training& training, FakeLibrariesOptions options = {}, std::uint64_t seed = 0, bool fused = true) {
  const auto device = std::make_shared<FakeDevice>(seed);
  auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device, options); });
  if (!fused) backend = std::make_unique<PartsOnly>(std::move(backend));
  return train(training, *backend);
}

constexpr double kFloatEps = 0x1p-24;

double eps_of(Precision precision) {  // 0: nothing is rounded but floats
  switch (precision) {
    case Precision::fp32:
      return 0;
    case Precision::tf32:
    case Precision::fp16:
      return 0x1p-11;
    case Precision::bf16:
      return 0x1p-8;
    case Precision::int8:  // not for training
      break;
  }
  return 0;
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

// A bias of the keys moves all scores of a row alike, which softmax does not see: its gradient is rounding and nothing else.
bool is_noise(const std::string& variable) { return variable.find(".key.bias") != std::string::npos; }

// Both round at the same places. What differs is the order of float sums; that tips a rounding to `eps` (0: float) here and
// there, of one element in thousands, and AdamW makes a whole step of a gradient whose sign it decides: what is allowed doubles
// with each step.
void expect_same_roundings(const Outcome& actual, const Outcome& expected, double eps) {
  for (std::size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(actual.losses.at(i) / expected.losses[i], 1, std::ldexp(16 * kFloatEps + eps / 16, static_cast<int>(i)))
        << "loss " << i;
  for (const auto& [name, values] : expected.variables) {
    if (is_noise(name)) continue;
    std::vector<float> off = actual.variables.at(name);
    for (std::size_t i = 0; i < values.size(); ++i) off[i] -= values[i];
    EXPECT_LE(norm(off), (256 * kFloatEps + std::sqrt(eps)) * norm(values)) << name;
  }
}

// Fusion and im2col round less or elsewhere. The first loss, a mean over all that was rounded on the way, is off by a fraction
// of eps. Then ReLU and pooling decide differently where numbers are closer than a rounding, for a share eps of the elements:
// gradients, and the weights after a few steps, err by a fraction of sqrt(eps).
void expect_other_roundings(const Outcome& actual, const Outcome& expected, double eps) {
  EXPECT_NEAR(actual.losses.at(0) / expected.losses[0], 1, eps / 2);
  for (std::size_t i = 1; i < expected.losses.size(); ++i)
    EXPECT_NEAR(actual.losses.at(i) / expected.losses[i], 1, std::sqrt(eps) / 4) << "loss " << i;
}

class CudaModels : public testing::TestWithParam<std::tuple<Training, Precision>> {
 protected:
  Training training() const {
    Training training = std::get<0>(GetParam());
    training.precision = std::get<1>(GetParam());
    return training;
  }
};

TEST_P(CudaModels, TrainAsTheReferenceDoes) {
  const Training own_masks = training();
  const double eps = eps_of(own_masks.precision);
  const Outcome expected = train(own_masks, *make_reference_backend());
  if (own_masks.precision == Precision::fp32 || own_masks.precision == Precision::tf32) {
    expect_same_roundings(train_on_cuda(own_masks), expected, eps);
    expect_same_roundings(train_on_cuda(own_masks, kNoPlans), expected, eps);
    return;
  }
  expect_other_roundings(train_on_cuda(own_masks, kNoPlans), expected, eps);
  Training no_masks = own_masks;  // as a library draws its own
  if (no_masks.dropout > 0) no_masks.dropout = 0;
  const Outcome without = no_masks.dropout == own_masks.dropout ? expected : train(no_masks, *make_reference_backend());
  expect_same_roundings(train_on_cuda(no_masks, {}, 0, false), without, eps);
  expect_other_roundings(train_on_cuda(no_masks), without, eps);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaModels,
    testing::Combine(testing::Values(Training{"lenet5", 4}, Training{"mlp:width=96", 6}, Training{"resnet20", 2},
                                     Training{"bert-tiny:sequence=16", 2, Precision::fp32, 0.1}, Training{test::kSmallVit, 2},
                                     Training{test::kSmallGpt2, 2, Precision::fp32, 0.1}, Training{test::kSmallLlama, 2},
                                     Training{"lstm:units=20,sequence=6,vocabulary=50", 3},
                                     Training{"lstm-lm:units=17,sequence=5,vocabulary=41", 2, Precision::fp32, 0.3}),
                     testing::ValuesIn(kPrecisions)),
    [](const auto& info) {
      std::string name = std::get<0>(info.param).model;
      name = name.substr(0, name.find(':'));
      std::erase(name, '-');
      return name + "_" + epochbench::name(std::get<1>(info.param));
    });

// With their dropout and stochastic depth, whose masks are those of the reference. Deep networks of norms over a few pixels
// amplify roundings, a thousandfold in each step with the models' own learning rates.
class CudaMobileNetworks : public testing::TestWithParam<Precision> {};

TEST_P(CudaMobileNetworks, TrainAsTheReferenceDoes) {
  for (const char* model : {test::kSmallMobileNet, test::kSmallEfficientNet, test::kSmallNasNet}) {
    SCOPED_TRACE(model);
    const Training training{model, 4, GetParam(), -1, 1e-6};
    const Outcome expected = train(training, *make_reference_backend()), actual = train_on_cuda(training);
    const double tolerance = GetParam() == Precision::fp32 ? 1e-4 : 16 * eps_of(GetParam());
    for (std::size_t i = 0; i < expected.losses.size(); ++i)
      EXPECT_NEAR(actual.losses.at(i) / expected.losses[i], 1, tolerance) << "loss " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaMobileNetworks, testing::ValuesIn(kPrecisions),
                         [](const auto& info) { return std::string(name(info.param)); });

std::set<std::string> implementations(const Training& training, FakeLibrariesOptions options) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device, options); });
  const Program program = make_program(workload(training), *backend, {Entry::train}, training.precision);
  std::set<std::string> names;
  for (const NodeTime& node : backend->compile(program)->profile(Entry::train, 1)) names.insert(node.implementation);
  return names;
}

TEST(CudaBackend, WhatIsLackingIsNamedWithWhatRanInstead) {
  using testing::Contains;
  const auto lenet = implementations({"lenet5", 2, Precision::bf16}, kNoPlans);
  EXPECT_THAT(lenet, Contains("im2col + fake product [first of 2] (cuDNN: as the test requests)"));
  EXPECT_THAT(lenet, Contains("fake product + cuda bias_add_grad [first of 2] (cublasLt epilogue: as the test requests)"));
  EXPECT_THAT(implementations({"lenet5", 2, Precision::fp16}, {.convolution_bias = false}),
              Contains("fake convolution + cuda bias_add + cuda relu [first of 3] (cuDNN: as the test requests)"));
  EXPECT_THAT(implementations({"bert-tiny:sequence=16", 2, Precision::fp16}, {.attention = false}),
              Contains("cuda attention_softmax + fake product [first of 2] (cuDNN: as the test requests)"));
}

TEST(CudaBackend, CountsTheNodesThatRunInEachWay) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  const auto ways = backend->compile(make_program(workload({"lenet5", 2}), *backend, {Entry::train}))->ways();
  using testing::Pair;
  EXPECT_THAT(ways, testing::UnorderedElementsAre(Pair("conv2d_bias: fake convolution [first of 3]", 2),
                                                  Pair("conv2d_grad_input: fake convolution [first of 2]", 1),
                                                  Pair("conv2d_grad_weight: fake convolution [first of 2]", 2),
                                                  Pair("linear: fake product [first of 2]", 3),
                                                  Pair("linear_grad_weight: fake product [first of 2]", 3),
                                                  Pair("matmul: fake product", 3)));
}

std::string algorithms(FakeLibrariesOptions of_libraries, BackendOptions options) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(
      device, [&] { return std::make_shared<FakeLibraries>(*device, of_libraries); }, options);
  return backend->compile(make_program(workload({"lenet5", 2}), *backend, {Entry::train}))->algorithms();
}

TEST(CudaBackend, NamesAlgorithmsWithFewerMultiplicationsAndLeavesThemOutOnRequest) {
  const FakeLibrariesOptions chosen{.winograd = true}, beside_a_kernel{.convolution_bias = false, .winograd = true};
  EXPECT_EQ(algorithms(chosen, {}), "winograd");
  EXPECT_EQ(algorithms(beside_a_kernel, {}), "winograd");
  EXPECT_EQ(algorithms(chosen, {.winograd = false}), "");
  EXPECT_EQ(algorithms(beside_a_kernel, {.winograd = false}), "");
  EXPECT_EQ(algorithms({}, {}), "");
}

TEST(CudaBackend, SaysThatALibraryDrawsTheMasksAndGivesItASeedAStepAndLayer) {
  Training training{"bert-tiny:sequence=16", 1, Precision::bf16, 0.1};
  const auto device = std::make_shared<FakeDevice>();
  const auto libraries = std::make_shared<FakeLibraries>(*device);
  const auto backend = make_cuda_backend(device, [&] { return libraries; });
  const Outcome outcome = train(training, *backend);
  EXPECT_TRUE(outcome.library_masks);
  EXPECT_EQ(libraries->seeds().size(), 2u * kSteps);
  for (double loss : outcome.losses) EXPECT_TRUE(std::isfinite(loss));

  auto library_masks = [&] {
    const Program program = make_program(workload(training), *backend, {Entry::train}, training.precision);
    return backend->compile(program)->library_dropout_masks();
  };
  EXPECT_TRUE(library_masks());
  training.dropout = 0;
  EXPECT_FALSE(library_masks());
  training.dropout = 0.1;
  training.precision = Precision::fp32;
  EXPECT_FALSE(library_masks());
}

TEST(CudaBackend, SchedulingChangesNoBit) {
  for (const Training& training : {Training{"lenet5", 3, Precision::fp16}, Training{"mlp:width=64", 4, Precision::bf16}}) {
    const Outcome first = train_on_cuda(training);
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      const Outcome other = train_on_cuda(training, {}, seed);
      EXPECT_EQ(other.losses, first.losses) << training.model << " seed " << seed;
      EXPECT_EQ(other.variables, first.variables) << training.model << " seed " << seed;
    }
  }
}

// What a profile enqueues node by node trains as the captured steps do.
TEST(CudaBackend, CapturedStepsAreThoseNodeByNodeToTheBit) {
  const Training training{"lenet5", 3, Precision::fp16};
  auto weights_after = [&](bool profiled, int steps) {
    const auto device = std::make_shared<FakeDevice>();
    const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
    const Program program = make_program(workload(training), *backend, {Entry::train}, training.precision);
    const auto executable = backend->compile(program);
    initialize(*executable, program, 0);
    prepare(*executable, program);
    for (std::byte& byte : executable->stage(2, 0)) byte = std::byte{0x3c};
    executable->submit(2);
    if (profiled) executable->profile(Entry::train, 3);
    for (int i = 0; i < steps; ++i) executable->run(Entry::train);
    std::vector<float> step(1), weights(static_cast<std::size_t>(program.variables.front().desc.elements()));
    executable->read("step", step);
    executable->read(program.variables.front().name, weights);
    weights.push_back(step[0]);
    return weights;
  };
  const std::vector<float> node_by_node = weights_after(true, 0);
  const auto steps = static_cast<int>(node_by_node.back());
  ASSERT_GE(steps, 3);
  EXPECT_EQ(node_by_node, weights_after(false, steps));
  EXPECT_NE(node_by_node, weights_after(false, 0));
}

// Products of the fake libraries are the reference's, so little differs except the order of sums in our own kernels.
TEST(CudaBackend, GoesForwardAsTheReferenceDoesCapturedOrNot) {
  for (const char* model : {"lenet5", "resnet20", "bert-tiny:sequence=16", "lstm:units=20,sequence=6,vocabulary=50"}) {
    const auto on_cuda = [&](bool captures) {
      const auto device = std::make_shared<FakeDevice>();
      const auto backend =
          make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); }, {.graph_capture = captures});
      const std::vector<float> values = test::logits(model, 2, *backend);
      EXPECT_EQ(device->counts().graph_launches > 0, captures) << model;
      return values;
    };
    const std::vector<float> captured = on_cuda(true);
    EXPECT_LT(test::difference(captured, test::logits(model, 2, *make_reference_backend())), 2e-5) << model;
    EXPECT_EQ(captured, on_cuda(false)) << model;
  }
}

TEST(CudaBackend, GoesForwardWithWeightsOf16BitsAsWithCasts) {
  for (const char* model : {"lenet5", "resnet20", "bert-tiny:sequence=16", "lstm:units=20,sequence=6,vocabulary=50"})
    for (Precision precision : {Precision::bf16, Precision::fp16}) {
      const auto device = std::make_shared<FakeDevice>();
      const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
      EXPECT_EQ(test::logits(model, 2, *backend, precision),
                test::logits(model, 2, *backend, precision, true, {Entry::train, Entry::forward}))
          << model << " " << name(precision);
    }
}

TEST(CudaBackend, AStepOfAModelAllocatesNothingAndWaitsForNothing) {
  const auto device = std::make_shared<FakeDevice>();
  const auto libraries = std::make_shared<FakeLibraries>(*device);
  const auto backend = make_cuda_backend(device, [&] { return libraries; });
  const Program program = make_program(workload({"lenet5", 2}), *backend, {Entry::train, Entry::evaluate}, Precision::fp16);
  const auto executable = backend->compile(program);
  initialize(*executable, program, 0);
  prepare(*executable, program);
  const FakeDevice::Counts before = device->counts();
  const std::int64_t plans = libraries->plans();
  for (int i = 0; i < 10; ++i) {
    executable->submit(i % kInputSlots);
    executable->run(i % 2 == 0 ? Entry::train : Entry::evaluate);
  }
  EXPECT_EQ(device->counts().allocations, before.allocations);
  EXPECT_EQ(device->counts().waits_of_host, before.waits_of_host);
  EXPECT_EQ(device->counts().graph_launches, before.graph_launches + 10);
  EXPECT_EQ(libraries->plans(), plans);
}

TEST(CudaBackend, ReleasesEverythingWhicheverAllocationFails) {
  std::int64_t allocations = 0;
  for (std::int64_t failing = 0; failing <= allocations; failing += failing == 0 ? 1 : 7) {
    const auto device = std::make_shared<FakeDevice>();
    const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
    const Program program = make_program(workload({"mlp:width=8", 2}), *backend, {Entry::train}, Precision::fp16);
    if (failing == 0) {
      backend->compile(program);
      allocations = device->counts().allocations;
    } else {
      device->fail_allocation(failing);
      EXPECT_THROW(backend->compile(program), OutOfMemory) << failing;
    }
    EXPECT_EQ(device->held(), 0) << failing;
  }
  EXPECT_GT(allocations, 100);
}

// An infinite gradient: the step is skipped, counted, and the scale halved, all on the device.
TEST(CudaBackend, AnOverflowSkipsTheStepAndHalvesTheScale) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  const Training training{"lenet5", 2, Precision::fp16};
  const Program program = make_program(workload(training), *backend, {Entry::train}, training.precision);
  const auto executable = backend->compile(program);
  initialize(*executable, program, 0);
  prepare(*executable, program);
  auto read_all = [&] {
    std::map<std::string, std::vector<float>> values;
    for (const Variable& variable : program.variables) {
      if (variable.role == VariableRole::control || variable.role == VariableRole::derived) continue;
      values[variable.name].resize(static_cast<std::size_t>(variable.desc.elements()));
      executable->read(variable.name, values[variable.name]);
    }
    return values;
  };
  auto read = [&](const char* name) {
    std::vector<float> value(1);
    executable->read(name, value);
    return value[0];
  };
  executable->write("loss_scale", std::vector<float>{0x1p24f});  // beyond what fp16 gradients hold
  const auto before = read_all();
  executable->run(Entry::train);
  executable->synchronize();
  EXPECT_EQ(read("loss_scale"), 0x1p23f);
  EXPECT_EQ(read("skipped_steps"), 1);
  EXPECT_EQ(read("step"), 1);
  EXPECT_EQ(read_all(), before);
  executable->write("loss_scale", std::vector<float>{8});
  executable->run(Entry::train);
  executable->synchronize();
  EXPECT_EQ(read("skipped_steps"), 1);
  EXPECT_EQ(read("finite_steps"), 1);
  EXPECT_NE(read_all(), before);
}

}  // namespace
}  // namespace epochbench
