// The parts of unfused attention in CUDA: softmax with dropout and its gradient against their definition, heads and seeds. With
// products between them, kernels/attention_test compares them with the reference.
#include <set>

#include "kernels/reference/dropout_mask.h"
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr Dropout kNone{};
Dropout dropout_of(double probability, std::uint32_t ordinal = 3) {
  return {0x0123456789abcdefu, ordinal, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

std::string describe(const AttentionShape& s, const Dropout& dropout) {
  return "batch=" + std::to_string(s.batch) + " sequence=" + std::to_string(s.sequence) + " heads=" + std::to_string(s.heads) +
         " width=" + std::to_string(s.width) + (s.causal ? " causal" : "") + (dropout.threshold != 0 ? " dropout" : "");
}
std::int64_t rows_of(const AttentionShape& s) { return s.batch * s.heads * s.sequence; }
AttentionShape scores_of(std::int64_t sequence) { return {1, sequence, sequence > 128 ? 1 : 2, 1}; }
AttentionShape causal(AttentionShape shape) {
  shape.causal = true;
  return shape;
}

DeviceBuffer<std::int32_t> on_device(std::int32_t value) {
  DeviceBuffer<std::int32_t> buffer(1);
  buffer[0] = value;
  return buffer;
}

// By definition, in double.
struct Expected {
  GuardedBuffer<float> weights, log_sum_exp, dscores;
  explicit Expected(std::int64_t rows, std::int64_t sequence)
      : weights(rows * sequence), log_sum_exp(rows), dscores(rows * sequence) {}
};
Expected by_definition(std::span<const float> scores, std::span<const float> dweights, std::int32_t step, std::int64_t rows,
                       const AttentionShape& shape, std::int64_t first_row, const Dropout& dropout) {
  const std::int64_t sequence = shape.sequence;
  Expected e(rows, sequence);
  for (std::int64_t i = 0; i < rows * sequence; ++i) e.weights[i] = e.dscores[i] = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<double> p(static_cast<std::size_t>(keys_before(shape, r % sequence + 1))), dp(p.size());
    const auto row = scores.subspan(static_cast<std::size_t>(r * sequence), p.size());
    const auto dw = dweights.subspan(static_cast<std::size_t>(r * sequence), p.size());
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0, product = 0;
    for (std::size_t j = 0; j < p.size(); ++j) sum += p[j] = std::exp(row[j] - largest);
    e.log_sum_exp[r] = static_cast<float>(largest + std::log(sum));
    for (std::size_t j = 0; j < p.size(); ++j) {
      const std::int64_t at = r * sequence + static_cast<std::int64_t>(j);
      const double factor = reference::dropout_factor(dropout, step, first_row * sequence + at);
      p[j] /= sum;
      e.weights[at] = static_cast<float>(p[j] * factor);
      dp[j] = factor * dw[j];
      product += p[j] * dp[j];
    }
    for (std::size_t j = 0; j < p.size(); ++j)
      e.dscores[r * sequence + static_cast<std::int64_t>(j)] = static_cast<float>(p[j] * (dp[j] - product));
  }
  return e;
}

// Scores within (-range, range). The error of a weight: that of score - log_sum_exp, relative to it, and that of exp, whose
// fast form adds 1.2 units of its argument's magnitude.
void check_softmax(const AttentionShape& shape, Element element, const Dropout& dropout, std::int32_t step, double range = 4,
                   std::int64_t first_row = 0) {
  const std::int64_t rows = rows_of(shape), n = rows * shape.sequence;
  const DeviceBuffer<float> scores = random_device_floats(n, 1, -range, range), dweights = random_device_floats(n, 2);
  const DeviceBuffer<std::int32_t> at_step = on_device(step);
  const Expected expected = by_definition(scores, dweights, step, rows, shape, first_row, dropout);
  DeviceBuffer<float> log_sum_exp(rows);  // by definition, so that the gradient is tested independently
  std::copy(expected.log_sum_exp.begin(), expected.log_sum_exp.end(), log_sum_exp.begin());
  std::vector<std::int64_t> dropped;
  for (std::int64_t i = 0; i < n; ++i)
    if (reference::dropout_factor(dropout, step, first_row * shape.sequence + i) == 0) dropped.push_back(i);
  const double exponent = 2 * range + std::log(static_cast<double>(shape.sequence)), largest = dropout.scale;
  const double weight_error = kEps * (4 + 2.2 * exponent);
  for_each_order(describe(shape, dropout), [&] {
    Tensor weights(n, element), again(n, element), dscores(n, element);
    DeviceBuffer<float> got_log(rows);
    cuda::attention_softmax(weights.data(), got_log.data(), scores.data(), at_step.data(), shape, first_row, dropout, element,
                            kNoStream);
    cuda::attention_softmax_grad(again.data(), dscores.data(), scores.data(), dweights.data(), log_sum_exp.data(),
                                 at_step.data(), shape, first_row, dropout, element, kNoStream);
    expect_close(got_log, expected.log_sum_exp, {kEps, kEps * (4 + 2.2 * exponent)});
    for (const Tensor* w : {&weights, &again}) {
      const GuardedBuffer<float> values = w->floats();
      expect_close(values, expected.weights, stored(element, {weight_error, FLT_MIN}));
      for (std::int64_t i : dropped) ASSERT_EQ(values[i], 0) << i;
    }
    // p (m dw - sum), where |m dw| and the sum are at most `largest`, and p is at most 1.
    expect_close(dscores.floats(), expected.dscores, stored(element, {kEps, 2 * weight_error * largest}));
    EXPECT_TRUE(weights.guards_intact() && again.guards_intact() && dscores.guards_intact() && got_log.guards_intact());

    if (element != Element::f32) return;
    DeviceBuffer<float> in_place = scores, weights_in_place = scores, dscores_in_place = dweights;
    cuda::attention_softmax(in_place.data(), nullptr, in_place.data(), at_step.data(), shape, first_row, dropout, element,
                            kNoStream);
    cuda::attention_softmax_grad(weights_in_place.data(), dscores_in_place.data(), weights_in_place.data(),
                                 dscores_in_place.data(), log_sum_exp.data(), at_step.data(), shape, first_row, dropout,
                                 element, kNoStream);
    EXPECT_TRUE(bit_equal(in_place, weights.floats()));
    EXPECT_TRUE(bit_equal(weights_in_place, again.floats()));
    EXPECT_TRUE(bit_equal(dscores_in_place, dscores.floats()));
  });
}

// One row per warp, with one to eight groups of four per lane: multiples of four up to 1024. One row per block: all others.
TEST(CudaAttentionSoftmax, MatchesDefinition) {
  for (std::int64_t sequence : {1, 3, 4, 17, 64, 65, 124, 128, 132, 255, 260, 384})
    for_each_element("", [&](Element element) {
      check_softmax(scores_of(sequence), element, kNone, 0);
      check_softmax(scores_of(sequence), element, dropout_of(0.1), 7);
      check_softmax(causal(scores_of(sequence)), element, dropout_of(0.1), 7);
    });
}

TEST(CudaAttentionSoftmax, LongRowsMatchDefinition) {
  check_softmax(scores_of(512), Element::bf16, dropout_of(0.1), 2);
  check_softmax(causal(scores_of(516)), Element::f32, kNone, 2);
  check_softmax(scores_of(1024), Element::f32, dropout_of(0.1), 2);
  check_softmax(causal(scores_of(1025)), Element::f32, kNone, 2);
  check_softmax(scores_of(1028), Element::f32, kNone, 2);
}

TEST(CudaAttentionSoftmax, RowsOfSeveralBatchesMatchDefinition) {
  for (std::int64_t sequence : {12, 13})
    for_each_element("", [&](Element element) {
      check_softmax({3, sequence, 5, 1}, element, dropout_of(0.25), 1000003);
      check_softmax(causal({3, sequence, 5, 1}), element, kNone, 0);
    });
}

// The first element of a row is any of a block of four, and beyond 32 bits.
TEST(CudaAttentionSoftmax, RowsOfAGroupHaveTheMaskOfTheirPlaceInTheBatch) {
  for (std::int64_t sequence : {1, 3, 12, 13})
    for (std::int64_t first_row : {1, 30, 1 << 30})
      for_each_element("", [&](Element element) {
        check_softmax({2, sequence, 3, 1}, element, dropout_of(0.25), 7, 4, first_row);
      });
}

TEST(CudaAttentionSoftmax, LargeScoresMatchDefinition) {
  for (std::int64_t sequence : {64, 65}) check_softmax(scores_of(sequence), Element::f32, kNone, 0, 80);
}

TEST(CudaAttentionSoftmax, NanStaysInItsRow) {
  for (std::int64_t sequence : {64, 65}) {
    const AttentionShape shape = scores_of(sequence);
    const std::int64_t rows = rows_of(shape), n = rows * sequence;
    DeviceBuffer<float> scores = random_device_floats(n, 3);
    const DeviceBuffer<std::int32_t> step = on_device(0);
    scores[5 * sequence + 40] = NAN;
    Tensor weights(n, Element::f32);
    DeviceBuffer<float> log_sum_exp(rows);
    cuda::attention_softmax(weights.data(), log_sum_exp.data(), scores.data(), step.data(), shape, 0, kNone, Element::f32,
                            kNoStream);
    const GuardedBuffer<float> values = weights.floats();
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(std::isnan(values[i]), i / sequence == 5) << i;
    for (std::int64_t r = 0; r < rows; ++r) ASSERT_EQ(std::isnan(log_sum_exp[r]), r == 5) << r;
  }
}

// What a product leaves above the diagonal does not matter, not even a NaN, and weights and their gradients are 0 there.
TEST(CudaAttentionSoftmax, IgnoresScoresAfterACausalRowsPosition) {
  for (std::int64_t sequence : {1, 5, 64, 65, 260})
    for_each_element(std::to_string(sequence), [&](Element element) {
      const AttentionShape shape = causal(scores_of(sequence));
      const std::int64_t rows = rows_of(shape), n = rows * sequence;
      DeviceBuffer<float> scores = random_device_floats(n, 3), dweights = random_device_floats(n, 4);
      const DeviceBuffer<std::int32_t> step = on_device(0);
      const auto masked = [&](std::int64_t i) { return i % sequence > i / sequence % sequence; };
      for (std::int64_t i = 0; i < n; ++i)
        if (masked(i)) scores[i] = dweights[i] = NAN;
      Tensor weights(n, element), again(n, element), dscores(n, element);
      DeviceBuffer<float> log_sum_exp(rows);
      cuda::attention_softmax(weights.data(), log_sum_exp.data(), scores.data(), step.data(), shape, 0, kNone, element,
                              kNoStream);
      cuda::attention_softmax_grad(again.data(), dscores.data(), scores.data(), dweights.data(), log_sum_exp.data(),
                                   step.data(), shape, 0, kNone, element, kNoStream);
      for (const Tensor* result : {&weights, &again, &dscores}) {
        const GuardedBuffer<float> values = result->floats();
        for (std::int64_t i = 0; i < n; ++i) {
          ASSERT_FALSE(std::isnan(values[i])) << i;
          ASSERT_TRUE(!masked(i) || values[i] == 0) << i;
        }
      }
    });
}

TEST(CudaHeads, SplitAndMergeAreCopies) {
  for (const AttentionShape& s : {AttentionShape{1, 1, 1, 1}, AttentionShape{2, 5, 3, 8}, AttentionShape{3, 7, 2, 5},
                                  AttentionShape{1, 128, 2, 64}, AttentionShape{2, 17, 12, 4}})
    for_each_element(describe(s, kNone), [&](Element element) {
      const std::int64_t n = rows_of(s) * s.width;
      const Tensor x = random_tensor(n, element, 4);
      const GuardedBuffer<float> values = x.floats();
      GuardedBuffer<float> expected(n);
      for (std::int64_t i = 0; i < n; ++i) {  // [batch, sequence, heads, width]
        const std::int64_t d = i % s.width, h = i / s.width % s.heads, row = i / (s.width * s.heads);
        expected[((row / s.sequence * s.heads + h) * s.sequence + row % s.sequence) * s.width + d] = values[i];
      }
      for_each_order("", [&] {
        Tensor apart(n, element), together(n, element);
        cuda::split_heads(apart.data(), x.data(), s, element, kNoStream);
        cuda::merge_heads(together.data(), apart.data(), s, element, kNoStream);
        EXPECT_TRUE(bit_equal(apart.floats(), expected));
        EXPECT_TRUE(bit_equal(together.floats(), values));
        EXPECT_TRUE(apart.guards_intact() && together.guards_intact());
      });
    });
}

// The shape of k and v as if they were q.
AttentionShape of_keys(AttentionShape shape) {
  shape.heads = key_heads(shape);
  shape.kv_heads = 0;
  return shape;
}
AttentionShape grouped(AttentionShape shape, std::int64_t kv_heads) {
  shape.kv_heads = kv_heads;
  return shape;
}

TEST(CudaHeads, JointSplitAndMergeAreThoseOfThreeTensors) {
  for (AttentionShape s :
       {AttentionShape{1, 1, 1, 1}, AttentionShape{2, 5, 3, 8}, AttentionShape{3, 7, 2, 5}, AttentionShape{1, 128, 2, 64},
        AttentionShape{2, 17, 12, 4}, grouped({2, 5, 6, 8}, 2), grouped({3, 7, 4, 5}, 1)})
    for_each_element(describe(s, kNone) + " joint", [&](Element element) {
      const std::int64_t row = joint_stride(s), rows = s.batch * s.sequence;
      const std::int64_t n = rows * row_stride(s), keys = rows * key_heads(s) * s.width;
      const Tensor qkv = random_tensor(rows * row, element, 4);
      const GuardedBuffer<float> values = qkv.floats();
      s.joint = true;
      for_each_order("", [&] {
        Tensor split[3] = {Tensor(n, element), Tensor(keys, element), Tensor(keys, element)}, together(rows * row, element);
        cuda::split_joint_heads(split[0].data(), split[1].data(), split[2].data(), qkv.data(), s, element, kNoStream);
        cuda::merge_joint_heads(together.data(), split[0].data(), split[1].data(), split[2].data(), s, element, kNoStream);
        EXPECT_TRUE(bit_equal(together.floats(), values) && together.guards_intact());
        for (int part = 0; part < 3; ++part) {
          const AttentionShape of_part = part == 0 ? s : of_keys(s);
          const std::int64_t columns = row_stride(of_part), count = rows * columns;
          GuardedBuffer<float> dense(count);
          for (std::int64_t i = 0; i < count; ++i) dense[i] = values[i / columns * row + joint_offset(s, part) + i % columns];
          const Tensor one(std::span<const float>(dense.data(), static_cast<std::size_t>(count)), element);
          Tensor expected(count, element);
          cuda::split_heads(expected.data(), one.data(), of_part, element, kNoStream);
          EXPECT_TRUE(bit_equal(split[part].floats(), expected.floats())) << part;
          EXPECT_TRUE(split[part].guards_intact());
        }
      });
    });
}

TEST(CudaAttentionSeed, DiffersByStepOrdinalSeedAndPart) {
  std::set<std::int64_t> seen;
  for (std::uint64_t seed : {0ull, 1ull, 42ull, 0x8000000000000000ull})
    for (std::uint32_t ordinal : {0u, 1u, 77u})
      for (std::int32_t step : {0, 1, 2, 1000000})
        for (std::int64_t first : {0, 64, 128}) {
          DeviceBuffer<std::int64_t> seed_offset(2), again(2);
          const DeviceBuffer<std::int32_t> at_step = on_device(step);
          for (DeviceBuffer<std::int64_t>* to : {&seed_offset, &again})
            cuda::attention_seed(to->data(), at_step.data(), {.seed = seed, .ordinal = ordinal, .first = first}, kNoStream);
          EXPECT_TRUE(seen.insert(seed_offset[0]).second) << seed << ' ' << ordinal << ' ' << step << ' ' << first;
          EXPECT_EQ(seed_offset[1], 0);
          EXPECT_EQ(again[0], seed_offset[0]);
          EXPECT_TRUE(seed_offset.guards_intact());
        }
}

}  // namespace
}  // namespace epochbench
