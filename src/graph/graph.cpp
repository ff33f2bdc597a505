// Building a graph, with shapes inferred and checked at every node.
#include "epochbench/graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/graph/op_rule.h"

namespace epochbench {

ValueId Graph::add_input(std::string name, TensorDesc desc) {
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back({std::move(name), std::move(desc), ValueKind::input, static_cast<int>(inputs.size())});
  inputs.push_back(values_.back());
  return id;
}

void Graph::set_input_type(ValueId input, DType dtype) {
  Value& value = values_.at(static_cast<std::size_t>(input));
  if (value.kind != ValueKind::input) throw GraphError(value.name + " is not an input");
  value.desc.dtype = dtype;
  inputs[static_cast<std::size_t>(value.index)].desc.dtype = dtype;
}

ValueId Graph::add_variable(Variable variable) {
  const auto [known, is_new] = variable_ids_.try_emplace(variable.name, static_cast<ValueId>(values_.size()));
  if (!is_new) {
    if (desc(known->second) != variable.desc)
      throw GraphError("variable " + variable.name + " is declared as " + to_string(desc(known->second)) + " and as " +
                       to_string(variable.desc));
    return known->second;
  }
  values_.push_back({variable.name, variable.desc, ValueKind::variable, static_cast<int>(variables.size())});
  variables.push_back(std::move(variable));
  return known->second;
}

std::vector<ValueId> Graph::add_node(Op op, Attributes attributes, std::vector<ValueId> inputs, std::string name, int ordinal) {
  Node node{op, std::move(attributes), std::move(inputs), {}, ordinal, std::move(name), {}};
  if (ordinal < 0) node.ordinal = static_cast<int>(nodes.size());
  std::vector<TensorDesc> outputs;
  try {
    outputs = rule(op).infer(*this, node);
  } catch (const GraphError& error) {
    std::string message = std::string(epochbench::name(op)) + " '" + node.name + "': " + error.what() + "; inputs";
    for (ValueId id : node.inputs) message += " " + to_string(desc(id));
    const std::string text = to_string(node.attributes);
    throw GraphError(text.empty() ? message : message + ", " + text);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    node.outputs.push_back(add_value(node.name + (i ? "#" + std::to_string(i) : ""), std::move(outputs[i])));
  if (rule(op).updated_inputs) {
    for (int index : rule(op).updated_inputs(node)) {
      const ValueId id = node.inputs.at(static_cast<std::size_t>(index));
      if (value(id).kind != ValueKind::variable)
        throw GraphError(std::string(epochbench::name(op)) + " '" + node.name + "': input " + std::to_string(index) +
                         " is updated in place and must be a variable");
      node.outputs.push_back(id);
    }
  }
  nodes.push_back(node);
  return node.outputs;
}

ValueId Graph::add_value(std::string name, TensorDesc desc) {
  values_.push_back({std::move(name), std::move(desc), ValueKind::intermediate, -1});
  return static_cast<ValueId>(values_.size() - 1);
}

bool Graph::may_join(const std::vector<ValueId>& members) const {
  const auto rest = [&](ValueId id) {
    TensorDesc desc = this->desc(id);
    if (!desc.shape.empty()) desc.shape[0] = 1;
    return desc;
  };
  const Value& first = value(members.at(0));
  return !first.desc.shape.empty() && std::set(members.begin(), members.end()).size() == members.size() &&
         std::ranges::all_of(members, [&](ValueId id) {
           const Value& one = value(id);
           return one.kind == first.kind && one.kind != ValueKind::input && rest(id) == rest(members[0]) &&
                  one.joint == kNoValue && one.members.empty() && one.desc.bytes() % kTensorAlignment == 0;
         });
}

ValueId Graph::add_joint(std::string name, const std::vector<ValueId>& members) {
  if (!may_join(members)) throw GraphError(name + ": these values cannot lie side by side");
  const auto id = static_cast<ValueId>(values_.size());
  Value joint{std::move(name), desc(members[0]), value(members[0]).kind, value(members[0]).index, members};
  joint.desc.shape[0] = 0;
  for (ValueId member : members) {
    joint.desc.shape[0] += desc(member).shape[0];
    values_[static_cast<std::size_t>(member)].joint = id;
  }
  values_.push_back(std::move(joint));
  return id;
}

void Graph::add_output(std::string name, ValueId value) { outputs.push_back({std::move(name), value}); }

ValueId Graph::input(std::string_view name) const {
  const auto found =
      std::ranges::find_if(values_, [&](const Value& value) { return value.kind == ValueKind::input && value.name == name; });
  return found == values_.end() ? kNoValue : static_cast<ValueId>(found - values_.begin());
}

ValueId Graph::output(std::string_view name) const {
  for (const Output& output : outputs)
    if (output.name == name) return output.value;
  return kNoValue;
}

}  // namespace epochbench
