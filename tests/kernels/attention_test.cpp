// Attention and its gradient: the reference against worked cases and differences, the devices against the reference.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr Dropout kNone{};

Dropout dropout_of(double probability, std::uint32_t ordinal = 3) {
  return {0x0123456789abcdefu, ordinal, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

std::string describe(const AttentionShape& s, const Dropout& dropout, std::int32_t step) {
  return "batch=" + std::to_string(s.batch) + " sequence=" + std::to_string(s.sequence) + " heads=" + std::to_string(s.heads) +
         "/" + std::to_string(key_heads(s)) + " width=" + std::to_string(s.width) + (s.causal ? " causal" : "") +
         (s.joint ? " joint" : "") + (dropout.threshold != 0 ? " dropout step=" + std::to_string(step) : "");
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

std::int64_t elements(const AttentionShape& s) { return s.batch * s.sequence * s.heads * s.width; }
std::int64_t key_elements(const AttentionShape& s) { return s.batch * s.sequence * key_heads(s) * s.width; }
std::int64_t rows(const AttentionShape& s) { return s.batch * s.heads * s.sequence; }

// A part of a joint tensor.
float* part(GuardedBuffer<float>& joint, const AttentionShape& shape, int index) {
  return joint.data() + joint_offset(shape, index);
}
template <typename Joint>  // Tensor, const or not
auto part(Joint& joint, const AttentionShape& shape, int index) {
  const std::int64_t bytes = joint_offset(shape, index) * test::bytes_of(joint.element());
  if constexpr (std::is_const_v<Joint>)
    return static_cast<const void*>(static_cast<const std::uint8_t*>(joint.data()) + bytes);
  else
    return static_cast<void*>(static_cast<std::uint8_t*>(joint.data()) + bytes);
}

// In floats.
struct Results {
  GuardedBuffer<float> y, log_sum_exp, dq, dk, dv;
  explicit Results(const AttentionShape& s)
      : y(elements(s)), log_sum_exp(rows(s)), dq(elements(s)), dk(key_elements(s)), dv(key_elements(s)) {}
  bool operator==(const Results& other) const {
    return bit_equal(y, other.y) && bit_equal(log_sum_exp, other.log_sum_exp) && bit_equal(dq, other.dq) &&
           bit_equal(dk, other.dk) && bit_equal(dv, other.dv);
  }
};

// A call. The gradient takes y and log_sum_exp of the reference, so that it is tested independently.
struct Call {
  AttentionShape shape;
  Element element;
  Dropout dropout;
  DeviceBuffer<std::int32_t> step{1};
  Tensor q, k, v, dy, y;
  DeviceBuffer<float> log_sum_exp;

  // q and k within (-range, range).
  Call(const AttentionShape& s, Element of, const Dropout& d, std::int32_t at_step, double range = 1)
      : shape(s),
        element(of),
        dropout(d),
        q(random_tensor(elements(s), of, 1, -range, range)),
        k(random_tensor(key_elements(s), of, 2, -range, range)),
        v(random_tensor(key_elements(s), of, 3)),
        dy(random_tensor(elements(s), of, 4)),
        y(elements(s), of),
        log_sum_exp(rows(s)) {
    step[0] = at_step;
  }

  // The gradient takes a rounded y, as a kernel does.
  Results by_reference() {
    Results r(shape);
    const GuardedBuffer<float> of_q = q.floats(), of_k = k.floats(), of_v = v.floats(), of_dy = dy.floats();
    reference::attention(r.y.data(), r.log_sum_exp.data(), of_q.data(), of_k.data(), of_v.data(), step.data(), shape, dropout);
    y.write(r.y);
    log_sum_exp = on_device<float>(r.log_sum_exp);
    reference::attention_grad(r.dq.data(), r.dk.data(), r.dv.data(), of_dy.data(), of_q.data(), of_k.data(), of_v.data(),
                              y.floats().data(), r.log_sum_exp.data(), step.data(), shape, dropout);
    return r;
  }

  Results by(const OpDevice& device) const {
    Results r(shape);
    DeviceBuffer<float> got_log(rows(shape));
    Tensor got(elements(shape), element), dq(elements(shape), element), dk(key_elements(shape), element), dv = dk;
    device.attention(got.data(), got_log.data(), q.data(), k.data(), v.data(), step.data(), shape, dropout);
    device.attention_grad(dq.data(), dk.data(), dv.data(), dy.data(), q.data(), k.data(), v.data(), y.data(),
                          log_sum_exp.data(), step.data(), shape, dropout);
    for (const Tensor* output : {&got, &dq, &dk, &dv}) EXPECT_TRUE(output->guards_intact());
    EXPECT_TRUE(got_log.guards_intact());
    std::copy(got_log.begin(), got_log.end(), r.log_sum_exp.begin());
    r.y = got.floats();
    r.dq = dq.floats();
    r.dk = dk.floats();
    r.dv = dv.floats();
    return r;
  }
};

// A score errs by a few eps times its magnitude and that of its products, and so does the logarithm of its weight. The weights
// of a row sum to one, those of a column to the scale of the largest gradient. In 16 bits, weights and gradients of scores are
// rounded before they are multiplied.
void expect_equal(const Results& actual, const Results& expected, const Call& call, double range) {
  const double scores = range * range + max_abs(expected.log_sum_exp);
  const double weight_error =
      (4 * kEps * (4 + scores) + stored(call.element, {}).relative) * static_cast<double>(call.dropout.scale);
  const auto within = [&](double absolute) { return stored(call.element, {kEps, absolute}); };
  expect_close(actual.log_sum_exp, expected.log_sum_exp, {kEps, 2 * kEps * (4 + scores)});
  expect_close(actual.y, expected.y, within(weight_error));
  expect_close(actual.dv, expected.dv, within(weight_error * (1 + max_abs(expected.dv))));
  expect_close(actual.dq, expected.dq, within(2 * weight_error * (range + max_abs(expected.dq))));
  expect_close(actual.dk, expected.dk, within(2 * weight_error * (range + max_abs(expected.dk))));
}

// CUDA's own kernels see rows of scores only, which kernels_cuda/cuda_attention_parts_test has in every length.
bool too_large(const AttentionShape& s) {
  constexpr std::int64_t kEmulatedScores = 14000;
  return !test::op_large() && rows(s) * s.sequence > kEmulatedScores;
}

void check(const AttentionShape& shape, const Dropout& dropout, std::int32_t step = 0, double range = 1) {
  if (too_large(shape)) return;
  for_each_op_element(describe(shape, dropout, step), [&](Element element) {
    Call call(shape, element, dropout, step, range);
    const Results expected = call.by_reference();
    for_each_device(element, [&](const OpDevice& k) { expect_equal(call.by(k), expected, call, range); });
  });
}

void check_causal_too(const AttentionShape& shape, const Dropout& dropout, std::int32_t step = 0) {
  check(shape, dropout, step);
  check(causal(shape), dropout, step);
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
  constexpr float kDelta = 1.0f / 128;
  for (const Dropout& dropout : {kNone, dropout_of(0.3)}) {
    Call call(shape, Element::f32, dropout, 2);
    const Results expected = call.by_reference();
    GuardedBuffer<float> q = call.q.floats(), k = call.k.floats(), v = call.v.floats();
    const GuardedBuffer<float> dy = call.dy.floats();
    const auto loss = [&] {
      GuardedBuffer<float> y(elements(shape)), log_sum_exp(rows(shape));
      reference::attention(y.data(), log_sum_exp.data(), q.data(), k.data(), v.data(), call.step.data(), shape, dropout);
      double sum = 0;
      for (std::int64_t i = 0; i < elements(shape); ++i) sum += static_cast<double>(y[i]) * dy[i];
      return sum;
    };
    for (auto [input, gradient] : {std::pair{&q, &expected.dq}, std::pair{&k, &expected.dk}, std::pair{&v, &expected.dv}}) {
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

TEST(Attention, EverySequenceMatchesReference) {
  for (std::int64_t sequence = 1; sequence <= 130; sequence += test::op_large() || sequence < 18 ? 1 : 7) {
    const double probability = sequence % 2 == 0 ? 0.1 : 0;
    const AttentionShape shape{1, sequence, 1 + sequence % 3, sequence % 5 == 0 ? 1 : 7};
    check_causal_too(shape, dropout_of(probability), 1);
  }
}

// Head widths of real models, around tile boundaries: 4, 8 and 16 lanes; 5, 6, 10, 12, 14 and 16 rows.
TEST(Attention, TileBoundariesMatchReference) {
  for (std::int64_t sequence : {1, 4, 12, 15, 16, 17, 28, 31, 33, 64, 65, 127, 128, 130})
    for (std::int64_t width : {1, 7, 64, 80}) {
      check({1, sequence, 1, width}, kNone);
      check({1, sequence, 2, width}, dropout_of(0.1), 5);
    }
}

TEST(Attention, SeveralBlocksMatchReference) {
  check_causal_too({1, 257, 1, 9}, kNone);
  check_causal_too({1, 383, 1, 16}, dropout_of(0.1), 7);
  check_causal_too({1, 300, 1, 64}, dropout_of(0.1), 5);
  check_causal_too({1, 600, 1, 5}, kNone);
}

TEST(Attention, BatchesMatchReference) {
  check_causal_too({3, 96, 3, 16}, kNone);
  check_causal_too({5, 41, 3, 32}, dropout_of(0.1), 11);
}

TEST(Attention, FewPairsMatchReference) {
  check_causal_too({1, 200, 1, 33}, kNone);
  check_causal_too({2, 120, 1, 64}, dropout_of(0.1), 2);
}

// Heads that share keys and values: one block and several, as many threads as groups and more.
TEST(Attention, GroupsOfHeadsMatchReference) {
  check_causal_too(grouped({1, 1, 2, 3}, 1), kNone);
  check_causal_too(grouped({2, 17, 6, 48}, 2), kNone);
  check_causal_too(grouped({2, 33, 6, 7}, 3), dropout_of(0.1), 3);
  check_causal_too(grouped({1, 300, 4, 20}, 1), dropout_of(0.1), 2);
  check_causal_too(grouped({1, 600, 2, 5}, 1), kNone);
}

// On the CPU, keys and values after a query's position are not even multiplied by 0: blocks and shares end where their last
// query does. The products of CUDA multiply all of them.
TEST(Attention, LaterBlocksDoNotReachCausalQueries) {
  const AttentionShape shape = causal({1, 600, 1, 16});
  const std::int64_t at = 590 * shape.width;
  for_each_op_element("", [&](Element element) {
    Call call(shape, element, kNone, 0);
    call.by_reference();
    Call changed = call;
    for (Tensor* tensor : {&changed.k, &changed.v}) {
      GuardedBuffer<float> values = tensor->floats();
      std::fill(values.begin() + at, values.end(), std::numeric_limits<float>::quiet_NaN());
      tensor->write(values);
    }
    for_each_device(element, [&](const OpDevice& k) {
      if (k.code == nullptr) return;
      const Results expected = call.by(k), got = changed.by(k);
      constexpr std::int64_t kClean = 512;  // no block of queries is longer than 64, nor a panel
      for (std::int64_t i = 0; i < kClean * shape.width; ++i) {
        ASSERT_EQ(got.y[i], expected.y[i]) << i;
        ASSERT_EQ(got.dq[i], expected.dq[i]) << i;
      }
      for (std::int64_t i = at; i < elements(shape); ++i) ASSERT_TRUE(std::isnan(got.y[i])) << i;
    });
  });
}

// q, k and v as the parts of one tensor.
GuardedBuffer<float> join(const AttentionShape& s, const GuardedBuffer<float>& q, const GuardedBuffer<float>& k,
                          const GuardedBuffer<float>& v) {
  const std::int64_t row = row_stride(s), keys = key_heads(s) * s.width;
  GuardedBuffer<float> joint(s.batch * s.sequence * joint_stride(s));
  for (std::int64_t i = 0; i < s.batch * s.sequence; ++i) {
    float* const to = joint.data() + i * joint_stride(s);
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

AttentionShape joint(AttentionShape shape) {
  shape.joint = true;
  return shape;
}

// The same bits as those of separate tensors.
TEST(Attention, OfJointTensorsIsThatOfSeparateOnes) {
  for (const AttentionShape& apart : kJointShapes)
    for (const Dropout& dropout : {kNone, dropout_of(0.2)}) {
      if (too_large(apart)) continue;
      for_each_op_element(describe(joint(apart), dropout, 5), [&](Element element) {
        Call call(apart, element, dropout, 5);
        call.by_reference();
        const Tensor qkv(join(apart, call.q.floats(), call.k.floats(), call.v.floats()), element);
        for_each_device(element, [&](const OpDevice& k) {
          const Results expected = call.by(k);
          Tensor y(elements(apart), element), dqkv(qkv.size(), element);
          DeviceBuffer<float> log_sum_exp(rows(apart));
          k.attention(y.data(), log_sum_exp.data(), part(qkv, apart, 0), part(qkv, apart, 1), part(qkv, apart, 2),
                      call.step.data(), joint(apart), dropout);
          k.attention_grad(part(dqkv, apart, 0), part(dqkv, apart, 1), part(dqkv, apart, 2), call.dy.data(),
                           part(qkv, apart, 0), part(qkv, apart, 1), part(qkv, apart, 2), call.y.data(),
                           call.log_sum_exp.data(), call.step.data(), joint(apart), dropout);
          EXPECT_TRUE(bit_equal(y.floats(), expected.y));
          EXPECT_TRUE(bit_equal(log_sum_exp, expected.log_sum_exp));
          EXPECT_TRUE(bit_equal(dqkv.floats(), join(apart, expected.dq, expected.dk, expected.dv)));
          EXPECT_TRUE(y.guards_intact() && dqkv.guards_intact() && log_sum_exp.guards_intact());
        });
      });
    }
}

TEST(AttentionReference, OfJointTensorsIsThatOfSeparateOnes) {
  for (const AttentionShape& apart : kJointShapes) {
    Call call(apart, Element::f32, dropout_of(0.2), 5);
    const Results expected = call.by_reference();
    GuardedBuffer<float> qkv = join(apart, call.q.floats(), call.k.floats(), call.v.floats()), y(elements(apart)),
                         log_sum_exp(rows(apart)), dqkv(elements(apart) + 2 * key_elements(apart));
    reference::attention(y.data(), log_sum_exp.data(), part(qkv, apart, 0), part(qkv, apart, 1), part(qkv, apart, 2),
                         call.step.data(), joint(apart), call.dropout);
    reference::attention_grad(part(dqkv, apart, 0), part(dqkv, apart, 1), part(dqkv, apart, 2), call.dy.floats().data(),
                              part(qkv, apart, 0), part(qkv, apart, 1), part(qkv, apart, 2), expected.y.data(),
                              expected.log_sum_exp.data(), call.step.data(), joint(apart), call.dropout);
    EXPECT_TRUE(bit_equal(y, expected.y));
    EXPECT_TRUE(bit_equal(dqkv, join(apart, expected.dq, expected.dk, expected.dv)));
    EXPECT_TRUE(y.guards_intact() && dqkv.guards_intact());
  }
}

TEST(Attention, LargeScoresMatchReference) {
  for (const AttentionShape& shape : {AttentionShape{1, 70, 2, 64}, AttentionShape{1, 33, 1, 7}}) {
    const double range = std::sqrt(120);  // the standard deviation of the scores is a third of its square
    EXPECT_GT(max_abs(Call(shape, Element::f32, kNone, 0, range).by_reference().log_sum_exp), 90);
    check(shape, kNone, 0, range);
    check(shape, dropout_of(0.1), 1, range);
  }
}

TEST(Attention, HugeScoresStayFinite) {
  for_each_op_element("", [&](Element element) {
    Call call({1, 50, 2, 16}, element, kNone, 0, 1e3);
    call.by_reference();
    for_each_device(element, [&](const OpDevice& k) {
      const Results r = call.by(k);
      for (const GuardedBuffer<float>* output : {&r.y, &r.log_sum_exp})
        for (float value : *output) ASSERT_TRUE(std::isfinite(value));
      EXPECT_LE(max_abs(r.y), 1 + 8 * kEps + 2 * stored(element, {}).relative);  // of the weights and of the result
    });
  });
}

TEST(Attention, WeightsOfARowSumToOne) {
  for (std::int64_t sequence : {1, 19, 128, 300})
    for_each_op_element(std::to_string(sequence), [&](Element element) {
      Call call({2, sequence, 2, 12}, element, kNone, 0, 5);
      GuardedBuffer<float> ones(key_elements(call.shape));
      std::fill(ones.begin(), ones.end(), 1.0f);
      call.v.write(ones);
      Tolerance tolerance = stored(element, test::sum_tolerance(static_cast<double>(sequence), 0.25));
      tolerance.absolute += stored(element, {}).relative;  // of the weights
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(elements(call.shape), element);
        k.attention(y.data(), nullptr, call.q.data(), call.k.data(), call.v.data(), call.step.data(), call.shape, kNone);
        expect_close(y.floats(), ones, tolerance);
      });
    });
}

// With unit vectors as values the output shows the weights: zero exactly where the definition drops them.
TEST(Attention, MaskIsPhiloxByElement) {
  for (std::int64_t sequence : {5, 18, 61}) {
    const AttentionShape shape{2, sequence, 3, sequence};
    const Dropout dropout = dropout_of(0.25, 17);
    GuardedBuffer<float> unit(elements(shape));
    for (std::int64_t i = 0; i < elements(shape); ++i)
      unit[i] = i / (shape.heads * sequence) % sequence == i % sequence ? 1.0f : 0.0f;
    for (std::int32_t step : {0, 1, 1'000'003})
      for_each_op_element(describe(shape, dropout, step), [&](Element element) {
        Call call(shape, element, dropout, step);
        call.v.write(unit);
        for_each_device(element, [&](const OpDevice& k) {
          Tensor y(elements(shape), element);
          k.attention(y.data(), nullptr, call.q.data(), call.k.data(), call.v.data(), call.step.data(), shape, dropout);
          const GuardedBuffer<float> weights = y.floats();
          for (std::int64_t at = 0; at < elements(shape); ++at) {  // [batch,query,head,key]
            const std::int64_t key = at % sequence, head = at / sequence % shape.heads;
            const std::int64_t query = at / (sequence * shape.heads) % sequence;
            const std::int64_t batch = at / (sequence * shape.heads * sequence);
            const std::int64_t weight = ((batch * shape.heads + head) * sequence + query) * sequence + key;
            const PhiloxBlock block =
                philox(dropout.seed, {static_cast<std::uint32_t>(weight / 4), static_cast<std::uint32_t>(step), dropout.ordinal,
                                      static_cast<std::uint32_t>(RandomStream::dropout)});
            ASSERT_EQ(weights[at] != 0, block[static_cast<std::size_t>(weight % 4)] >= dropout.threshold) << weight;
          }
        });
      });
  }
}

TEST(Attention, NotANumberStaysInItsRow) {
  const AttentionShape shape{1, 40, 2, 24};
  const std::int64_t row = 11, head = 1;
  for_each_op_element("", [&](Element element) {
    Call call(shape, element, kNone, 0);
    call.by_reference();
    GuardedBuffer<float> q = call.q.floats();
    q[(row * shape.heads + head) * shape.width + 5] = std::numeric_limits<float>::quiet_NaN();
    call.q.write(q);
    for_each_device(element, [&](const OpDevice& k) {
      const Results r = call.by(k);
      for (std::int64_t i = 0; i < elements(shape); ++i) {
        const bool hit = i / shape.width == row * shape.heads + head;
        ASSERT_EQ(std::isnan(r.y[i]), hit) << i;
        ASSERT_EQ(std::isnan(r.dq[i]), hit) << i;
      }
      for (std::int64_t i = 0; i < rows(shape); ++i)
        ASSERT_EQ(std::isnan(r.log_sum_exp[i]), i == head * shape.sequence + row) << i;
    });
  });
}

TEST(Attention, RepeatsBitForBit) {
  for (const AttentionShape& shape : {AttentionShape{1, 150, 1, 64}, AttentionShape{2, 65, 3, 20}, causal({1, 300, 1, 20}),
                                      causal(grouped({1, 150, 4, 20}, 2)), causal(grouped({2, 33, 4, 20}, 2))}) {
    if (too_large(shape)) continue;
    for_each_op_element(describe(shape, kNone, 4), [&](Element element) {
      Call call(shape, element, dropout_of(0.1), 4);
      call.by_reference();
      SameBits same(true);
      for_each_device(element, [&](const OpDevice& k) {
        const Results first = call.by(k);
        for (int repetition = 0; repetition < 3; ++repetition) EXPECT_TRUE(call.by(k) == first);
        same.expect(k, first.y);
      });
    });
  }
}

}  // namespace
}  // namespace epochbench
