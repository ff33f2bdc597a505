// Attention and its gradient: the reference against hand-made cases and differences, the CPU kernels against the reference.
#include <string>
#include <vector>

#include "kernels/reference/kernels.h"
#include "tests/support/kernel_sweep.h"

namespace epochbench {
namespace {

using test::expect_close;
using test::for_each_kernels;
using test::GuardedBuffer;
using test::kEps;
using test::max_abs;
using test::random_floats;

constexpr Dropout kNone{};

Dropout dropout_of(double probability, std::uint32_t ordinal = 3) {
  return {0x0123456789abcdefu, ordinal, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

std::string describe(const AttentionShape& s, const Dropout& dropout, std::int32_t step) {
  return "batch=" + std::to_string(s.batch) + " sequence=" + std::to_string(s.sequence) + " heads=" + std::to_string(s.heads) +
         " width=" + std::to_string(s.width) + (dropout.threshold != 0 ? " dropout step=" + std::to_string(step) : "");
}

struct Tensors {
  explicit Tensors(const AttentionShape& s)
      : shape(s),
        q(elements()),
        k(elements()),
        v(elements()),
        dy(elements()),
        y(elements()),
        log_sum_exp(rows()),
        dq(elements()),
        dk(elements()),
        dv(elements()) {}

  std::int64_t elements() const { return shape.batch * shape.sequence * shape.heads * shape.width; }
  std::int64_t rows() const { return shape.batch * shape.heads * shape.sequence; }
  bool guards_intact() const {
    for (const GuardedBuffer<float>* output : {&y, &log_sum_exp, &dq, &dk, &dv})
      if (!output->guards_intact()) return false;
    return true;
  }

  AttentionShape shape;
  GuardedBuffer<float> q, k, v, dy, y, log_sum_exp, dq, dk, dv;
};

// Inputs within (-range, range), outputs by the reference.
Tensors by_reference(const AttentionShape& shape, const Dropout& dropout, std::int32_t step, double range = 1) {
  Tensors t(shape);
  t.q = random_floats(t.elements(), 1, -range, range);
  t.k = random_floats(t.elements(), 2, -range, range);
  t.v = random_floats(t.elements(), 3);
  t.dy = random_floats(t.elements(), 4);
  reference::attention(t.y.data(), t.log_sum_exp.data(), t.q.data(), t.k.data(), t.v.data(), &step, shape, dropout);
  reference::attention_grad(t.dq.data(), t.dk.data(), t.dv.data(), t.dy.data(), t.q.data(), t.k.data(), t.v.data(), t.y.data(),
                            t.log_sum_exp.data(), &step, shape, dropout);
  return t;
}

GuardedBuffer<float> workspace_of(const cpu::Kernels<float>& kernels, const AttentionShape& shape, int threads) {
  return GuardedBuffer<float>(static_cast<std::int64_t>(kernels.attention_workspace_bytes(shape, threads) / sizeof(float)));
}

// The gradient takes y and log_sum_exp of `inputs`, so that it is judged by itself.
Tensors by_kernels(const cpu::Kernels<float>& kernels, const Tensors& inputs, const Dropout& dropout, std::int32_t step,
                   int threads) {
  const AttentionShape& shape = inputs.shape;
  Tensors t(shape);
  GuardedBuffer<float> workspace = workspace_of(kernels, shape, threads);
  kernels.attention(t.y.data(), t.log_sum_exp.data(), inputs.q.data(), inputs.k.data(), inputs.v.data(), &step, shape, dropout,
                    workspace.data(), threads);
  EXPECT_TRUE(workspace.guards_intact());
  workspace.poison();
  kernels.attention_grad(t.dq.data(), t.dk.data(), t.dv.data(), inputs.dy.data(), inputs.q.data(), inputs.k.data(),
                         inputs.v.data(), inputs.y.data(), inputs.log_sum_exp.data(), &step, shape, dropout, workspace.data(),
                         threads);
  EXPECT_TRUE(workspace.guards_intact());
  EXPECT_TRUE(t.guards_intact());
  return t;
}

// A score is off by a few eps times its magnitude and its products', and with it the logarithm of its weight. Weights of a row
// sum to one, those of a column to what shows in the largest gradient.
void expect_equal(const Tensors& actual, const Tensors& expected, const Dropout& dropout, double range) {
  const double scores = range * range + max_abs(expected.log_sum_exp);
  const double weight_error = 4 * kEps * (4 + scores) * static_cast<double>(dropout.scale);
  expect_close(actual.log_sum_exp, expected.log_sum_exp, {kEps, 2 * kEps * (4 + scores)});
  expect_close(actual.y, expected.y, {kEps, weight_error});
  expect_close(actual.dv, expected.dv, {kEps, weight_error * (1 + max_abs(expected.dv))});
  expect_close(actual.dq, expected.dq, {kEps, 2 * weight_error * (range + max_abs(expected.dq))});
  expect_close(actual.dk, expected.dk, {kEps, 2 * weight_error * (range + max_abs(expected.dk))});
}

void check(const AttentionShape& shape, const Dropout& dropout, std::int32_t step = 0, double range = 1) {
  const Tensors expected = by_reference(shape, dropout, step, range);
  for_each_kernels(describe(shape, dropout, step), [&](const cpu::Kernels<float>& kernels, int threads) {
    expect_equal(by_kernels(kernels, expected, dropout, step, threads), expected, dropout, range);
  });
}

TEST(AttentionReference, MatchesWorkedCase) {
  // Width 4, so scores are halved: rows (ln 3, 0) and (0, 0), weights (3/4, 1/4) and (1/2, 1/2).
  const AttentionShape shape{1, 2, 1, 4};
  const float q[] = {2, 0, 0, 0, 0, 0, 0, 0}, k[] = {std::log(3.0f), 0, 0, 0, 0, 0, 0, 0}, v[] = {8, 4, 0, 1, 0, -4, 4, 1};
  const std::int32_t step = 0;
  GuardedBuffer<float> y(8), log_sum_exp(2), expected(8), expected_log(2);
  reference::attention(y.data(), log_sum_exp.data(), q, k, v, &step, shape, kNone);
  const float rows[] = {6, 2, 1, 1, 4, 0, 2, 1}, logs[] = {std::log(4.0f), std::log(2.0f)};
  std::copy_n(rows, 8, expected.data());
  std::copy_n(logs, 2, expected_log.data());
  expect_close(y, expected, {4 * kEps, 4 * kEps});
  expect_close(log_sum_exp, expected_log, {2 * kEps, 0});
}

// The derivative of sum(y dy) by every element of q, k and v.
TEST(AttentionReference, GradientMatchesDifferences) {
  const AttentionShape shape{2, 5, 2, 3};
  const std::int32_t step = 2;
  constexpr float kDelta = 1.0f / 128;
  for (const Dropout& dropout : {kNone, dropout_of(0.3)}) {
    Tensors t = by_reference(shape, dropout, step);
    const auto loss = [&] {
      GuardedBuffer<float> y(t.elements()), log_sum_exp(t.rows());
      reference::attention(y.data(), log_sum_exp.data(), t.q.data(), t.k.data(), t.v.data(), &step, shape, dropout);
      double sum = 0;
      for (std::int64_t i = 0; i < t.elements(); ++i) sum += static_cast<double>(y[i]) * t.dy[i];
      return sum;
    };
    for (auto [input, gradient] : {std::pair{&t.q, &t.dq}, std::pair{&t.k, &t.dk}, std::pair{&t.v, &t.dv}}) {
      GuardedBuffer<float> differences(t.elements());
      for (std::int64_t i = 0; i < t.elements(); ++i) {
        const float value = (*input)[i];
        (*input)[i] = value + kDelta;
        const double above = loss();
        (*input)[i] = value - kDelta;
        differences[i] = static_cast<float>((above - loss()) / (2 * kDelta));
        (*input)[i] = value;
      }
      expect_close(*gradient, differences, {1e-3, 2e-4});
    }
  }
}

TEST(Attention, EverySequenceMatchesReference) {
  for (std::int64_t sequence = 1; sequence <= 130; ++sequence) {
    const double probability = sequence % 2 == 0 ? 0.1 : 0;
    check({1, sequence, 1 + sequence % 3, sequence % 5 == 0 ? 1 : 7}, dropout_of(probability), 1);
  }
}

// Heads as wide as real ones, around the limits of tiles: 4, 8 and 16 lanes; 5, 6, 10, 12, 14 and 16 rows.
TEST(Attention, TileBoundariesMatchReference) {
  for (std::int64_t sequence : {1, 4, 12, 15, 16, 17, 28, 31, 33, 64, 65, 127, 128, 130})
    for (std::int64_t width : {1, 7, 64, 80}) {
      check({1, sequence, 1, width}, kNone);
      check({1, sequence, 2, width}, dropout_of(0.1), 5);
    }
}

TEST(Attention, SeveralBlocksMatchReference) {
  check({1, 257, 1, 9}, kNone);
  check({1, 383, 1, 16}, dropout_of(0.1), 7);
  check({1, 600, 1, 5}, kNone);
}

TEST(Attention, BatchesMatchReference) {
  check({3, 96, 3, 16}, kNone);
  check({5, 41, 3, 32}, dropout_of(0.1), 11);
}

TEST(Attention, FewPairsMatchReference) {
  check({1, 200, 1, 33}, kNone);
  check({2, 120, 1, 64}, dropout_of(0.1), 2);
}

TEST(Attention, LargeScoresMatchReference) {
  for (const AttentionShape& shape : {AttentionShape{1, 70, 2, 64}, AttentionShape{1, 33, 1, 7}}) {
    const double range = std::sqrt(120);  // the scores' deviation is a third of its square
    const Tensors expected = by_reference(shape, kNone, 0, range);
    EXPECT_GT(max_abs(expected.log_sum_exp), 90);
    check(shape, kNone, 0, range);
    check(shape, dropout_of(0.1), 1, range);
  }
}

TEST(Attention, HugeScoresStayFinite) {
  const AttentionShape shape{1, 50, 2, 16};
  const Tensors inputs = by_reference(shape, kNone, 0, 1e3);
  for_each_kernels("", [&](const cpu::Kernels<float>& kernels, int threads) {
    const Tensors t = by_kernels(kernels, inputs, kNone, 0, threads);
    for (const GuardedBuffer<float>* output : {&t.y, &t.log_sum_exp})
      for (float value : *output) ASSERT_TRUE(std::isfinite(value));
    EXPECT_LE(max_abs(t.y), 1 + 8 * kEps);
  });
}

TEST(Attention, WeightsOfARowSumToOne) {
  for (std::int64_t sequence : {1, 19, 128, 300}) {
    const AttentionShape shape{2, sequence, 2, 12};
    Tensors inputs(shape);
    inputs.q = random_floats(inputs.elements(), 1, -5, 5);
    inputs.k = random_floats(inputs.elements(), 2, -5, 5);
    std::fill(inputs.v.begin(), inputs.v.end(), 1.0f);
    GuardedBuffer<float> ones = inputs.v;
    for_each_kernels(std::to_string(sequence), [&](const cpu::Kernels<float>& kernels, int threads) {
      GuardedBuffer<float> y(inputs.elements()), log_sum_exp(inputs.rows()), workspace = workspace_of(kernels, shape, threads);
      const std::int32_t step = 0;
      kernels.attention(y.data(), log_sum_exp.data(), inputs.q.data(), inputs.k.data(), inputs.v.data(), &step, shape, kNone,
                        workspace.data(), threads);
      expect_close(y, ones, test::sum_tolerance(static_cast<double>(sequence), 0.25));
    });
  }
}

// Values that are unit vectors show the weights themselves: zero exactly where the definition drops them.
TEST(Attention, MaskIsPhiloxByElement) {
  for (std::int64_t sequence : {5, 18, 61}) {
    const AttentionShape shape{2, sequence, 3, sequence};
    const Dropout dropout = dropout_of(0.25, 17);
    Tensors inputs(shape);
    inputs.q = random_floats(inputs.elements(), 1);
    inputs.k = random_floats(inputs.elements(), 2);
    for (std::int64_t i = 0; i < inputs.elements(); ++i)
      inputs.v[i] = i / (shape.heads * sequence) % sequence == i % sequence ? 1.0f : 0.0f;
    for (std::int32_t step : {0, 1, 1'000'003}) {
      for_each_kernels(describe(shape, dropout, step), [&](const cpu::Kernels<float>& kernels, int threads) {
        GuardedBuffer<float> y(inputs.elements()), log_sum_exp(inputs.rows()),
            workspace = workspace_of(kernels, shape, threads);
        kernels.attention(y.data(), log_sum_exp.data(), inputs.q.data(), inputs.k.data(), inputs.v.data(), &step, shape,
                          dropout, workspace.data(), threads);
        for (std::int64_t at = 0; at < inputs.elements(); ++at) {  // [batch,query,head,key]
          const std::int64_t key = at % sequence, head = at / sequence % shape.heads;
          const std::int64_t query = at / (sequence * shape.heads) % sequence, batch = at / (sequence * shape.heads * sequence);
          const std::int64_t element = ((batch * shape.heads + head) * sequence + query) * sequence + key;
          const PhiloxBlock block =
              philox(dropout.seed, {static_cast<std::uint32_t>(element / 4), static_cast<std::uint32_t>(step), dropout.ordinal,
                                    static_cast<std::uint32_t>(RandomStream::dropout)});
          ASSERT_EQ(y[at] != 0, block[static_cast<std::size_t>(element % 4)] >= dropout.threshold) << element;
        }
      });
    }
  }
}

TEST(Attention, NotANumberStaysInItsRow) {
  const AttentionShape shape{1, 40, 2, 24};
  Tensors inputs = by_reference(shape, kNone, 0);
  const std::int64_t row = 11, head = 1;
  inputs.q[(row * shape.heads + head) * shape.width + 5] = std::numeric_limits<float>::quiet_NaN();
  for_each_kernels("", [&](const cpu::Kernels<float>& kernels, int threads) {
    const Tensors t = by_kernels(kernels, inputs, kNone, 0, threads);
    for (std::int64_t i = 0; i < inputs.elements(); ++i) {
      const bool hit = i / shape.width == row * shape.heads + head;
      ASSERT_EQ(std::isnan(t.y[i]), hit) << i;
      ASSERT_EQ(std::isnan(t.dq[i]), hit) << i;
    }
    for (std::int64_t i = 0; i < inputs.rows(); ++i)
      ASSERT_EQ(std::isnan(t.log_sum_exp[i]), i == head * shape.sequence + row) << i;
  });
}

TEST(Attention, RepeatsBitForBit) {
  for (const AttentionShape& shape : {AttentionShape{1, 150, 1, 64}, AttentionShape{2, 65, 3, 20}}) {
    const Dropout dropout = dropout_of(0.1);
    const Tensors inputs = by_reference(shape, dropout, 4);
    for_each_kernels(describe(shape, dropout, 4), [&](const cpu::Kernels<float>& kernels, int threads) {
      const Tensors first = by_kernels(kernels, inputs, dropout, 4, threads);
      for (int repetition = 0; repetition < 3; ++repetition) {
        const Tensors again = by_kernels(kernels, inputs, dropout, 4, threads);
        EXPECT_TRUE(test::bit_equal(again.y, first.y) && test::bit_equal(again.log_sum_exp, first.log_sum_exp));
        EXPECT_TRUE(test::bit_equal(again.dq, first.dq) && test::bit_equal(again.dk, first.dk) &&
                    test::bit_equal(again.dv, first.dv));
      }
    });
  }
}

}  // namespace
}  // namespace epochbench
