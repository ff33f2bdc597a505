#include "tests/support/cuda_composed_ops.h"

#include <cmath>

#include "kernels/reference/kernels.h"
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {
namespace {

GuardedBuffer<float> floats_at(const void* data, std::int64_t n, Element element) {
  GuardedBuffer<float> values(n);
  reference::cast(values.data(), data, Element::f32, element, n);
  return values;
}

// c [batch,m,n] = alpha times a [batch,m,k] times b [batch,k,n], each of a and b perhaps transposed.
DeviceBuffer<float> products(const GuardedBuffer<float>& a, const GuardedBuffer<float>& b, std::int64_t batch,
                             const GemmShape& shape, float alpha = 1) {
  DeviceBuffer<float> c(batch * shape.m * shape.n);
  for (std::int64_t i = 0; i < batch; ++i)
    reference::gemm(c.data() + i * shape.m * shape.n, a.data() + i * shape.m * shape.k, b.data() + i * shape.k * shape.n, shape,
                    {});
  for (float& value : c) value *= alpha;
  return c;
}

// The shape of k and v as if they were q.
AttentionShape keys_shape(AttentionShape s) {
  s.heads = key_heads(s);
  s.kv_heads = 0;
  return s;
}
std::int64_t elements(const AttentionShape& s) { return s.batch * s.sequence * s.heads * s.width; }

// Separate heads and products of them. Heads that share keys are additional rows of one product.
struct Heads {
  AttentionShape shape;
  Element element;
  Tensor q, k, v;

  Heads(const void* from_q, const void* from_k, const void* from_v, const AttentionShape& s, Element of)
      : shape(s), element(of), q(elements(s), of), k(elements(keys_shape(s)), of), v(elements(keys_shape(s)), of) {
    if (s.joint) {
      cuda::split_joint_heads(q.data(), k.data(), v.data(), from_q, s, of, kNoStream);
    } else {
      cuda::split_heads(q.data(), from_q, s, of, kNoStream);
      cuda::split_heads(k.data(), from_k, keys_shape(s), of, kNoStream);
      cuda::split_heads(v.data(), from_v, keys_shape(s), of, kNoStream);
    }
    EXPECT_TRUE(q.guards_intact() && k.guards_intact() && v.guards_intact());
  }
  std::int64_t batch() const { return shape.batch * key_heads(shape); }
  std::int64_t rows() const { return group_size(shape) * shape.sequence; }
  float scale() const { return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width))); }

  // a b^T of each head, [rows, sequence].
  DeviceBuffer<float> scores(const Tensor& a, const Tensor& b, float alpha) const {
    return products(a.floats(), b.floats(), batch(), {rows(), shape.sequence, shape.width, false, true}, alpha);
  }
  // Weights [rows, sequence] times a tensor of keys.
  Tensor weighted(const Tensor& weights, const Tensor& keys, float alpha = 1) const {
    return Tensor(products(weights.floats(), keys.floats(), batch(), {rows(), shape.width, shape.sequence}, alpha), element);
  }
  // Weights transposed, times a tensor of queries.
  Tensor weighted_transposed(const Tensor& weights, const Tensor& queries, float alpha = 1) const {
    return Tensor(products(weights.floats(), queries.floats(), batch(), {shape.sequence, shape.width, rows(), true}, alpha),
                  element);
  }
};

// The product of a step: rows of state [batch, k] by the recurrent weights, which are transposed in the forward pass.
DeviceBuffer<float> recurrent_product(const Tensor& state, const void* weight, bool forward, const LstmShape& s) {
  const GemmShape shape =
      forward ? GemmShape{s.batch, 4 * s.units, s.units, false, true} : GemmShape{s.batch, s.units, 4 * s.units};
  return products(state.floats(), floats_at(weight, 4 * s.units * s.units, state.element()), 1, shape);
}

}  // namespace

void cuda_attention(void* y, float* log_sum_exp, const void* q, const void* k, const void* v, const std::int32_t* step,
                    const AttentionShape& shape, const Dropout& dropout, Element element) {
  const Heads heads(q, k, v, shape, element);
  const DeviceBuffer<float> scores = heads.scores(heads.q, heads.k, heads.scale());
  Tensor weights(static_cast<std::int64_t>(scores.size()), element);
  cuda::attention_softmax(weights.data(), log_sum_exp, scores.data(), step, shape, 0, dropout, element, kNoStream);
  EXPECT_TRUE(weights.guards_intact());
  cuda::merge_heads(y, heads.weighted(weights, heads.v).data(), shape, element, kNoStream);
}

// The kernels need no y: they sum over weights and their gradients.
void cuda_attention_grad(void* dq, void* dk, void* dv, const void* dy, const void* q, const void* k, const void* v, const void*,
                         const float* log_sum_exp, const std::int32_t* step, const AttentionShape& shape,
                         const Dropout& dropout, Element element) {
  const Heads heads(q, k, v, shape, element);
  Tensor dy_apart(elements(shape), element);
  cuda::split_heads(dy_apart.data(), dy, shape, element, kNoStream);
  const DeviceBuffer<float> scores = heads.scores(heads.q, heads.k, heads.scale()),
                            dweights = heads.scores(dy_apart, heads.v, 1);
  Tensor weights(static_cast<std::int64_t>(scores.size()), element), dscores = weights;
  cuda::attention_softmax_grad(weights.data(), dscores.data(), scores.data(), dweights.data(), log_sum_exp, step, shape, 0,
                               dropout, element, kNoStream);
  EXPECT_TRUE(dy_apart.guards_intact() && weights.guards_intact() && dscores.guards_intact());
  const Tensor dv_apart = heads.weighted_transposed(weights, dy_apart),
               dq_apart = heads.weighted(dscores, heads.k, heads.scale()),
               dk_apart = heads.weighted_transposed(dscores, heads.q, heads.scale());
  if (shape.joint)
    return cuda::merge_joint_heads(dq, dq_apart.data(), dk_apart.data(), dv_apart.data(), shape, element, kNoStream);
  cuda::merge_heads(dq, dq_apart.data(), shape, element, kNoStream);
  cuda::merge_heads(dk, dk_apart.data(), keys_shape(shape), element, kNoStream);
  cuda::merge_heads(dv, dv_apart.data(), keys_shape(shape), element, kNoStream);
}

void cuda_lstm(void* gates, float* cells, void* h, void* previous, const void* x, const void* weight, const LstmShape& shape,
               Element element) {
  Tensor state(shape.batch * shape.units, element);
  DeviceBuffer<float> cell(shape.batch * shape.units);
  for (std::int64_t step = 0; step < shape.sequence; ++step) {
    const DeviceBuffer<float> sums = recurrent_product(state, weight, true, shape);
    cuda::lstm_step(gates, cells, h, previous, state.data(), cell.data(), x, step == 0 ? nullptr : sums.data(), shape, step,
                    element, kNoStream);
  }
  EXPECT_TRUE(state.guards_intact() && cell.guards_intact());
}

void cuda_lstm_grad(void* dx, const void* dh, const void* weight, const void* gates, const float* cells, const LstmShape& shape,
                    Element element) {
  Tensor state(4 * shape.batch * shape.units, element);
  DeviceBuffer<float> dcell(shape.batch * shape.units);
  for (std::int64_t step = shape.sequence - 1; step >= 0; --step) {
    const DeviceBuffer<float> sums = recurrent_product(state, weight, false, shape);
    cuda::lstm_step_grad(dx, state.data(), dcell.data(), dh, step + 1 == shape.sequence ? nullptr : sums.data(), gates, cells,
                         shape, step, element, kNoStream);
  }
  EXPECT_TRUE(state.guards_intact() && dcell.guards_intact());
}

}  // namespace epochbench::test
