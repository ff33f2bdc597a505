// What the CUDA backend does beside training right: names what ran, allocates and waits for nothing, releases, and skips steps
// that overflow. On a fake device and with fake libraries.
#include "src/backend/cuda/cuda_backend.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/cuda_training.h"
#include "tests/support/logits.h"
#include "tests/support/made_workload.h"
#include "tests/support/print.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using test::FakeLibrariesOptions;
using test::kNoPlans;
using test::kSteps;
using test::Outcome;
using test::train;
using test::train_on_cuda;
using test::Training;
using test::workload;

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
  EXPECT_THAT(lenet, Contains("im2col + fake product (cuDNN: as the test requests)"));
  EXPECT_THAT(lenet, Contains("fake product + cuda bias_add_grad (cublasLt epilogue: as the test requests)"));
  EXPECT_THAT(implementations({"lenet5", 2, Precision::fp16}, {.convolution_bias = false}),
              Contains("fake convolution + cuda bias_add + cuda relu [first of 3] (cuDNN: as the test requests)"));
  EXPECT_THAT(implementations({"bert-tiny:sequence=16", 2, Precision::fp16, 0}, {.attention = false}),
              Contains("cuda attention_softmax + fake product (cuDNN: as the test requests)"));
}

TEST(CudaBackend, CountsTheNodesOfEachAlgorithm) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  const auto chosen_algorithms =
      backend->compile(make_program(workload({"lenet5", 2}), *backend, {Entry::train}))->chosen_algorithms();
  using testing::Pair;
  EXPECT_THAT(chosen_algorithms, testing::UnorderedElementsAre(Pair("conv2d_bias: fake convolution [first of 3]", 2),
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
  Training training{test::kSmallBert, 1, Precision::bf16, 0.125};
  const auto device = std::make_shared<FakeDevice>();
  const auto libraries = std::make_shared<FakeLibraries>(*device);
  const auto backend = make_cuda_backend(device, [&] { return libraries; });
  const Outcome outcome = train(training, *backend);
  EXPECT_TRUE(outcome.library_masks);
  for (double loss : outcome.losses) EXPECT_TRUE(std::isfinite(loss));

  const auto compiled = [&] {
    return backend->compile(make_program(workload(training), *backend, {Entry::train}, training.precision));
  };
  const auto executable = compiled();
  libraries->forget_seeds();  // of the check while it was compiled
  for (int i = 0; i < kSteps; ++i) executable->run(Entry::train);
  executable->synchronize();
  EXPECT_EQ(libraries->seeds().size(), 2u * kSteps);

  const auto library_masks = [&] { return compiled()->library_dropout_masks(); };
  EXPECT_TRUE(library_masks());
  training.dropout = 0;
  EXPECT_FALSE(library_masks());
  training.dropout = 0.125;
  training.precision = Precision::fp32;
  EXPECT_FALSE(library_masks());
}

// With dropout on, as the masks are then ours.
TEST(CudaBackend, WithoutTheLibrarysAttentionTrainsAsTheReference) {
  const Training training{test::kSmallBert, 2, Precision::bf16, 0.125};
  const auto device = std::make_shared<FakeDevice>();
  const auto backend =
      make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); }, {.library_attention = false});
  const Outcome outcome = train(training, *backend), expected = train(training, *make_reference_backend());
  EXPECT_FALSE(outcome.library_masks);
  ASSERT_EQ(outcome.losses.size(), expected.losses.size());
  EXPECT_NEAR(outcome.losses[0] / expected.losses[0], 1, 0x1p-8);
  for (std::size_t i = 1; i < expected.losses.size(); ++i) EXPECT_NEAR(outcome.losses[i] / expected.losses[i], 1, 0x1p-4) << i;
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
  for (const char* model : {"lenet5", "resnet20", test::kSmallBert, "lstm:units=20,sequence=6,vocabulary=50"}) {
    std::int64_t launches = 0;  // of graphs
    const auto on_cuda = [&](bool captures) {
      const auto device = std::make_shared<FakeDevice>();
      const auto backend =
          make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); }, {.graph_capture = captures});
      const std::vector<float> values = test::logits(model, 2, *backend);
      launches = device->counts().graph_launches;
      return values;
    };
    const std::vector<float> captured = on_cuda(true);
    const std::int64_t with_steps = launches;
    EXPECT_LT(test::difference(captured, test::logits(model, 2, *make_reference_backend())), 2e-5) << model;
    EXPECT_EQ(captured, on_cuda(false)) << model;
    EXPECT_LT(launches, with_steps) << model;  // those of choosing
  }
}

TEST(CudaBackend, GoesForwardWithWeightsOf16BitsAsWithCasts) {
  for (const char* model : {"lenet5", "resnet20", test::kSmallBert, "lstm:units=20,sequence=6,vocabulary=50"})
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
