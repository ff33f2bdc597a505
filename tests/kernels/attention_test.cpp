// Attention and its gradient: the reference against worked cases and differences, the CPU kernels against the reference.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

template <typename Real>
class Attention : public testing::Test {};
TYPED_TEST_SUITE(Attention, test::Reals, test::RealName);

constexpr Dropout kNone{};

Dropout dropout_of(double probability, std::uint32_t ordinal = 3) {
  return {0x0123456789abcdefu, ordinal, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

std::string describe(const AttentionShape& s, const Dropout& dropout, std::int32_t step) {
  return "batch=" + std::to_string(s.batch) + " sequence=" + std::to_string(s.sequence) + " heads=" + std::to_string(s.heads) +
         "/" + std::to_string(key_heads(s)) + " width=" + std::to_string(s.width) + (s.causal ? " causal" : "") +
         (dropout.threshold != 0 ? " dropout step=" + std::to_string(step) : "");
}

// q, k or v of a joint tensor.
template <typename Real>
Real* part(GuardedBuffer<Real>& joint, const AttentionShape& shape, int index) {
  return joint.data() + joint_offset(shape, index);
}

AttentionShape causal(AttentionShape shape) {
  shape.causal = true;
  return shape;
}
// With so many heads of keys and values.
AttentionShape grouped(AttentionShape shape, std::int64_t kv_heads) {
  shape.kv_heads = kv_heads;
  return shape;
}

// In floats; converted to Real when a kernel is called.
struct Tensors {
  explicit Tensors(const AttentionShape& s)
      : shape(s),
        q(elements()),
        k(key_elements()),
        v(key_elements()),
        dy(elements()),
        y(elements()),
        log_sum_exp(rows()),
        dq(elements()),
        dk(key_elements()),
        dv(key_elements()) {}

  std::int64_t elements() const { return shape.batch * shape.sequence * shape.heads * shape.width; }
  std::int64_t key_elements() const { return shape.batch * shape.sequence * key_heads(shape) * shape.width; }
  std::int64_t rows() const { return shape.batch * shape.heads * shape.sequence; }

  AttentionShape shape;
  GuardedBuffer<float> q, k, v, dy, y, log_sum_exp, dq, dk, dv;
};

// Inputs within (-range, range), outputs of the reference, whose gradient takes a rounded y, as a kernel does.
template <typename Real>
Tensors by_reference(const AttentionShape& shape, const Dropout& dropout, std::int32_t step, double range = 1) {
  Tensors t(shape);
  t.q = floats(random_reals<Real>(t.elements(), 1, -range, range));
  t.k = floats(random_reals<Real>(t.key_elements(), 2, -range, range));
  t.v = floats(random_reals<Real>(t.key_elements(), 3));
  t.dy = floats(random_reals<Real>(t.elements(), 4));
  reference::attention(t.y.data(), t.log_sum_exp.data(), t.q.data(), t.k.data(), t.v.data(), &step, shape, dropout);
  reference::attention_grad(t.dq.data(), t.dk.data(), t.dv.data(), t.dy.data(), t.q.data(), t.k.data(), t.v.data(),
                            floats(reals<Real>(t.y)).data(), t.log_sum_exp.data(), &step, shape, dropout);
  return t;
}

template <typename Real>
GuardedBuffer<float> workspace_of(const cpu::Kernels<Real>& kernels, const AttentionShape& shape, int threads) {
  return GuardedBuffer<float>(static_cast<std::int64_t>(kernels.attention_workspace_bytes(shape, threads) / sizeof(float)));
}

// The gradient takes y and log_sum_exp of `inputs`, so that it is tested independently.
template <typename Real>
Tensors by_kernels(const cpu::Kernels<Real>& kernels, const Tensors& inputs, const Dropout& dropout, std::int32_t step,
                   int threads) {
  const AttentionShape& shape = inputs.shape;
  Tensors t(shape);
  const GuardedBuffer<Real> q = reals<Real>(inputs.q), k = reals<Real>(inputs.k), v = reals<Real>(inputs.v);
  const GuardedBuffer<Real> given_y = reals<Real>(inputs.y), dy = reals<Real>(inputs.dy);
  GuardedBuffer<Real> y(t.elements()), dq(t.elements()), dk(t.key_elements()), dv(t.key_elements());
  GuardedBuffer<float> workspace = workspace_of(kernels, shape, threads);
  kernels.attention(y.data(), t.log_sum_exp.data(), q.data(), k.data(), v.data(), &step, shape, dropout, workspace.data(),
                    threads);
  EXPECT_TRUE(workspace.guards_intact());
  workspace.poison();
  kernels.attention_grad(dq.data(), dk.data(), dv.data(), dy.data(), q.data(), k.data(), v.data(), given_y.data(),
                         inputs.log_sum_exp.data(), &step, shape, dropout, workspace.data(), threads);
  EXPECT_TRUE(workspace.guards_intact() && t.log_sum_exp.guards_intact());
  for (const GuardedBuffer<Real>* output : {&y, &dq, &dk, &dv}) EXPECT_TRUE(output->guards_intact());
  t.y = floats(y);
  t.dq = floats(dq);
  t.dk = floats(dk);
  t.dv = floats(dv);
  return t;
}

// A score errs by a few eps times its magnitude and that of its products, and so does the logarithm of its weight. The weights
// of a row sum to one, those of a column to the scale of the largest gradient. In Bf16, weights and gradients of scores are
// rounded before they are multiplied.
template <typename Real>
void expect_equal(const Tensors& actual, const Tensors& expected, const Dropout& dropout, double range) {
  const double scores = range * range + max_abs(expected.log_sum_exp);
  const double weight_error = (4 * kEps * (4 + scores) + rounded<Real>({}).relative) * static_cast<double>(dropout.scale);
  expect_close(actual.log_sum_exp, expected.log_sum_exp, {kEps, 2 * kEps * (4 + scores)});
  expect_close(actual.y, expected.y, rounded<Real>({kEps, weight_error}));
  expect_close(actual.dv, expected.dv, rounded<Real>({kEps, weight_error * (1 + max_abs(expected.dv))}));
  expect_close(actual.dq, expected.dq, rounded<Real>({kEps, 2 * weight_error * (range + max_abs(expected.dq))}));
  expect_close(actual.dk, expected.dk, rounded<Real>({kEps, 2 * weight_error * (range + max_abs(expected.dk))}));
}

template <typename Real>
void check(const AttentionShape& shape, const Dropout& dropout, std::int32_t step = 0, double range = 1) {
  const Tensors expected = by_reference<Real>(shape, dropout, step, range);
  for_each_kernels_of<Real>(describe(shape, dropout, step), [&](const cpu::Kernels<Real>& kernels, int threads) {
    expect_equal<Real>(by_kernels(kernels, expected, dropout, step, threads), expected, dropout, range);
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

// The same with a third query like the second: its weights would be (1/3, 1/3, 1/3). The first query has one key only.
TEST(AttentionReference, MatchesWorkedCausalCase) {
  const AttentionShape shape = causal({1, 3, 1, 4});
  const float q[12] = {2}, k[12] = {std::log(3.0f)}, v[] = {8, 4, 0, 1, 0, -4, 4, 1, 4, 3, 2, 1};
  const std::int32_t step = 0;
  GuardedBuffer<float> y(12), log_sum_exp(3), expected(12), expected_log(3);
  reference::attention(y.data(), log_sum_exp.data(), q, k, v, &step, shape, kNone);
  const float rows[] = {8, 4, 0, 1, 4, 0, 2, 1, 4, 1, 2, 1}, logs[] = {std::log(3.0f), std::log(2.0f), std::log(3.0f)};
  std::copy_n(rows, 12, expected.data());
  std::copy_n(logs, 3, expected_log.data());
  expect_close(y, expected, {4 * kEps, 4 * kEps});
  expect_close(log_sum_exp, expected_log, {2 * kEps, 0});
}

// The derivative of sum(y dy) with respect to every element of q, k and v.
void expect_gradient_matches_differences(const AttentionShape& shape) {
  const std::int32_t step = 2;
  constexpr float kDelta = 1.0f / 128;
  for (const Dropout& dropout : {kNone, dropout_of(0.3)}) {
    Tensors t = by_reference<float>(shape, dropout, step);
    const auto loss = [&] {
      GuardedBuffer<float> y(t.elements()), log_sum_exp(t.rows());
      reference::attention(y.data(), log_sum_exp.data(), t.q.data(), t.k.data(), t.v.data(), &step, shape, dropout);
      double sum = 0;
      for (std::int64_t i = 0; i < t.elements(); ++i) sum += static_cast<double>(y[i]) * t.dy[i];
      return sum;
    };
    for (auto [input, gradient] : {std::pair{&t.q, &t.dq}, std::pair{&t.k, &t.dk}, std::pair{&t.v, &t.dv}}) {
      const auto n = static_cast<std::int64_t>(input->size());
      GuardedBuffer<float> differences(n);
      for (std::int64_t i = 0; i < n; ++i) {
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

TEST(AttentionReference, GradientMatchesDifferences) {
  for (const AttentionShape& shape : {AttentionShape{2, 5, 2, 3}, causal({2, 5, 2, 3}), causal({2, 1, 2, 3}),
                                      grouped({2, 3, 4, 3}, 2), causal(grouped({1, 4, 6, 2}, 2))})
    expect_gradient_matches_differences(shape);
}

TYPED_TEST(Attention, EverySequenceMatchesReference) {
  for (std::int64_t sequence = 1; sequence <= 130; ++sequence) {
    const double probability = sequence % 2 == 0 ? 0.1 : 0;
    const AttentionShape shape{1, sequence, 1 + sequence % 3, sequence % 5 == 0 ? 1 : 7};
    check<TypeParam>(shape, dropout_of(probability), 1);
    check<TypeParam>(causal(shape), dropout_of(probability), 1);
  }
}

// Head widths of real models, around tile boundaries: 4, 8 and 16 lanes; 5, 6, 10, 12, 14 and 16 rows.
TYPED_TEST(Attention, TileBoundariesMatchReference) {
  for (std::int64_t sequence : {1, 4, 12, 15, 16, 17, 28, 31, 33, 64, 65, 127, 128, 130})
    for (std::int64_t width : {1, 7, 64, 80}) {
      check<TypeParam>({1, sequence, 1, width}, kNone);
      check<TypeParam>({1, sequence, 2, width}, dropout_of(0.1), 5);
    }
}

template <typename Real>
void check_causal_too(const AttentionShape& shape, const Dropout& dropout, std::int32_t step = 0) {
  check<Real>(shape, dropout, step);
  check<Real>(causal(shape), dropout, step);
}

TYPED_TEST(Attention, SeveralBlocksMatchReference) {
  check_causal_too<TypeParam>({1, 257, 1, 9}, kNone);
  check_causal_too<TypeParam>({1, 383, 1, 16}, dropout_of(0.1), 7);
  check_causal_too<TypeParam>({1, 300, 1, 64}, dropout_of(0.1), 5);
  check_causal_too<TypeParam>({1, 600, 1, 5}, kNone);
}

TYPED_TEST(Attention, BatchesMatchReference) {
  check_causal_too<TypeParam>({3, 96, 3, 16}, kNone);
  check_causal_too<TypeParam>({5, 41, 3, 32}, dropout_of(0.1), 11);
}

TYPED_TEST(Attention, FewPairsMatchReference) {
  check_causal_too<TypeParam>({1, 200, 1, 33}, kNone);
  check_causal_too<TypeParam>({2, 120, 1, 64}, dropout_of(0.1), 2);
}

// Heads that share keys and values: one block and several, as many threads as groups and more.
TYPED_TEST(Attention, GroupsOfHeadsMatchReference) {
  check_causal_too<TypeParam>(grouped({1, 1, 2, 3}, 1), kNone);
  check_causal_too<TypeParam>(grouped({2, 17, 6, 48}, 2), kNone);
  check_causal_too<TypeParam>(grouped({2, 33, 6, 7}, 3), dropout_of(0.1), 3);
  check_causal_too<TypeParam>(grouped({1, 300, 4, 20}, 1), dropout_of(0.1), 2);
  check_causal_too<TypeParam>(grouped({1, 600, 2, 5}, 1), kNone);
}

// Keys and values after a query's position are not even multiplied by 0: blocks and shares end where their last query does.
TYPED_TEST(Attention, LaterBlocksDoNotReachCausalQueries) {
  using Real = TypeParam;
  const AttentionShape shape = causal({1, 600, 1, 16});
  const std::int64_t first = 590, at = first * shape.width;
  Tensors inputs = by_reference<Real>(shape, kNone, 0), changed = inputs;
  for (std::int64_t i = at; i < inputs.elements(); ++i) changed.k[i] = changed.v[i] = std::numeric_limits<float>::quiet_NaN();
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    const Tensors expected = by_kernels(kernels, inputs, kNone, 0, threads),
                  t = by_kernels(kernels, changed, kNone, 0, threads);
    constexpr std::int64_t kClean = 512;  // no block of queries is longer than 64, nor a panel
    for (std::int64_t i = 0; i < kClean * shape.width; ++i) {
      ASSERT_EQ(t.y[i], expected.y[i]) << i;
      ASSERT_EQ(t.dq[i], expected.dq[i]) << i;
    }
    for (std::int64_t i = at; i < inputs.elements(); ++i) ASSERT_TRUE(std::isnan(t.y[i])) << i;
  });
}

// q, k and v as the parts of one tensor, and their gradients too: the same bits as apart.
template <typename Real>
GuardedBuffer<Real> join(const AttentionShape& s, const GuardedBuffer<Real>& q, const GuardedBuffer<Real>& k,
                         const GuardedBuffer<Real>& v) {
  const std::int64_t row = row_stride(s), keys = key_heads(s) * s.width;
  GuardedBuffer<Real> joint(s.batch * s.sequence * joint_stride(s));
  for (std::int64_t i = 0; i < s.batch * s.sequence; ++i) {
    Real* const to = joint.data() + i * joint_stride(s);
    std::copy_n(q.data() + i * row, row, to);
    std::copy_n(k.data() + i * keys, keys, to + row);
    std::copy_n(v.data() + i * keys, keys, to + row + keys);
  }
  return joint;
}

// Several blocks, shares of pairs, tiles that are not full, one element.
const AttentionShape kJointShapes[] = {{1, 1, 1, 1},
                                       {2, 5, 3, 7},
                                       {3, 17, 2, 16},
                                       {1, 130, 3, 20},
                                       {2, 33, 12, 64},
                                       {1, 520, 1, 8},
                                       causal({2, 33, 3, 16}),
                                       causal({1, 520, 1, 8}),
                                       grouped({2, 33, 6, 16}, 2),
                                       causal(grouped({1, 150, 4, 8}, 1))};

TYPED_TEST(Attention, OfJointTensorsIsThatOfSeparateOnes) {
  using Real = TypeParam;
  const std::int32_t step = 5;
  for (const AttentionShape& apart : kJointShapes)
    for (const Dropout& dropout : {kNone, dropout_of(0.2)}) {
      AttentionShape shape = apart;
      shape.joint = true;
      const Tensors t = by_reference<Real>(apart, dropout, step);
      GuardedBuffer<Real> qkv = join(apart, reals<Real>(t.q), reals<Real>(t.k), reals<Real>(t.v));
      const GuardedBuffer<Real> dy = reals<Real>(t.dy), given_y = reals<Real>(t.y);
      for_each_kernels_of<Real>("joint " + describe(apart, dropout, step), [&](const cpu::Kernels<Real>& kernels, int threads) {
        const Tensors expected = by_kernels(kernels, t, dropout, step, threads);
        GuardedBuffer<Real> y(t.elements()), dqkv(t.elements() + 2 * t.key_elements());
        GuardedBuffer<float> log_sum_exp(t.rows()), workspace = workspace_of(kernels, shape, threads);
        kernels.attention(y.data(), log_sum_exp.data(), part(qkv, apart, 0), part(qkv, apart, 1), part(qkv, apart, 2), &step,
                          shape, dropout, workspace.data(), threads);
        workspace.poison();
        kernels.attention_grad(part(dqkv, apart, 0), part(dqkv, apart, 1), part(dqkv, apart, 2), dy.data(), part(qkv, apart, 0),
                               part(qkv, apart, 1), part(qkv, apart, 2), given_y.data(), t.log_sum_exp.data(), &step, shape,
                               dropout, workspace.data(), threads);
        EXPECT_TRUE(bit_equal(floats(y), expected.y));
        EXPECT_TRUE(bit_equal(log_sum_exp, expected.log_sum_exp));
        EXPECT_TRUE(bit_equal(floats(dqkv), join(apart, expected.dq, expected.dk, expected.dv)));
        EXPECT_TRUE(y.guards_intact() && dqkv.guards_intact() && workspace.guards_intact() && log_sum_exp.guards_intact());
      });
    }
}

TEST(AttentionReference, OfJointTensorsIsThatOfSeparateOnes) {
  const std::int32_t step = 5;
  for (const AttentionShape& apart : kJointShapes) {
    AttentionShape shape = apart;
    shape.joint = true;
    const Dropout dropout = dropout_of(0.2);
    const Tensors t = by_reference<float>(apart, dropout, step);
    GuardedBuffer<float> qkv = join(apart, t.q, t.k, t.v), y(t.elements()), log_sum_exp(t.rows()),
                         dqkv(t.elements() + 2 * t.key_elements());
    reference::attention(y.data(), log_sum_exp.data(), part(qkv, apart, 0), part(qkv, apart, 1), part(qkv, apart, 2), &step,
                         shape, dropout);
    reference::attention_grad(part(dqkv, apart, 0), part(dqkv, apart, 1), part(dqkv, apart, 2), t.dy.data(),
                              part(qkv, apart, 0), part(qkv, apart, 1), part(qkv, apart, 2), t.y.data(), t.log_sum_exp.data(),
                              &step, shape, dropout);
    EXPECT_TRUE(bit_equal(y, t.y));
    EXPECT_TRUE(bit_equal(dqkv, join(apart, t.dq, t.dk, t.dv)));
    EXPECT_TRUE(y.guards_intact() && dqkv.guards_intact());
  }
}

TYPED_TEST(Attention, LargeScoresMatchReference) {
  for (const AttentionShape& shape : {AttentionShape{1, 70, 2, 64}, AttentionShape{1, 33, 1, 7}}) {
    const double range = std::sqrt(120);  // the standard deviation of the scores is a third of its square
    const Tensors expected = by_reference<TypeParam>(shape, kNone, 0, range);
    EXPECT_GT(max_abs(expected.log_sum_exp), 90);
    check<TypeParam>(shape, kNone, 0, range);
    check<TypeParam>(shape, dropout_of(0.1), 1, range);
  }
}

TYPED_TEST(Attention, HugeScoresStayFinite) {
  const AttentionShape shape{1, 50, 2, 16};
  const Tensors inputs = by_reference<TypeParam>(shape, kNone, 0, 1e3);
  for_each_kernels_of<TypeParam>("", [&](const cpu::Kernels<TypeParam>& kernels, int threads) {
    const Tensors t = by_kernels(kernels, inputs, kNone, 0, threads);
    for (const GuardedBuffer<float>* output : {&t.y, &t.log_sum_exp})
      for (float value : *output) ASSERT_TRUE(std::isfinite(value));
    EXPECT_LE(max_abs(t.y), 1 + 8 * kEps + 2 * rounded<TypeParam>({}).relative);  // of the weights and of the result
  });
}

TYPED_TEST(Attention, WeightsOfARowSumToOne) {
  using Real = TypeParam;
  for (std::int64_t sequence : {1, 19, 128, 300}) {
    const AttentionShape shape{2, sequence, 2, 12};
    Tensors inputs(shape);
    std::fill(inputs.v.begin(), inputs.v.end(), 1.0f);
    const GuardedBuffer<Real> q = random_reals<Real>(inputs.elements(), 1, -5, 5), ones = reals<Real>(inputs.v);
    const GuardedBuffer<Real> k = random_reals<Real>(inputs.elements(), 2, -5, 5);
    for_each_kernels_of<TypeParam>(std::to_string(sequence), [&](const cpu::Kernels<TypeParam>& kernels, int threads) {
      GuardedBuffer<Real> y(inputs.elements());
      GuardedBuffer<float> log_sum_exp(inputs.rows()), workspace = workspace_of(kernels, shape, threads);
      const std::int32_t step = 0;
      kernels.attention(y.data(), log_sum_exp.data(), q.data(), k.data(), ones.data(), &step, shape, kNone, workspace.data(),
                        threads);
      test::Tolerance tolerance = rounded<Real>(test::sum_tolerance(static_cast<double>(sequence), 0.25));
      tolerance.absolute += rounded<Real>({}).relative;  // of the weights
      expect_close(floats(y), inputs.v, tolerance);
    });
  }
}

// With unit vectors as values the output shows the weights: zero exactly where the definition drops them.
TYPED_TEST(Attention, MaskIsPhiloxByElement) {
  using Real = TypeParam;
  for (std::int64_t sequence : {5, 18, 61}) {
    const AttentionShape shape{2, sequence, 3, sequence};
    const Dropout dropout = dropout_of(0.25, 17);
    Tensors inputs(shape);
    const GuardedBuffer<Real> q = random_reals<Real>(inputs.elements(), 1);
    const GuardedBuffer<Real> k = random_reals<Real>(inputs.elements(), 2);
    for (std::int64_t i = 0; i < inputs.elements(); ++i)
      inputs.v[i] = i / (shape.heads * sequence) % sequence == i % sequence ? 1.0f : 0.0f;
    const GuardedBuffer<Real> v = reals<Real>(inputs.v);
    for (std::int32_t step : {0, 1, 1'000'003}) {
      for_each_kernels_of<TypeParam>(describe(shape, dropout, step), [&](const cpu::Kernels<TypeParam>& kernels, int threads) {
        GuardedBuffer<Real> y(inputs.elements());
        GuardedBuffer<float> log_sum_exp(inputs.rows()), workspace = workspace_of(kernels, shape, threads);
        kernels.attention(y.data(), log_sum_exp.data(), q.data(), k.data(), v.data(), &step, shape, dropout, workspace.data(),
                          threads);
        for (std::int64_t at = 0; at < inputs.elements(); ++at) {  // [batch,query,head,key]
          const std::int64_t key = at % sequence, head = at / sequence % shape.heads;
          const std::int64_t query = at / (sequence * shape.heads) % sequence, batch = at / (sequence * shape.heads * sequence);
          const std::int64_t element = ((batch * shape.heads + head) * sequence + query) * sequence + key;
          const PhiloxBlock block =
              philox(dropout.seed, {static_cast<std::uint32_t>(element / 4), static_cast<std::uint32_t>(step), dropout.ordinal,
                                    static_cast<std::uint32_t>(RandomStream::dropout)});
          ASSERT_EQ(test::widen(y[at]) != 0, block[static_cast<std::size_t>(element % 4)] >= dropout.threshold) << element;
        }
      });
    }
  }
}

TYPED_TEST(Attention, NotANumberStaysInItsRow) {
  const AttentionShape shape{1, 40, 2, 24};
  Tensors inputs = by_reference<TypeParam>(shape, kNone, 0);
  const std::int64_t row = 11, head = 1;
  inputs.q[(row * shape.heads + head) * shape.width + 5] = std::numeric_limits<float>::quiet_NaN();
  for_each_kernels_of<TypeParam>("", [&](const cpu::Kernels<TypeParam>& kernels, int threads) {
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

TYPED_TEST(Attention, RepeatsBitForBit) {
  for (const AttentionShape& shape : {AttentionShape{1, 150, 1, 64}, AttentionShape{2, 65, 3, 20}, causal({1, 300, 1, 20}),
                                      causal(grouped({1, 150, 4, 20}, 2))}) {
    const Dropout dropout = dropout_of(0.1);
    const Tensors inputs = by_reference<TypeParam>(shape, dropout, 4);
    for_each_kernels_of<TypeParam>(describe(shape, dropout, 4), [&](const cpu::Kernels<TypeParam>& kernels, int threads) {
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
