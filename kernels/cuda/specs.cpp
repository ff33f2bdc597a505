#include "kernels/cuda/specs.h"

namespace epochbench::cuda {
namespace {

std::string matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
  return "[" + std::to_string(transposed ? columns : rows) + "," + std::to_string(transposed ? rows : columns) + "]" +
         (transposed ? "^T" : "");
}

const char* precision(Element element, Math math) {
  return element == Element::f32 && math == Math::tf32 ? "tf32" : name(element);
}

}  // namespace

const char* name(Element element) {
  switch (element) {
    case Element::f32:
      return "fp32";
    case Element::bf16:
      return "bf16";
    case Element::f16:
      return "fp16";
  }
  return "";
}

std::string describe(const ProductSpec& spec) {
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
  std::string text = "product " + matrix(m, k, transpose_a) + " " + matrix(k, n, transpose_b) + " of " + name(spec.element);
  if (spec.element == Element::f32) text += spec.math == Math::tf32 ? " as tf32" : " strictly";
  if (spec.out != spec.element) text += std::string(" to ") + name(spec.out);
  if (spec.a_row > 0) text += ", rows of a every " + std::to_string(spec.a_row);
  if (spec.b_row > 0) text += ", rows of b every " + std::to_string(spec.b_row);
  if (spec.c_row > 0) text += ", rows of c every " + std::to_string(spec.c_row);
  if (spec.batch > 1) text += ", batch " + std::to_string(spec.batch);
  if (spec.alpha != 1) text += ", scaled";
  if (spec.accumulate) text += ", accumulated";
  if (spec.bias) text += ", bias";
  if (spec.relu) text += ", relu";
  if (spec.bias_gradient) text += ", bias gradient";
  return text;
}

std::string describe(const GeluProductSpec& spec) {
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
  return "product " + matrix(m, k, transpose_a) + " " + matrix(k, n, transpose_b) + " in " +
         precision(spec.element, spec.math) + (spec.gradient ? ", gradient of gelu" : ", bias, gelu") +
         (spec.tanh ? " by tanh" : "") + (spec.x ? ", x" : "");
}

std::string describe(const ConvolutionSpec& spec) {
  const Conv2dShape& s = spec.shape;
  auto extents = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return "[" + std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c) + "," + std::to_string(d) + "]";
  };
  constexpr const char* kPasses[] = {"forward", "grad_input", "grad_weight"};
  return std::string(spec.depthwise ? "depthwise_conv2d " : "conv2d ") + kPasses[static_cast<int>(spec.pass)] + " x " +
         extents(s.batch, s.height, s.width, s.channels) + " weight " +
         extents(s.out_channels, s.kernel_height, s.kernel_width, spec.depthwise ? 1 : s.channels) + " stride " +
         std::to_string(s.stride) + " padding " + std::to_string(s.padding) + " " + precision(spec.element, spec.math) +
         (spec.bias ? " bias" : "") + (spec.relu ? " relu" : "") + (spec.sums ? " sums" : "") +
         (s.winograd ? "" : " without winograd");
}

std::string describe(const AttentionSpec& spec) {
  const AttentionShape& s = spec.shape;
  const std::string of_keys = group_size(s) == 1 ? "" : "/" + std::to_string(key_heads(s));
  return "attention batch " + std::to_string(s.batch) + " sequence " + std::to_string(s.sequence) + " heads " +
         std::to_string(s.heads) + of_keys + " width " + std::to_string(s.width) + " " + name(spec.element) +
         (s.joint ? " joint" : "") + (s.causal ? " causal" : "") +
         (spec.dropout > 0 ? " dropout " + std::to_string(spec.dropout) : "");
}

}  // namespace epochbench::cuda
