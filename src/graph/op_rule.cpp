// The rule of each op, and what rules share.
#include "src/graph/op_rule.h"

#include <utility>

namespace epochbench {

namespace {

constexpr const OpRule* kRules[] = {
#define OP(name, rule) &rule,
#include "epochbench/op_list.inc"
};

}  // namespace

const OpRule& rule(Op op) { return *kRules[static_cast<std::size_t>(op)]; }

void require(bool condition, const char* what) {
  if (!condition) throw GraphError(what);
}

const TensorDesc& input(const Graph& graph, const Node& node, int index) {
  require(static_cast<std::size_t>(index) < node.inputs.size(), "too few inputs");
  return graph.desc(node.inputs[static_cast<std::size_t>(index)]);
}

std::int64_t last_extent(const TensorDesc& desc) {
  require(!desc.shape.empty(), "needs at least one dimension");
  return desc.shape.back();
}

std::int64_t rows(const TensorDesc& desc) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < desc.shape.size(); ++i) count *= desc.shape[i];
  return count;
}

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16; }

void require_float(const TensorDesc& desc) { require(is_float(desc.dtype), "the elements must have a float type"); }

std::vector<TensorDesc> like_first_input(const Graph& graph, const Node& node) {
  require_float(input(graph, node, 0));
  return {input(graph, node, 0)};
}

void accumulate_first(GradientBuilder& builder, const Node& node, Op op, Attributes attributes, std::vector<ValueId> others) {
  others.insert(others.begin(), builder.gradient(node.outputs[0]));
  builder.accumulate(node.inputs[0], builder.append(op, std::move(attributes), std::move(others), node)[0]);
}

double flops(const Graph& graph, const Node& node) {
  double sum = 0;
  for (const Node& part : node.parts) sum += flops(graph, part);
  if (node.parts.empty() && rule(node.op).flops) sum = rule(node.op).flops(graph, node);
  return sum;
}

double flops(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes) sum += flops(graph, node);
  return sum;
}

double operand_bytes(const Graph& graph, const Node& node) {
  double sum = 0;
  for (const auto* operands : {&node.inputs, &node.outputs})
    for (ValueId id : *operands) sum += static_cast<double>(graph.desc(id).bytes());
  return sum;
}

double product_bytes(const Graph& graph, const Node& node) {
  const std::size_t weight = weight_operand(node);
  return operand_bytes(graph, node) - (weight > 1 ? static_cast<double>(graph.desc(node.inputs[weight]).bytes()) : 0);
}

double bytes(const Graph& graph, const Node& node) {
  if (rule(node.op).view) return 0;
  return rule(node.op).bytes ? rule(node.op).bytes(graph, node) : operand_bytes(graph, node);
}

}  // namespace epochbench
