// Names of ops and the canonical text of their attributes.
#include "epochbench/op.h"

#include <cstdio>

#include "epochbench/precision.h"

namespace epochbench {
namespace {

struct OpRow {
  const char* name;
  bool composite;
};
constexpr OpRow kOps[] = {
#define OP(name, rule) {#name, false},
#define COMPOSITE_OP(name, rule) {#name, true},
#include "epochbench/op_list.inc"
};

const OpRow& row(Op op) { return kOps[static_cast<std::size_t>(op)]; }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
std::string number(std::int64_t value) { return std::to_string(value); }
std::string flag(bool value) { return value ? "1" : "0"; }
std::string if_set(const char* name, bool value) { return value ? std::string(" ") + name + "=1" : ""; }
std::string if_ranks(std::int64_t ranks) { return ranks == 1 ? "" : " ranks=" + number(ranks); }
std::string if_extra(std::int64_t extra) { return extra == 0 ? "" : " extra=" + number(extra); }
template <typename Number>
std::string joined(const std::vector<Number>& values, const char* separator) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? separator : "") + number(values[i]);
  return text;
}
std::string if_tf32(bool value) { return if_set(name(Precision::tf32), value); }

struct Writer {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const MatmulAttributes& a) const {
    return "transpose_a=" + flag(a.transpose_a) + " transpose_b=" + flag(a.transpose_b) + if_tf32(a.tf32);
  }
  std::string operator()(const ReshapeAttributes& a) const { return "shape=" + joined(a.shape, "x"); }
  std::string operator()(const Conv2dAttributes& a) const {
    return "stride=" + number(a.stride) + " padding=" + number(a.padding) + " height=" + number(a.height) +
           " width=" + number(a.width) + if_tf32(a.tf32);
  }
  std::string operator()(const DepthwiseConv2dAttributes& a) const {
    return "stride=" + number(a.stride) + " padding=" + number(a.padding) + " height=" + number(a.height) +
           " width=" + number(a.width) + if_extra(a.extra);
  }
  std::string operator()(const BatchNormAttributes& a) const {
    return "epsilon=" + number(a.epsilon) + " momentum=" + number(a.momentum);
  }
  std::string operator()(const PoolAttributes& a) const {
    return "window=" + number(a.window) + " stride=" + number(a.stride) + " padding=" + number(a.padding) +
           " height=" + number(a.height) + " width=" + number(a.width) + if_extra(a.extra) + if_set("zeros", a.zeros);
  }
  std::string operator()(const ConcatenateAttributes& a) const { return "channels=" + joined(a.channels, ","); }
  std::string operator()(const CrossEntropyAttributes& a) const {
    return "mean=" + flag(a.mean) + (a.smoothing > 0 ? " smoothing=" + number(a.smoothing) : "") + if_set("mixed", a.mixed);
  }
  std::string operator()(const SgdAttributes& a) const {
    return "momentum=" + number(a.momentum) + " weight_decay=" + number(a.weight_decay) + if_set("loss_scaled", a.loss_scaled) +
           if_set("clipped", a.clipped) + if_ranks(a.ranks);
  }
  std::string operator()(const AdamwAttributes& a) const {
    return "beta1=" + number(a.beta1) + " beta2=" + number(a.beta2) + " epsilon=" + number(a.epsilon) +
           " weight_decay=" + joined(a.weight_decay, ",") + if_set("loss_scaled", a.loss_scaled) +
           if_set("clipped", a.clipped) + (a.copies.empty() ? "" : " copies=" + joined(a.copies, ",")) + if_ranks(a.ranks);
  }
  std::string operator()(const ClipFactorAttributes& a) const {
    return "largest_norm=" + number(a.largest_norm) + if_set("loss_scaled", a.loss_scaled) + if_ranks(a.ranks);
  }
  std::string operator()(const AddRowsAttributes& a) const {
    return "period=" + number(a.period) + " table_rows=" + number(a.table_rows);
  }
  std::string operator()(const LayerNormAttributes& a) const { return "epsilon=" + number(a.epsilon); }
  std::string operator()(const AddLayerNormAttributes& a) const {
    return (*this)(a.layer_norm) + " dropout=" + number(a.dropout) + if_set("sum", a.sum);
  }
  std::string operator()(const GeluAttributes& a) const { return "tanh=" + flag(a.tanh); }
  std::string operator()(const AccumulateAttributes& a) const { return "factor=" + number(a.factor); }
  std::string operator()(const DropoutAttributes& a) const { return "probability=" + number(a.probability); }
  std::string operator()(const AttentionAttributes& a) const {
    return "heads=" + number(a.heads) + " sequence=" + number(a.sequence) + " dropout=" + number(a.dropout) + if_tf32(a.tf32) +
           if_set("causal", a.causal) + (a.kv_heads > 0 ? " kv_heads=" + number(a.kv_heads) : "");
  }
  std::string operator()(const RotaryAttributes& a) const { return "heads=" + number(a.heads) + if_set("inverse", a.inverse); }
  std::string operator()(const LstmAttributes& a) const { return "sequence=" + number(a.sequence) + if_tf32(a.tf32); }
  std::string operator()(const GatherRowsAttributes& a) const { return "sequence=" + number(a.sequence); }
  std::string operator()(const LinearAttributes& a) const { return (*this)(a.matmul) + " relu=" + flag(a.relu); }
  std::string operator()(const LinearGeluAttributes& a) const { return (*this)(a.matmul) + if_set("x", a.x); }
  std::string operator()(const Conv2dBiasAttributes& a) const { return (*this)(a.conv2d) + " relu=" + flag(a.relu); }
  std::string operator()(const CastAttributes& a) const {
    return std::string("to=") + epochbench::name(a.to) + if_set("variables", a.variables);
  }
  std::string operator()(const LossScaleAttributes& a) const {
    return "growth=" + number(a.growth) + " backoff=" + number(a.backoff) + " growth_interval=" + number(a.growth_interval);
  }
  std::string operator()(const Int8WeightsAttributes& a) const {
    return "bias=" + flag(a.bias) + " batch_norm=" + flag(a.batch_norm) + " epsilon=" + number(a.epsilon);
  }
  std::string operator()(const PackWeightAttributes& a) const {
    return (a.convolution ? (*this)(a.conv2d) : (*this)(a.matmul)) + " x=" + joined(a.x, "x") + " y=" + joined(a.y, "x");
  }
  std::string operator()(const Int8ProductAttributes& a) const {
    return (*this)(a.conv2d) + " relu=" + flag(a.relu) + if_set("gelu", a.gelu) + if_set("shortcut", a.shortcut) +
           if_set("shortcut_codes", a.shortcut_codes) + if_set("codes", a.codes);
  }
  std::string operator()(const BatchNormReluAttributes& a) const {
    return (*this)(a.batch_norm) + if_set("mask", a.mask) + if_set("six", a.six);
  }
  std::string operator()(const BatchNormReluGradAttributes& a) const {
    return "mask=" + flag(a.mask) + " second=" + flag(a.second);
  }
};

// The tf32 flag of an op's attributes; null if it has none.
template <typename A>
auto tf32_flag(A& a) -> std::conditional_t<std::is_const_v<A>, const bool*, bool*> {
  if constexpr (requires { a.tf32; }) return &a.tf32;
  if constexpr (requires { a.matmul; }) return &a.matmul.tf32;
  if constexpr (requires { a.conv2d; }) return &a.conv2d.tf32;
  return nullptr;
}

}  // namespace

const char* name(Op op) { return row(op).name; }

bool is_composite(Op op) { return row(op).composite; }

bool is_collective(Op op) { return op == Op::all_reduce || op == Op::reduce_scatter || op == Op::all_gather; }

std::string to_string(const Attributes& attributes) { return std::visit(Writer{}, attributes); }

bool is_tanh(const Attributes& attributes) {
  const auto* gelu = std::get_if<GeluAttributes>(&attributes);
  return gelu && gelu->tanh;
}

bool is_tf32(const Attributes& attributes) {
  return std::visit([](const auto& a) { return tf32_flag(a) && *tf32_flag(a); }, attributes);
}

void set_tf32(Attributes& attributes) {
  std::visit(
      [](auto& a) {
        if (tf32_flag(a)) *tf32_flag(a) = true;
      },
      attributes);
}

}  // namespace epochbench
