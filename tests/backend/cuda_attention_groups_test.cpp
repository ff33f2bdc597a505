// Attention of batches whose scores make several groups on CUDA, the last of them smaller: one layer in both directions, on a
// fake device.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_backend.h"
#include "src/graph/passes.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using test::FakeLibrariesOptions;
using test::kEps;
using Floats = std::vector<float>;

// 8 MiB of scores per sample, so that a group has two.
constexpr std::int64_t kSequence = 512, kHeads = 8, kWidth = 2, kSample = kSequence * kHeads * kWidth;

Floats random_samples(std::int64_t batch, std::uint64_t seed) {
  Floats values(static_cast<std::size_t>(batch * kSample));
  test::fill_uniform(values, seed);
  return values;
}

struct Layer {
  bool joint = false;
  DType dtype = DType::f32;
  double dropout = 0;
  bool causal = false;
};

// The step's program: attention and its gradient on variables, whose results are read as the velocities that sgd makes of them.
struct Step {
  Graph graph;
  std::vector<ValueId> results;  // y, then dq, dk, dv or dqkv

  Step(const Layer& layer, std::int64_t batch) {
    const std::int64_t rows = batch * kSequence, row = kHeads * kWidth;
    const auto variable = [&](const std::string& name, Shape shape, DType dtype = DType::f32) {
      return graph.add_variable({name, {std::move(shape), dtype}, VariableRole::control, {}});
    };
    const auto given = [&](const std::string& name, std::int64_t columns) {
      const ValueId value = variable(name, {rows, columns});
      if (layer.dtype == DType::f32) return value;
      return graph.add_node(Op::cast, CastAttributes{layer.dtype}, {value}, "cast")[0];
    };
    const ValueId dy = given("dy", row), step = variable("step", {1}, DType::i32);
    std::vector<ValueId> inputs;
    if (layer.joint)
      inputs = {given("qkv", 3 * row)};
    else
      inputs = {given("q", row), given("k", row), given("v", row)};
    const AttentionAttributes attributes{
        .heads = kHeads, .sequence = kSequence, .dropout = layer.dropout, .causal = layer.causal};
    std::vector<ValueId> forward = inputs;
    forward.push_back(step);
    const auto y =
        graph.add_node(layer.joint ? Op::joint_attention : Op::attention, attributes, std::move(forward), "attention");
    inputs.insert(inputs.begin(), dy);
    inputs.insert(inputs.end(), {y[0], y[1], step});
    results = graph.add_node(layer.joint ? Op::joint_attention_grad : Op::attention_grad, attributes, std::move(inputs),
                             "attention_grad", graph.nodes.back().ordinal);
    results.insert(results.begin(), y[0]);
    const ValueId rate = variable("rate", {1});
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Shape shape = graph.desc(results[i]).shape;
      const std::string index = std::to_string(i);
      graph.add_node(Op::sgd, SgdAttributes{.momentum = 0},
                     {rate, variable("weight" + index, shape), results[i], variable("result" + index, shape)}, "read");
    }
  }
};

// q, k and v, or their gradients, side by side in each row.
Floats joined(const std::vector<Floats>& parts) {
  constexpr std::size_t kRow = kHeads * kWidth;
  Floats all;
  for (std::size_t at = 0; at < parts[0].size(); at += kRow)
    for (const Floats& part : parts) all.insert(all.end(), &part[at], &part[at] + kRow);
  return all;
}

std::vector<Floats> run(const Backend& backend, const Layer& layer, const Floats& dy, const std::vector<Floats>& qkv,
                        FakeDevice* device = nullptr) {
  const Step step(layer, static_cast<std::int64_t>(dy.size()) / kSample);
  Program program;
  program.variables = step.graph.variables;
  program.entries[0] = EntryGraph{step.graph, plan_memory(step.graph, backend)};
  const auto executable = backend.compile(program);
  executable->write("dy", dy);
  if (layer.joint)
    executable->write("qkv", joined(qkv));
  else
    for (std::size_t i = 0; i < 3; ++i) executable->write(std::string(1, "qkv"[i]), qkv[i]);
  const std::int64_t before = device ? device->counts().work : 0;
  executable->run(Entry::train);
  executable->synchronize();
  if (device) {
    int launches = 1;  // the record of the step
    for (const Node& node : step.graph.nodes) launches += backend.launches(step.graph, node);
    EXPECT_EQ(device->counts().work - before, launches);
  }
  std::vector<Floats> results;
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    results.emplace_back(static_cast<std::size_t>(step.graph.desc(step.results[i]).elements()));
    executable->read("result" + std::to_string(i), results.back());
  }
  return results;
}

// By products and our softmax, as the libraries have no attention.
std::vector<Floats> run_on_cuda(const Layer& layer, const Floats& dy, const std::vector<Floats>& qkv) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(
      device, [&] { return std::make_shared<FakeLibraries>(*device, FakeLibrariesOptions{.attention = false}); });
  return run(*backend, layer, dy, qkv, layer.dtype == DType::f32 ? device.get() : nullptr);
}

// Groups of 2, 2 and 1 samples. The bounds are those of the parts (cuda_attention_test.cpp).
TEST(CudaAttentionGroups, MatchTheReferenceAndItsMasks) {
  constexpr std::int64_t kBatch = 5;
  const Floats dy = random_samples(kBatch, 1);
  const std::vector<Floats> qkv = {random_samples(kBatch, 2), random_samples(kBatch, 3), random_samples(kBatch, 4)};
  for (const bool causal : {false, true}) {
    std::vector<Floats> expected = run(*make_reference_backend(), {.dropout = 0.2, .causal = causal}, dy, qkv);
    for (const bool joint : {false, true}) {
      const std::vector<Floats> actual = run_on_cuda({.joint = joint, .dropout = 0.2, .causal = causal}, dy, qkv);
      if (joint) expected = {expected[0], joined({expected[1], expected[2], expected[3]})};
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i)
        test::expect_close(actual[i], expected[i], {kEps, (i == 0 ? 1 : 2 * kWidth) * 32 * kEps / 0.8});
    }
  }
}

// Groups of 2 and 1, to the bit.
TEST(CudaAttentionGroups, AreTheirSamplesOneByOne) {
  constexpr std::int64_t kBatch = 3;
  for (const Layer& layer : {Layer{.joint = true}, Layer{.dtype = DType::bf16}}) {
    const Floats dy = random_samples(kBatch, 1);
    const std::vector<Floats> qkv = {random_samples(kBatch, 2), random_samples(kBatch, 3), random_samples(kBatch, 4)};
    std::vector<Floats> one_by_one(layer.joint ? 2 : 4);
    for (std::int64_t sample = 0; sample < kBatch; ++sample) {
      const auto of_sample = [&](const Floats& all) {
        const auto begin = all.begin() + sample * kSample;
        return Floats(begin, begin + kSample);
      };
      const auto results = run_on_cuda(layer, of_sample(dy), {of_sample(qkv[0]), of_sample(qkv[1]), of_sample(qkv[2])});
      for (std::size_t i = 0; i < results.size(); ++i)
        one_by_one.at(i).insert(one_by_one[i].end(), results[i].begin(), results[i].end());
    }
    EXPECT_TRUE(run_on_cuda(layer, dy, qkv) == one_by_one) << (layer.joint ? "joint" : "bf16");
  }
}

}  // namespace
}  // namespace epochbench
