// Batch normalization over all dimensions except the last (Ioffe and Szegedy 2015), for training and with running statistics,
// and the composites with shortcut and relu.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

constexpr int kScale = 1, kVariance = 4;  // x, scale, bias, mean, variance [, shortcut]

void check_operands(const Graph& graph, const Node& node) {
  require_float(input(graph, node, 0));
  const TensorDesc per_channel{{last_extent(input(graph, node, 0))}, DType::f32};
  for (int i = kScale; i <= kVariance; ++i)
    require(input(graph, node, i) == per_channel, "scale, bias, mean and variance must be f32 [channels]");
  if (node.inputs.size() > kVariance + 1)
    require(input(graph, node, kVariance + 1) == input(graph, node, 0), "shortcut and input differ in shape or type");
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  check_operands(graph, node);
  const TensorDesc& x = input(graph, node, 0);
  require(rows(x) > 1, "needs more than one value per channel to estimate a variance");
  const TensorDesc per_channel{{last_extent(x)}, DType::f32};
  return {x, per_channel, per_channel};
}

TensorDesc mask_of(const TensorDesc& y) { return {{(y.elements() + 31) / 32}, DType::i32}; }

std::vector<TensorDesc> infer_relu(const Graph& graph, const Node& node) {
  auto outputs = infer(graph, node);
  if (std::get<BatchNormReluAttributes>(node.attributes).mask) outputs.push_back(mask_of(outputs[0]));
  return outputs;
}

std::vector<TensorDesc> infer_inference(const Graph& graph, const Node& node) {
  check_operands(graph, node);
  return like_first_input(graph, node);
}

std::vector<int> running_statistics(const Node&) { return {3, 4}; }

// `first` is x's position: .., x, scale, batch_mean, batch_inv_std.
std::vector<TensorDesc> infer_gradients(const Graph& graph, const Node& node, int first) {
  const TensorDesc& x = input(graph, node, first);
  require_float(x);
  const TensorDesc per_channel{{last_extent(x)}, DType::f32};
  for (int i = 1; i <= 3; ++i)
    require(input(graph, node, first + i) == per_channel, "scale and statistics must be f32 [channels]");
  return {x, per_channel, per_channel};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "dy and x differ in shape or type");
  return infer_gradients(graph, node, 1);
}

std::vector<TensorDesc> infer_relu_grad(const Graph& graph, const Node& node) {
  const auto& a = std::get<BatchNormReluGradAttributes>(node.attributes);
  const int y = a.second ? 2 : 1;
  auto outputs = infer_gradients(graph, node, y + 1);
  for (int i = 0; i < y; ++i) require(input(graph, node, i) == outputs[0], "dy, dy2 and x differ in shape or type");
  if (a.mask)
    require(input(graph, node, y) == mask_of(outputs[0]), "the mask must be i32 [ceil(elements / 32)]");
  else
    require(input(graph, node, y) == outputs[0], "y and x differ in shape or type");
  outputs.push_back(outputs[0]);
  return outputs;
}

}  // namespace

const OpRule kBatchNormRule{.infer = infer,
                            .gradient = norm_gradient<Op::batch_norm_grad>,
                            .updated_inputs = running_statistics,
                            .f32_parameters = true};
const OpRule kBatchNormInferenceRule{.infer = infer_inference, .f32_parameters = true, .in_place_inputs = {0}};
const OpRule kBatchNormGradRule{.infer = infer_grad, .in_place_inputs = {0}};
const OpRule kBatchNormReluRule{.infer = infer_relu, .updated_inputs = running_statistics};
const OpRule kBatchNormInferenceReluRule{.infer = infer_inference, .in_place_inputs = {0}};
const OpRule kBatchNormReluGradRule{.infer = infer_relu_grad, .in_place_inputs = {0}};

}  // namespace epochbench
