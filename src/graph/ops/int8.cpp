// Int8 inference: ranges of activations, packed weights, codes, and products of the two. kernels/int8.h defines them.
#include "kernels/int8.h"

#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

const TensorDesc kRange{{2}, DType::f32};

void require_f32(const TensorDesc& desc) { require(desc.dtype == DType::f32, "x must be f32"); }
void require_range(const Graph& graph, const Node& node, std::size_t index) {
  require(input(graph, node, static_cast<int>(index)) == kRange, "a range must be f32 [2]");
}

std::vector<TensorDesc> infer_observe(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 2, "needs x and its range");
  require_f32(input(graph, node, 0));
  require_range(graph, node, 1);
  return {};
}
std::vector<int> observed_range(const Node&) { return {1}; }

std::vector<TensorDesc> infer_quantize(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 2, "needs x and its range");
  require_f32(input(graph, node, 0));
  require_range(graph, node, 1);
  return {{input(graph, node, 0).shape, DType::u8}};
}

std::vector<TensorDesc> infer_weights(const Graph& graph, const Node& node) {
  const auto& a = std::get<Int8WeightsAttributes>(node.attributes);
  const TensorDesc& weight = input(graph, node, 0);
  require_f32(weight);
  require(weight.shape.size() == 2 || weight.shape.size() == 4, "a weight must have two or four dimensions");
  require_range(graph, node, 1);
  const TensorDesc channels{{weight.shape[0]}, DType::f32};
  const std::size_t affine = (a.bias ? 1 : 0) + (a.batch_norm ? 4 : 0), first = 2;
  require(node.inputs.size() == first + affine + 3, "wrong number of inputs");
  for (std::size_t i = 0; i < affine; ++i)
    require(input(graph, node, static_cast<int>(first + i)) == channels, "what follows a product must be f32 [k]");
  require(input(graph, node, static_cast<int>(first + affine)) == int8_weights_desc(weight.shape), "wrong packed weights");
  for (std::size_t i = 1; i < 3; ++i)
    require(input(graph, node, static_cast<int>(first + affine + i)) == channels, "multiplier and offset must be f32 [k]");
  return {};
}
std::vector<int> packed_weights(const Node& node) {
  const int last = static_cast<int>(node.inputs.size()) - 1;
  return {last - 2, last - 1, last};
}

// Checks the operands and returns the description of the output.
TensorDesc checked(const Graph& graph, const Node& node, Shape y) {
  const auto& a = std::get<Int8ProductAttributes>(node.attributes);
  require(input(graph, node, 0).dtype == DType::u8, "x must be codes");
  const std::int64_t channels = y.back();
  const Shape weight{channels, a.conv2d.height, a.conv2d.width, last_extent(input(graph, node, 0))};
  require(input(graph, node, 1) == int8_weights_desc(weight), "wrong packed weights");
  for (int i : {2, 3})
    require(input(graph, node, i) == TensorDesc{{channels}, DType::f32}, "multiplier and offset must be f32 [k]");
  const Int8Operands at(a);
  require(node.inputs.size() == at.count, "wrong number of inputs");
  require_range(graph, node, Int8Operands::kRangeOfX);
  if (a.shortcut)
    require(input(graph, node, static_cast<int>(at.shortcut)) == TensorDesc{y, a.shortcut_codes ? DType::u8 : DType::f32},
            "the shortcut must have the shape of y");
  if (a.shortcut_codes) require_range(graph, node, at.shortcut_range);
  if (a.codes) require_range(graph, node, at.range);
  return {std::move(y), a.codes ? DType::u8 : DType::f32};
}

std::vector<TensorDesc> infer_linear(const Graph& graph, const Node& node) {
  const Shape& x = input(graph, node, 0).shape;
  require(x.size() == 2, "x must be a matrix");
  return {checked(graph, node, {x[0], last_extent(input(graph, node, 2))})};
}

std::vector<TensorDesc> infer_conv2d(const Graph& graph, const Node& node) {
  const auto& a = std::get<Int8ProductAttributes>(node.attributes).conv2d;
  const Shape& x = input(graph, node, 0).shape;
  require(x.size() == 4, "x must have four dimensions");
  return {
      checked(graph, node,
              {x[0], conv2d_extent(x[1], a.height, a), conv2d_extent(x[2], a.width, a), last_extent(input(graph, node, 2))})};
}

double product_flops(const Graph& graph, const Node& node) {
  const auto& a = std::get<Int8ProductAttributes>(node.attributes).conv2d;
  const TensorDesc& y = graph.desc(node.outputs[0]);
  return 2.0 * static_cast<double>(y.elements()) *
         static_cast<double>(a.height * a.width * last_extent(graph.desc(node.inputs[0])));
}

}  // namespace

TensorDesc int8_weights_desc(const Shape& weight) {
  Conv2dShape shape{.kernel_height = 1, .kernel_width = 1};
  shape.out_channels = weight.front();
  shape.channels = weight.back();
  if (weight.size() == 4) {
    shape.kernel_height = weight[1];
    shape.kernel_width = weight[2];
  }
  return {{int8_weight_bytes(shape)}, DType::i8};
}

const OpRule kObserveRangeRule{.infer = infer_observe, .updated_inputs = observed_range};
const OpRule kInt8WeightsRule{.infer = infer_weights, .updated_inputs = packed_weights};
const OpRule kQuantizeRule{.infer = infer_quantize};
const OpRule kLinearInt8Rule{.infer = infer_linear, .flops = product_flops};
const OpRule kConv2dInt8Rule{.infer = infer_conv2d, .flops = product_flops};

}  // namespace epochbench
