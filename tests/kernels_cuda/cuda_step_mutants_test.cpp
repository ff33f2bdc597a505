// As cuda_mutants_test, for what begins and ends a step: bytes of images, softmax, losses and the optimizer.
#include "tests/support/cuda_mutants.h"

namespace epochbench {

#if defined(EPOCHBENCH_TSAN)
EPOCHBENCH_MUTANT(no_barrier_in_pixels, decode_pixels)
EPOCHBENCH_MUTANT(no_barrier_in_softmax, attention_softmax)
EPOCHBENCH_MUTANT(no_barrier_in_log_sum, cross_entropy)
#else
// In a mutant, the structures of namespace cuda are types of its own.
#define EPOCHBENCH_ADAMW_MUTANT(name)                                                                                         \
  namespace name {                                                                                                            \
  struct OptimizerTensor;                                                                                                     \
  struct Chunk;                                                                                                               \
  struct LossScale;                                                                                                           \
  void adamw(const OptimizerTensor*, const Chunk*, std::int64_t, const float*, const std::int32_t*, const AdamwNumbers&,      \
             const LossScale&, cuda::Stream);                                                                                 \
  void run(const cuda::OptimizerTensor* tensors, const cuda::Chunk* chunks, std::int64_t chunk_count, const float* rate,      \
           const std::int32_t* step, const AdamwNumbers& numbers, const cuda::LossScale& loss_scale, cuda::Stream stream) {   \
    adamw(reinterpret_cast<const OptimizerTensor*>(tensors), reinterpret_cast<const Chunk*>(chunks), chunk_count, rate, step, \
          numbers, reinterpret_cast<const LossScale&>(loss_scale), stream);                                                   \
  }                                                                                                                           \
  }
EPOCHBENCH_ADAMW_MUTANT(copies_of_the_next_elements)
#undef EPOCHBENCH_ADAMW_MUTANT
#endif

namespace {

// Several turns of all threads, and a rest.
void try_decode_pixels(decltype(cuda::decode_pixels) function, ThreadOrder order) {
  constexpr std::int64_t kPixels = 2001, kChannels = 3, kCount = kPixels * kChannels;
  DeviceBuffer<std::uint8_t> x(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) x[i] = static_cast<std::uint8_t>(i * 37 % 256);
  const DeviceBuffer<float> table = random_device_floats(kChannels * 256, 1);
  GuardedBuffer<float> expected(kCount);
  reference::decode_pixels(expected.data(), x.data(), table.data(), kPixels, kChannels);
  DeviceBuffer<float> y(kCount);
  test::set_thread_order(order);
  function(y.data(), x.data(), table.data(), kPixels, kChannels, Element::f32, kNoStream);
  compare({{y, expected}});
}

// Rows that a block takes.
void try_attention_softmax(decltype(cuda::attention_softmax) function, ThreadOrder order) {
  const AttentionShape s{1, 35, 1, 1};
  const std::int64_t n = s.sequence * s.sequence;
  const DeviceBuffer<float> scores = random_device_floats(n, 1, -4, 4);
  GuardedBuffer<float> expected(n), expected_log(s.sequence);
  for (std::int64_t row = 0; row < s.sequence; ++row) {
    double sum = 0;
    for (std::int64_t j = 0; j < s.sequence; ++j) sum += std::exp(scores[row * s.sequence + j]);
    expected_log[row] = static_cast<float>(std::log(sum));
    for (std::int64_t j = row * s.sequence; j < (row + 1) * s.sequence; ++j)
      expected[j] = static_cast<float>(std::exp(scores[j]) / sum);
  }
  DeviceBuffer<float> weights(n), log_sum_exp(s.sequence);
  test::set_thread_order(order);
  function(weights.data(), log_sum_exp.data(), scores.data(), nullptr, s, 0, {}, Element::f32, kNoStream);
  compare({{log_sum_exp, expected_log}, {weights, expected}});
}

// Long rows whose classes end before a vector does, and the rows later still. What is not a class may not count or change.
constexpr std::int64_t kLogitRows = 3, kClasses = 601, kLogitRow = 608;
struct Logits {
  DeviceBuffer<float> padded = random_device_floats(kLogitRows * kLogitRow, 1), scale = on_device<float>({{100}});
  DeviceBuffer<std::int32_t> labels = on_device<std::int32_t>({{5, 600, 2}});
  DeviceBuffer<float> workspace = test::scratch(cuda::cross_entropy_workspace_bytes(kLogitRows));
  DeviceBuffer<float> log_sum_exp{kLogitRows};
  GuardedBuffer<float> dense{kLogitRows * kClasses}, loss{1};
  Logits() {
    for (std::int64_t i = 0; i < kLogitRows * kClasses; ++i) dense[i] = padded[i / kClasses * kLogitRow + i % kClasses];
    reference::cross_entropy(loss.data(), log_sum_exp.data(), dense.data(), labels.data(), kLogitRows, kClasses, false);
  }
};

void try_cross_entropy(decltype(cuda::cross_entropy) function, ThreadOrder order) {
  Logits logits;
  DeviceBuffer<float> loss(1), log_sum_exp(kLogitRows);
  test::set_thread_order(order);
  function(loss.data(), log_sum_exp.data(), logits.padded.data(), logits.labels.data(), kLogitRows, kClasses, false, kLogitRow,
           Element::f32, logits.workspace.data(), kNoStream);
  compare({{loss, logits.loss}});
}

// Copies in either type, of vectors and a rest.
void try_adamw(decltype(cuda::adamw) function, ThreadOrder order) {
  constexpr std::int64_t kCount = 103;
  constexpr float kDecay = 0.01f;
  const DeviceBuffer<float> rate = random_device_floats(1, 5, 0.1, 0.2), gradient = random_device_floats(kCount, 4);
  const std::int32_t step = 3;
  const DeviceBuffer<std::int32_t> there = on_device<std::int32_t>({&step, 1});
  const AdamwNumbers numbers{0.9, 0.999, 1e-8};
  for (Element element : {Element::bf16, Element::f16}) {
    DeviceBuffer<float> weight = random_device_floats(kCount, 1), first(kCount), second(kCount);
    for (DeviceBuffer<float>* zeros : {&first, &second}) std::fill(zeros->begin(), zeros->end(), 0.0f);
    GuardedBuffer<float> expected = random_floats(kCount, 1), expected_first(kCount), expected_second(kCount);
    for (GuardedBuffer<float>* zeros : {&expected_first, &expected_second}) std::fill(zeros->begin(), zeros->end(), 0.0f);
    const AdamwTensor of_reference = {expected.data(), expected_first.data(), expected_second.data(), gradient.data(), kCount,
                                      kDecay};
    reference::adamw(&of_reference, 1, rate.data(), there.data(), numbers);
    test::Tensor copy(kCount, element);
    const auto tensors = on_device<cuda::OptimizerTensor>(
        {{{weight.data(), first.data(), second.data(), gradient.data(), kCount, Element::f32, kDecay, copy.data(), element}}});
    const auto chunks = on_device<cuda::Chunk>({{{0, 0}}});
    test::set_thread_order(order);
    function(tensors.data(), chunks.data(), 1, rate.data(), there.data(), numbers, {}, kNoStream);
    if (!copy.guards_intact()) std::fputs("touched band\n", stderr);
    compare({{weight, expected}, {on_device<float>(copy.floats()), test::Tensor(expected, element).floats()}});
  }
}

TEST(CudaStepMutants, TheOriginalsAreRight) {
  EXPECT_NOTHING_FOUND(try_decode_pixels, cuda::decode_pixels);
  EXPECT_NOTHING_FOUND(try_attention_softmax, cuda::attention_softmax);
  EXPECT_NOTHING_FOUND(try_cross_entropy, cuda::cross_entropy);
  EXPECT_NOTHING_FOUND(try_adamw, cuda::adamw);
}

#if defined(EPOCHBENCH_TSAN)
TEST(CudaStepMutants, RemovedBarriersAreRaces) {
  EXPECT_FOUND(try_decode_pixels, no_barrier_in_pixels::decode_pixels, "data race");
  EXPECT_FOUND(try_attention_softmax, no_barrier_in_softmax::attention_softmax, "data race");
  EXPECT_FOUND(try_cross_entropy, no_barrier_in_log_sum::cross_entropy, "data race");
}
#else
// The last vector's copies end beyond the tensor, and are also where others write the rest.
TEST(CudaStepMutants, CopiesOfWeightsBeyondTheEndAreFound) {
  EXPECT_FOUND(try_adamw, copies_of_the_next_elements::run, "AddressSanitizer");
}
#endif

}  // namespace
}  // namespace epochbench
