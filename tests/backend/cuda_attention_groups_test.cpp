// Attention of batches whose scores make several groups on CUDA, the last of them smaller: one layer in both directions, on a
// fake device.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_backend.h"
#include "tests/support/attention_step.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"

namespace epochbench {
namespace {

using test::AttentionLayer;
using test::columns_of_parts;
using test::CompiledAttentionStep;
using test::FakeDevice;
using test::FakeLibraries;
using test::FakeLibrariesOptions;
using test::joined;
using test::kEps;
using Floats = std::vector<float>;

// 8 MiB of scores per sample, so that a group has two.
constexpr std::int64_t kSequence = 512, kHeads = 8, kWidth = 2, kSample = kSequence * kHeads * kWidth;

Floats random_samples(std::int64_t batch, std::uint64_t seed) {
  Floats values(static_cast<std::size_t>(batch * kSample));
  test::fill_uniform(values, seed);
  return values;
}

AttentionLayer make_layer(std::int64_t batch, bool joint, bool causal, DType dtype, double dropout) {
  return {{batch, kSequence, kHeads, kWidth, joint, causal}, dtype, dropout};
}

std::vector<Floats> run(const Backend& backend, const AttentionLayer& layer, const Floats& dy, const std::vector<Floats>& qkv,
                        FakeDevice* device = nullptr) {
  CompiledAttentionStep step(backend, layer);
  step.write(dy, qkv);
  const std::int64_t before = device ? device->counts().work : 0;
  step.executable().run(Entry::train);
  step.executable().synchronize();
  if (device) {
    int launches = 1;  // the record of the step
    const Graph& graph = step.step().graph;
    for (const Node& node : graph.nodes) launches += backend.launches(graph, node);
    EXPECT_EQ(device->counts().work - before, launches);
  }
  return step.read();
}

// By products and our softmax, as the libraries have no attention.
std::vector<Floats> run_on_cuda(const AttentionLayer& layer, const Floats& dy, const std::vector<Floats>& qkv) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(
      device, [&] { return std::make_shared<FakeLibraries>(*device, FakeLibrariesOptions{.attention = false}); });
  return run(*backend, layer, dy, qkv, layer.dtype == DType::f32 ? device.get() : nullptr);
}

// Groups of 2, 2 and 1 samples. The bounds are those of the parts (cuda_attention_parts_test.cpp).
TEST(CudaAttentionGroups, MatchTheReferenceAndItsMasks) {
  constexpr std::int64_t kBatch = 5;
  const Floats dy = random_samples(kBatch, 1);
  const std::vector<Floats> qkv = {random_samples(kBatch, 2), random_samples(kBatch, 3), random_samples(kBatch, 4)};
  for (const bool causal : {false, true}) {
    const auto layer = [&](bool joint) { return make_layer(kBatch, joint, causal, DType::f32, 0.2); };
    std::vector<Floats> expected = run(*make_reference_backend(), layer(false), dy, qkv);
    for (const bool joint : {false, true}) {
      const std::vector<Floats> actual = run_on_cuda(layer(joint), dy, qkv);
      if (joint) expected = {expected[0], joined({expected[1], expected[2], expected[3]}, columns_of_parts(layer(true).shape))};
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i)
        test::expect_close(actual[i], expected[i], {kEps, (i == 0 ? 1 : 2 * kWidth) * 32 * kEps / 0.8});
    }
  }
}

// A group of 3 has 24 MiB of scores, and a batch of 5 takes two, in place of three of 2 samples.
TEST(CudaAttentionGroups, AreLargerWhereThatIsFaster) {
  const auto device = std::make_shared<FakeDevice>();
  device->skip_work();
  const auto backend = make_cuda_backend(
      device, [&] { return std::make_shared<FakeLibraries>(*device, FakeLibrariesOptions{.attention = false}); }, {},
      {.seconds_per_program = 1e6, .clock = [&] { return device->seconds(); }});
  CompiledAttentionStep step(*backend, make_layer(5, false, false, DType::f32, 0));
  int nodes = 0;
  for (const auto& [text, count] : step.executable().chosen_algorithms())
    if (text.ends_with(", 3 of 5 samples at a time [fastest of 2]")) nodes += static_cast<int>(count);
  EXPECT_EQ(nodes, 2);
}

// Groups of 2 and 1, to the bit.
TEST(CudaAttentionGroups, AreTheirSamplesOneByOne) {
  constexpr std::int64_t kBatch = 3;
  for (const bool joint : {true, false}) {
    const auto layer = [&](std::int64_t batch) { return make_layer(batch, joint, false, joint ? DType::f32 : DType::bf16, 0); };
    const Floats dy = random_samples(kBatch, 1);
    const std::vector<Floats> qkv = {random_samples(kBatch, 2), random_samples(kBatch, 3), random_samples(kBatch, 4)};
    std::vector<Floats> one_by_one(joint ? 2 : 4);
    for (std::int64_t sample = 0; sample < kBatch; ++sample) {
      const auto of_sample = [&](const Floats& all) {
        const auto begin = all.begin() + sample * kSample;
        return Floats(begin, begin + kSample);
      };
      const auto results = run_on_cuda(layer(1), of_sample(dy), {of_sample(qkv[0]), of_sample(qkv[1]), of_sample(qkv[2])});
      for (std::size_t i = 0; i < results.size(); ++i)
        one_by_one.at(i).insert(one_by_one[i].end(), results[i].begin(), results[i].end());
    }
    EXPECT_TRUE(run_on_cuda(layer(kBatch), dy, qkv) == one_by_one) << (joint ? "joint" : "bf16");
  }
}

}  // namespace
}  // namespace epochbench
