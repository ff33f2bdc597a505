// Names of operations and the canonical text of their attributes.
#include "epochbench/op.h"

#include <cstdio>

namespace epochbench {

const char* name(Op op) {
  switch (op) {
    case Op::matmul:
      return "matmul";
    case Op::bias_add:
      return "bias_add";
    case Op::relu:
      return "relu";
    case Op::add:
      return "add";
    case Op::reshape:
      return "reshape";
    case Op::conv2d:
      return "conv2d";
    case Op::batch_norm:
      return "batch_norm";
    case Op::batch_norm_inference:
      return "batch_norm_inference";
    case Op::max_pool:
      return "max_pool";
    case Op::global_average_pool:
      return "global_average_pool";
    case Op::cross_entropy:
      return "cross_entropy";
    case Op::embedding:
      return "embedding";
    case Op::add_rows:
      return "add_rows";
    case Op::layer_norm:
      return "layer_norm";
    case Op::gelu:
      return "gelu";
    case Op::dropout:
      return "dropout";
    case Op::attention:
      return "attention";
    case Op::gather_rows:
      return "gather_rows";
    case Op::embedding_grad:
      return "embedding_grad";
    case Op::add_rows_grad:
      return "add_rows_grad";
    case Op::layer_norm_grad:
      return "layer_norm_grad";
    case Op::gelu_grad:
      return "gelu_grad";
    case Op::attention_grad:
      return "attention_grad";
    case Op::gather_rows_grad:
      return "gather_rows_grad";
    case Op::count_correct:
      return "count_correct";
    case Op::cast:
      return "cast";
    case Op::bias_add_grad:
      return "bias_add_grad";
    case Op::relu_grad:
      return "relu_grad";
    case Op::conv2d_grad_input:
      return "conv2d_grad_input";
    case Op::conv2d_grad_weight:
      return "conv2d_grad_weight";
    case Op::batch_norm_grad:
      return "batch_norm_grad";
    case Op::max_pool_grad:
      return "max_pool_grad";
    case Op::global_average_pool_grad:
      return "global_average_pool_grad";
    case Op::cross_entropy_grad:
      return "cross_entropy_grad";
    case Op::sgd:
      return "sgd";
    case Op::adamw:
      return "adamw";
    case Op::increment:
      return "increment";
    case Op::all_finite:
      return "all_finite";
    case Op::update_loss_scale:
      return "update_loss_scale";
    case Op::linear:
      return "linear";
    case Op::linear_grad_weight:
      return "linear_grad_weight";
    case Op::conv2d_bias:
      return "conv2d_bias";
    case Op::batch_norm_relu:
      return "batch_norm_relu";
    case Op::batch_norm_inference_relu:
      return "batch_norm_inference_relu";
    case Op::batch_norm_relu_grad:
      return "batch_norm_relu_grad";
  }
  return "?";
}

bool is_composite(Op op) { return op >= Op::linear; }  // composites stand last

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
std::string number(std::int64_t value) { return std::to_string(value); }
std::string flag(bool value) { return value ? "1" : "0"; }
std::string if_set(const char* name, bool value) { return value ? std::string(" ") + name + "=1" : ""; }

struct Writer {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const MatmulAttributes& a) const {
    return "transpose_a=" + flag(a.transpose_a) + " transpose_b=" + flag(a.transpose_b) + if_set("tf32", a.tf32);
  }
  std::string operator()(const ReshapeAttributes& a) const {
    std::string text = "shape=";
    for (std::size_t i = 0; i < a.shape.size(); ++i) text += (i ? "x" : "") + number(a.shape[i]);
    return text;
  }
  std::string operator()(const Conv2dAttributes& a) const {
    return "stride=" + number(a.stride) + " padding=" + number(a.padding) + " height=" + number(a.height) +
           " width=" + number(a.width) + if_set("tf32", a.tf32);
  }
  std::string operator()(const BatchNormAttributes& a) const {
    return "epsilon=" + number(a.epsilon) + " momentum=" + number(a.momentum);
  }
  std::string operator()(const PoolAttributes& a) const {
    return "window=" + number(a.window) + " stride=" + number(a.stride) + " padding=" + number(a.padding) +
           " height=" + number(a.height) + " width=" + number(a.width);
  }
  std::string operator()(const CrossEntropyAttributes& a) const { return "mean=" + flag(a.mean); }
  std::string operator()(const SgdAttributes& a) const {
    return "momentum=" + number(a.momentum) + " weight_decay=" + number(a.weight_decay) + if_set("loss_scaled", a.loss_scaled);
  }
  std::string operator()(const AdamwAttributes& a) const {
    std::string text =
        "beta1=" + number(a.beta1) + " beta2=" + number(a.beta2) + " epsilon=" + number(a.epsilon) + " weight_decay=";
    for (std::size_t i = 0; i < a.weight_decay.size(); ++i) text += (i ? "," : "") + number(a.weight_decay[i]);
    return text + if_set("loss_scaled", a.loss_scaled);
  }
  std::string operator()(const AddRowsAttributes& a) const {
    return "period=" + number(a.period) + " table_rows=" + number(a.table_rows);
  }
  std::string operator()(const LayerNormAttributes& a) const { return "epsilon=" + number(a.epsilon); }
  std::string operator()(const DropoutAttributes& a) const { return "probability=" + number(a.probability); }
  std::string operator()(const AttentionAttributes& a) const {
    return "heads=" + number(a.heads) + " sequence=" + number(a.sequence) + " dropout=" + number(a.dropout) +
           if_set("tf32", a.tf32);
  }
  std::string operator()(const GatherRowsAttributes& a) const { return "sequence=" + number(a.sequence); }
  std::string operator()(const LinearAttributes& a) const { return (*this)(a.matmul) + " relu=" + flag(a.relu); }
  std::string operator()(const Conv2dBiasAttributes& a) const { return (*this)(a.conv2d) + " relu=" + flag(a.relu); }
  std::string operator()(const CastAttributes& a) const { return std::string("to=") + epochbench::name(a.to); }
  std::string operator()(const LossScaleAttributes& a) const {
    return "growth=" + number(a.growth) + " backoff=" + number(a.backoff) + " growth_interval=" + number(a.growth_interval);
  }
  std::string operator()(const BatchNormReluAttributes& a) const { return (*this)(a.batch_norm) + if_set("mask", a.mask); }
  std::string operator()(const BatchNormReluGradAttributes& a) const {
    return "mask=" + flag(a.mask) + " second=" + flag(a.second);
  }
};

}  // namespace

std::string to_string(const Attributes& attributes) { return std::visit(Writer{}, attributes); }

bool is_tf32(const Attributes& attributes) {
  if (const auto* a = std::get_if<MatmulAttributes>(&attributes)) return a->tf32;
  if (const auto* a = std::get_if<Conv2dAttributes>(&attributes)) return a->tf32;
  if (const auto* a = std::get_if<AttentionAttributes>(&attributes)) return a->tf32;
  if (const auto* a = std::get_if<LinearAttributes>(&attributes)) return a->matmul.tf32;
  if (const auto* a = std::get_if<Conv2dBiasAttributes>(&attributes)) return a->conv2d.tf32;
  return false;
}

}  // namespace epochbench
