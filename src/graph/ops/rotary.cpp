// Rotary position embedding (Su et al. 2021) with Hugging Face's order of columns: a pair is a column of a head's first half
// and the corresponding one of its second half. The angles of all positions are a table, so that kernels compute no sines. The
// gradient of a rotation is the inverse rotation.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const TensorDesc &x = input(graph, node, 0), &table = input(graph, node, 1);
  const std::int64_t heads = std::get<RotaryAttributes>(node.attributes).heads;
  require_float(x);
  require(x.shape.size() == 2 && table.shape.size() == 2 && table.dtype == DType::f32,
          "x must be [batch*sequence, columns] and the table f32 [sequence, width]");
  require(table.shape[0] >= 1 && x.shape[0] % table.shape[0] == 0, "the rows are not a multiple of the table's");
  require(table.shape[1] >= 2 && table.shape[1] % 2 == 0, "the width of a head must be even");
  require(heads >= 1 && heads * table.shape[1] <= x.shape[1], "x has fewer columns than the rotated heads");
  return {x};
}

void gradient(GradientBuilder& builder, const Node& node) {
  auto attributes = std::get<RotaryAttributes>(node.attributes);
  attributes.inverse = !attributes.inverse;
  accumulate_first(builder, node, Op::rotary, attributes, {node.inputs[1]});
}

}  // namespace

const OpRule kRotaryRule{.infer = infer, .gradient = gradient, .f32_parameters = true, .in_place_inputs = {0}};

}  // namespace epochbench
