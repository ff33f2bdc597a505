// The closed set of operations and their attributes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "epochbench/tensor.h"

namespace epochbench {

// Layouts: activations row-major with channels last. [..] after "->" are outputs. "=" marks a variable updated in place.
// Element types: "float" tensors are f32, bf16 or f16. The float operands of a node are of one type, and so is what it
// computes from them, but for what is always f32: scale, bias and statistics of norms, log_sum_exp, loss and count, tables'
// gradients, weights and state of optimizers, and control variables.
enum class Op : std::uint8_t {
  // Forward.
  matmul,                // a [m,k] (or [k,m]), b [k,n] (or [n,k]) -> c [m,n]
  bias_add,              // x [..,c], bias [c] -> y
  relu,                  // x -> y
  add,                   // a, b -> y
  reshape,               // x -> y, a view of the same memory
  conv2d,                // x [n,h,w,c], weight [k,r,s,c] -> y [n,oh,ow,k]
  batch_norm,            // x [..,c], scale, bias, =mean, =variance -> y, batch_mean [c], batch_inv_std [c], =mean, =variance
  batch_norm_inference,  // x [..,c], scale, bias, mean, variance -> y
  max_pool,              // x [n,h,w,c] -> y, index u8 (position in the window, row-major)
  global_average_pool,   // x [n,h,w,c] -> y [n,c]
  cross_entropy,         // logits [n,c], labels i32 [n] (negative: ignored) -> loss [1], log_sum_exp [n]
  embedding,             // table [v,d], ids i32 [..] -> y [ids,d]
  add_rows,              // x [n,d], table [r,d] -> y, row i plus row i mod period of the table
  layer_norm,            // x [n,c], scale, bias -> y, mean [n], inv_std [n]
  gelu,                  // x -> y = x Phi(x), the erf form
  dropout,               // x, step i32 [1] -> y; its own gradient
  attention,             // q, k, v [batch*sequence,heads*d], step i32 [1] -> y, log_sum_exp [batch,heads,sequence]
  gather_rows,           // x [batch*sequence,d], positions i32 [batch,p] -> y [batch*p,d]
  count_correct,         // logits [n,c], labels i32 [n] (negative: ignored) -> count f32 [1]
  cast,                  // x.. -> y.., each float and as one x, of the attribute's type; rounded to nearest even
  // Gradients.
  bias_add_grad,             // dy [..,c] -> dbias [c]
  relu_grad,                 // dy, y -> dx
  conv2d_grad_input,         // dy [n,oh,ow,k], weight [k,r,s,c] -> dx [n,h,w,c]
  conv2d_grad_weight,        // dy [n,oh,ow,k], x [n,h,w,c] -> dweight [k,r,s,c]
  batch_norm_grad,           // dy, x, scale, batch_mean, batch_inv_std -> dx, dscale, dbias
  max_pool_grad,             // dy, index -> dx
  global_average_pool_grad,  // dy [n,c] -> dx [n,h,w,c]
  cross_entropy_grad,        // logits, labels, log_sum_exp [, loss_scale f32 [1]] -> dlogits, times loss_scale
  embedding_grad,            // dy [n,d], ids [, base [v,d]] -> dtable f32 [v,d], added to base, of any float type
  add_rows_grad,             // dy [n,d] -> dtable f32 [r,d]
  layer_norm_grad,           // dy, x, scale, mean, inv_std -> dx, dscale, dbias
  gelu_grad,                 // dy, x -> dx
  attention_grad,            // dy, q, k, v, y, log_sum_exp, step -> dq, dk, dv
  gather_rows_grad,          // dy [batch*p,d], positions -> dx [batch*sequence,d]
  // Optimizer: one node for all parameters. Gradients are of any float type. Where the attributes say loss_scaled, gradients
  // are divided by loss_scale, nothing changes where finite is 0, and adamw counts its updates as step + 1 - skipped_steps.
  sgd,         // learning_rate [, loss_scale, finite], then per parameter (=w, g, =velocity) -> per parameter =w, =velocity
  adamw,       // learning_rate, step [, loss_scale, finite, skipped_steps], then per parameter (=w, g, =m, =v)
               //   -> per parameter =w, =m, =v
  increment,   // =counter -> =counter, counter + 1
  all_finite,  // g.. -> finite i32 [1]: 1 where no element is infinite or NaN, else 0
  update_loss_scale,  // finite i32 [1], =loss_scale f32 [1], =finite_steps i32 [1], =skipped_steps i32 [1] -> the three
  // Composites, made by the fusion pass only.
  linear,                     // matmul, bias_add [, relu]: a, b, bias -> c
  linear_grad_weight,         // matmul, bias_add_grad: dy [m,n], x [m,k] -> dweight [n,k] = dy^T x, dbias [n]
  conv2d_bias,                // conv2d, bias_add [, relu]: x, weight, bias -> y
  batch_norm_relu,            // batch_norm [, add], relu: x, scale, bias, =mean, =variance [, shortcut]
                              //   -> as batch_norm [, then mask]
  batch_norm_inference_relu,  // batch_norm_inference [, add], relu: x, scale, bias, mean, variance [, shortcut] -> y
  batch_norm_relu_grad,       // [add,] relu_grad, batch_norm_grad: dy [, dy2], y or mask, x, scale, batch_mean, batch_inv_std
};                            //   -> dx, dscale, dbias, dz = dy + dy2 where y > 0, the shortcut's gradient
// A mask is i32 [ceil(elements / 32)]; bit i % 32 of word i / 32 says whether element i of y is above 0.

const char* name(Op op);
bool is_composite(Op op);

// tf32: a product whose f32 operands are rounded to 10 bits of mantissa, the sum still in float.
struct MatmulAttributes {
  bool transpose_a = false;  // a is stored [k,m]
  bool transpose_b = false;  // b is stored [n,k]
  bool tf32 = false;
};
struct ReshapeAttributes {
  std::vector<std::int64_t> shape;
};
struct Conv2dAttributes {
  std::int64_t stride = 1, padding = 0;  // same in both directions; dilation 1, groups 1
  std::int64_t height = 0, width = 0;    // of the input for conv2d_grad_input, of the kernel for conv2d_grad_weight
  bool tf32 = false;
};
struct BatchNormAttributes {
  double epsilon = 1e-5;
  double momentum = 0.1;  // running <- (1 - momentum) running + momentum batch; running variance unbiased
};
struct PoolAttributes {
  std::int64_t window = 2, stride = 2, padding = 0;
  std::int64_t height = 0, width = 0;  // of the input, for the gradients
};
struct CrossEntropyAttributes {
  bool mean = true;  // over the labels that are not ignored; false: sum
};
struct AddRowsAttributes {
  std::int64_t period = 1;      // rows of the table in use: the sequence for positions, 1 for a single row
  std::int64_t table_rows = 0;  // for the gradient
};
struct LayerNormAttributes {
  double epsilon = 1e-12;
};
struct DropoutAttributes {
  double probability = 0;  // of zero; the rest is divided by 1 - probability
};
struct AttentionAttributes {
  std::int64_t heads = 1, sequence = 1;
  double dropout = 0;  // of the weights after softmax; scores are divided by sqrt(d)
  bool tf32 = false;
};
struct GatherRowsAttributes {
  std::int64_t sequence = 1;
};
struct SgdAttributes {
  double momentum = 0.9, weight_decay = 0;  // PyTorch's form: v <- mu v + (g + decay w), w <- w - lr v
  bool loss_scaled = false;
};
struct AdamwAttributes {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::vector<double> weight_decay;  // by parameter
  bool loss_scaled = false;
};
struct CastAttributes {
  DType to = DType::f32;
};
struct LossScaleAttributes {  // a step that is not finite: scale * backoff; growth_interval finite ones in a row: scale *
                              // growth
  double growth = 2, backoff = 0.5;
  std::int64_t growth_interval = 2000;
};
inline constexpr double kSmallestLossScale = 1, kLargestLossScale = 16777216;  // the scale stays between the two

struct LinearAttributes {
  MatmulAttributes matmul;
  bool relu = false;
};
struct Conv2dBiasAttributes {
  Conv2dAttributes conv2d;
  bool relu = false;
};
struct BatchNormReluAttributes {
  BatchNormAttributes batch_norm;
  bool mask = false;  // is an output
};
struct BatchNormReluGradAttributes {
  bool mask = false;    // in place of y
  bool second = false;  // there is dy2
};

using Attributes =
    std::variant<std::monostate, MatmulAttributes, ReshapeAttributes, Conv2dAttributes, BatchNormAttributes, PoolAttributes,
                 CrossEntropyAttributes, SgdAttributes, AdamwAttributes, LinearAttributes, Conv2dBiasAttributes,
                 AddRowsAttributes, LayerNormAttributes, DropoutAttributes, AttentionAttributes, GatherRowsAttributes,
                 CastAttributes, LossScaleAttributes, BatchNormReluAttributes, BatchNormReluGradAttributes>;

std::string to_string(const Attributes& attributes);  // canonical: "stride=2 padding=1", the same on every machine
bool is_tf32(const Attributes& attributes);

}  // namespace epochbench
