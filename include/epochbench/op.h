// The closed set of ops, which op_list.inc describes one by one, and their attributes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "epochbench/tensor.h"

namespace epochbench {

enum class Op : std::uint8_t {
#define OP(name, rule) name,
#include "epochbench/op_list.inc"
};

const char* name(Op op);
bool is_composite(Op op);
bool is_collective(Op op);  // involves all ranks

// tf32: products round their f32 operands to 10 bits of mantissa; sums stay in float.
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
struct DepthwiseConv2dAttributes {
  std::int64_t stride = 1, padding = 0;  // as in conv2d
  std::int64_t height = 0, width = 0;    // of the input for ..grad_input, of the kernel for ..grad_weight
  std::int64_t extra = 0;                // additional padding at the end of an axis
};
struct BatchNormAttributes {
  double epsilon = 1e-5;
  double momentum = 0.1;  // running <- (1 - momentum) running + momentum batch; running variance unbiased
};
struct PoolAttributes {
  std::int64_t window = 2, stride = 2, padding = 0;
  std::int64_t height = 0, width = 0;  // of the input, for the gradients
  std::int64_t extra = 0;              // as in depthwise_conv2d
  bool zeros = false;                  // average_pool: zeros outside the image count; padding may then be negative
};
struct ConcatenateAttributes {
  std::vector<std::int64_t> channels;  // of each part, for the gradient
};
inline constexpr std::size_t kMaxParts = 8;
struct CrossEntropyAttributes {
  bool mean = true;      // over the labels that are not ignored; false: sum
  double smoothing = 0;  // of the labels: the share spread evenly over all classes (Szegedy et al. 2015)
  bool mixed = false;    // each row mixes two samples, so there is a share
};
struct AddRowsAttributes {
  std::int64_t period = 1;      // rows of the table in use: the sequence length for positions, 1 for a single row
  std::int64_t table_rows = 0;  // for the gradient
};
struct LayerNormAttributes {
  double epsilon = 1e-12;
};
struct AddLayerNormAttributes {
  LayerNormAttributes layer_norm = {};
  double dropout = 0;  // probability, for x; 0: no dropout and no step
  bool sum = false;    // is an output
};
struct GeluAttributes {  // monostate: the erf form
  bool tanh = false;     // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};
struct DropoutAttributes {
  double probability = 0;  // of becoming zero; the rest is divided by 1 - probability
};
struct AttentionAttributes {
  std::int64_t heads = 1, sequence = 1;
  double dropout = 0;  // of the weights after softmax; scores are divided by sqrt(d)
  bool tf32 = false;
  bool causal = false;  // a position attends to itself and those before it
  // Heads of keys and values, each for equally many adjacent query heads (Ainslie et al. 2023); 0: as many as heads.
  std::int64_t kv_heads = 0;
};
struct RotaryAttributes {
  std::int64_t heads = 1;  // that are rotated; columns after them are unchanged
  bool inverse = false;
};
struct LstmAttributes {
  std::int64_t sequence = 1;
  bool tf32 = false;
};
struct GatherRowsAttributes {
  std::int64_t sequence = 1;
};
struct SgdAttributes {
  double momentum = 0.9, weight_decay = 0;  // PyTorch's form: v <- mu v + (g + decay w), w <- w - lr v
  bool loss_scaled = false;
  bool clipped = false;
  std::int64_t ranks = 1;  // that divide the parameters among themselves
};
struct AdamwAttributes {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::vector<double> weight_decay;  // per parameter
  bool loss_scaled = false;
  bool clipped = false;
  std::vector<std::int64_t> copies = {};  // indices of the parameters that have a 16-bit copy
  std::int64_t ranks = 1;                 // as in sgd
};
struct ClipFactorAttributes {
  double largest_norm = 1;
  bool loss_scaled = false;
  std::int64_t ranks = 1;  // as in sgd
};
struct AccumulateAttributes {
  double factor = 1;
};
struct CastAttributes {
  DType to = DType::f32;
  bool variables = false;  // the outputs are variables, which the node updates
};
struct Int8WeightsAttributes {
  bool bias = false, batch_norm = false;  // are operands
  double epsilon = 0;                     // of the batch norm
};
struct Int8ProductAttributes {
  // stride, padding, and height and width of the kernel; for linear_int8: the default
  Conv2dAttributes conv2d = {.height = 1, .width = 1};
  bool relu = false, gelu = false;
  bool shortcut = false;        // is an operand, added before relu or gelu,
  bool shortcut_codes = false;  // as codes, with their range
  bool codes = false;           // y is codes; their range is an operand
};
struct PackWeightAttributes {  // of the product that reads the packed weight: its attributes, and the shapes of x and y
  MatmulAttributes matmul = {};
  Conv2dAttributes conv2d = {};
  bool convolution = false;
  Shape x, y;
};
// After a step that is not finite: scale * backoff. After growth_interval finite steps in a row: scale * growth.
struct LossScaleAttributes {
  double growth = 2, backoff = 0.5;
  std::int64_t growth_interval = 2000;
};
inline constexpr double kMinLossScale = 1, kMaxLossScale = 16777216;  // the scale stays between the two

struct LinearAttributes {
  MatmulAttributes matmul;
  bool relu = false;
};
struct LinearGeluAttributes {
  MatmulAttributes matmul;
  bool x = false;  // the input of gelu is an output, too
};
struct Conv2dBiasAttributes {
  Conv2dAttributes conv2d;
  bool relu = false;
};
struct BatchNormReluAttributes {
  BatchNormAttributes batch_norm;
  bool mask = false;  // is an output
  bool six = false;   // relu6
};
struct BatchNormReluGradAttributes {
  bool mask = false;    // instead of y
  bool second = false;  // there is dy2
};

using Attributes =
    std::variant<std::monostate, MatmulAttributes, ReshapeAttributes, Conv2dAttributes, BatchNormAttributes, PoolAttributes,
                 CrossEntropyAttributes, SgdAttributes, AdamwAttributes, LinearAttributes, Conv2dBiasAttributes,
                 AddRowsAttributes, LayerNormAttributes, DropoutAttributes, AttentionAttributes, GatherRowsAttributes,
                 CastAttributes, LossScaleAttributes, BatchNormReluAttributes, BatchNormReluGradAttributes,
                 AddLayerNormAttributes, LinearGeluAttributes, Int8WeightsAttributes, Int8ProductAttributes, LstmAttributes,
                 GeluAttributes, ClipFactorAttributes, DepthwiseConv2dAttributes, RotaryAttributes, ConcatenateAttributes,
                 AccumulateAttributes, PackWeightAttributes>;

std::string to_string(const Attributes& attributes);  // canonical: "stride=2 padding=1", the same on every machine
bool is_tanh(const Attributes& attributes);           // of gelu and gelu_grad
bool is_tf32(const Attributes& attributes);
void set_tf32(Attributes& attributes);  // no change for an op without products

}  // namespace epochbench
