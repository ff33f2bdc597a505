// The gradient pass.
#include <algorithm>

#include "src/graph/op_rule.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

// Values that depend on a parameter; only their gradients are computed.
std::vector<bool> depends_on_parameter(const Graph& graph) {
  std::vector<bool> depends(graph.value_count());
  for (std::size_t id = 0; id < depends.size(); ++id) {
    const Value& value = graph.value(static_cast<ValueId>(id));
    depends[id] = value.kind == ValueKind::variable &&
                  graph.variables[static_cast<std::size_t>(value.index)].role == VariableRole::parameter;
  }
  for (const Node& node : graph.nodes) {
    bool any = false;
    for (ValueId id : node.inputs) any = any || depends[static_cast<std::size_t>(id)];
    for (ValueId id : node.outputs)
      if (graph.value(id).kind == ValueKind::intermediate) depends[static_cast<std::size_t>(id)] = any;
  }
  return depends;
}

class Builder final : public GradientBuilder {
 public:
  Builder(Graph& graph, ValueId loss_scale)
      : graph_(graph),
        loss_scale_(loss_scale),
        needed_(depends_on_parameter(graph)),
        gradients_(graph.value_count(), kNoValue) {}

  const Graph& graph() const override { return graph_; }
  ValueId gradient(ValueId value) const override {
    return static_cast<std::size_t>(value) < gradients_.size() ? gradients_[static_cast<std::size_t>(value)] : kNoValue;
  }
  bool needed(ValueId value) const override { return needed_[static_cast<std::size_t>(value)]; }

  void accumulate(ValueId value, ValueId gradient) override {
    ValueId& slot = gradients_[static_cast<std::size_t>(value)];
    if (graph_.desc(value).shape != graph_.desc(gradient).shape)
      throw GraphError("gradient of " + graph_.value(value).name + " has shape " + to_string(graph_.desc(gradient).shape) +
                       " instead of " + to_string(graph_.desc(value).shape));
    slot =
        slot == kNoValue ? gradient : graph_.add_node(Op::add, {}, {slot, gradient}, graph_.value(value).name + ".grad_sum")[0];
  }

  void replace(ValueId value, ValueId gradient) override { gradients_[static_cast<std::size_t>(value)] = gradient; }

  ValueId loss_scale() const override { return loss_scale_; }

  std::vector<ValueId> append(Op op, Attributes attributes, std::vector<ValueId> inputs, const Node& forward) override {
    return graph_.add_node(op, std::move(attributes), std::move(inputs), forward.name + "." + epochbench::name(op),
                           forward.ordinal);
  }

 private:
  Graph& graph_;
  ValueId loss_scale_;
  std::vector<bool> needed_;
  std::vector<ValueId> gradients_;
};

}  // namespace

std::vector<ValueId> append_gradient(Graph& graph, ValueId loss, ValueId loss_scale) {
  Builder builder(graph, loss_scale);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node node = graph.nodes[i];  // a copy, as appending may reallocate the list
    const bool on_the_way = std::any_of(node.outputs.begin(), node.outputs.end(),
                                        [&](ValueId id) { return id == loss || builder.gradient(id) != kNoValue; });
    const bool any_needed = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return builder.needed(id); });
    if (!on_the_way || !any_needed) continue;
    if (!rule(node.op).gradient)
      throw GraphError(std::string(name(node.op)) + " '" + node.name + "' has no gradient, but parameters precede it");
    rule(node.op).gradient(builder, node);
  }
  std::vector<ValueId> gradients(graph.variables.size(), kNoValue);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const Value& value = graph.value(id);
    if (value.kind != ValueKind::variable) continue;
    const auto index = static_cast<std::size_t>(value.index);
    if (graph.variables[index].role != VariableRole::parameter) continue;
    gradients[index] = builder.gradient(id);
    if (gradients[index] == kNoValue) throw GraphError("the loss does not depend on parameter " + value.name);
  }
  return gradients;
}

}  // namespace epochbench
