// embedding: rows of a table by id; its gradient adds to a gradient that the table already has (a tied decoder's). add_rows:
// the rows of a table added in turn, for positions and token types.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const TensorDesc &table = input(graph, node, 0), &ids = input(graph, node, 1);
  require(table.shape.size() == 2 && ids.dtype == DType::i32, "table must be [vocabulary, d] and ids i32");
  require_float(table);
  return {{{ids.elements(), table.shape[1]}, table.dtype}};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc &dy = input(graph, node, 0), &ids = input(graph, node, 1);
  require(dy.shape.size() == 2 && dy.shape[0] == ids.elements(), "dy must have one row per id");
  const Shape& table = std::get<ReshapeAttributes>(node.attributes).shape;
  require(table.size() == 2 && table[1] == dy.shape[1], "dy does not fit the table");
  require(node.inputs.size() < 3 || input(graph, node, 2).shape == table, "base must be the table's size");
  require_float(dy);
  if (node.inputs.size() > 2) require_float(input(graph, node, 2));
  return {{table, DType::f32}};
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId table = node.inputs[0], base = builder.gradient(table);
  std::vector<ValueId> inputs{builder.gradient(node.outputs[0]), node.inputs[1]};
  if (base != kNoValue) inputs.push_back(base);
  const ReshapeAttributes shape{builder.graph().desc(table).shape};
  builder.replace(table, builder.append(Op::embedding_grad, shape, inputs, node)[0]);
}

std::vector<TensorDesc> infer_rows(const Graph& graph, const Node& node) {
  const TensorDesc &x = input(graph, node, 0), &table = input(graph, node, 1);
  const auto& a = std::get<AddRowsAttributes>(node.attributes);
  require(x.shape.size() == 2 && table.shape.size() == 2 && x.shape[1] == table.shape[1], "input and table differ in width");
  require(x.dtype == table.dtype, "input and table differ in type");
  require(a.period >= 1 && a.period <= table.shape[0], "more rows are used than the table has");
  require(x.shape[0] % a.period == 0, "the input is not a whole number of periods");
  return like_first_input(graph, node);
}

std::vector<TensorDesc> infer_rows_grad(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  require_float(dy);
  return {{{std::get<AddRowsAttributes>(node.attributes).table_rows, last_extent(dy)}, DType::f32}};
}

void gradient_rows(GradientBuilder& builder, const Node& node) {
  const ValueId x = node.inputs[0], table = node.inputs[1], dy = builder.gradient(node.outputs[0]);
  AddRowsAttributes attributes = std::get<AddRowsAttributes>(node.attributes);
  attributes.table_rows = builder.graph().desc(table).shape[0];
  builder.accumulate(table, builder.append(Op::add_rows_grad, attributes, {dy}, node)[0]);
  if (builder.needed(x)) builder.accumulate(x, dy);
}

double bytes_of(const Graph& graph, ValueId id) { return static_cast<double>(graph.desc(id).bytes()); }

// One row of the table per id.
double bytes_forward(const Graph& graph, const Node& node) {
  return bytes_of(graph, node.inputs[1]) + 2 * bytes_of(graph, node.outputs[0]);
}
// dy, and the rows that it is added to, read and written; without a base, all other rows are written as well.
double bytes_grad(const Graph& graph, const Node& node) {
  const double met = bytes_of(graph, node.inputs[1]) + 3 * bytes_of(graph, node.inputs[0]);
  return node.inputs.size() > 2 ? met : met + bytes_of(graph, node.outputs[0]);
}

}  // namespace

const OpRule kEmbeddingRule{.infer = infer, .gradient = gradient, .bytes = bytes_forward};
const OpRule kEmbeddingGradRule{.infer = infer_grad, .bytes = bytes_grad, .in_place_inputs = {2}};
const OpRule kAddRowsRule{.infer = infer_rows, .gradient = gradient_rows, .in_place_inputs = {0}};
const OpRule kAddRowsGradRule{.infer = infer_rows_grad};

}  // namespace epochbench
