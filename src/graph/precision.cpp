// The precision pass: which tensors of a forward graph are 16-bit, and which products round their operands. Everything that
// op_list.inc does not describe as f32 is 16-bit. Weights that are trained stay f32 variables, and every step makes 16-bit
// copies of them (Micikevicius et al. 2018, "Mixed Precision Training"), unless the optimizer has made them (keep_copies).
#include <map>
#include <set>

#include "src/graph/op_rule.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

bool stays_f32(const Node& node, std::size_t input) { return input > 0 && rule(node.op).f32_parameters; }

// Rewrites `forward` with 16-bit values.
class Rewriter {
 public:
  Rewriter(const Graph& forward, DType dtype, Weights weights) : forward_(forward), dtype_(dtype), weights_(weights) {}

  Graph run() {
    find_what_is_read();
    copy_inputs_and_variables();
    cast_variables();
    cast_inputs();
    for (const Node& node : forward_.nodes) copy(node);
    for (const Output& output : forward_.outputs) graph_.add_output(output.name, new_id_.at(output.value));
    return std::move(graph_);
  }

 private:
  void copy_inputs_and_variables() {
    for (ValueId id = 0; id < static_cast<ValueId>(forward_.value_count()); ++id) {
      const Value& value = forward_.value(id);
      if (value.kind == ValueKind::input) new_id_[id] = graph_.add_input(value.name, value.desc);
      if (value.kind == ValueKind::variable) {
        Variable variable = forward_.variables[static_cast<std::size_t>(value.index)];
        if (weights_ == Weights::as_read && !read_in_f32_.contains(id) && copies_.erase(id) == 1) variable.desc.dtype = dtype_;
        new_id_[id] = graph_.add_variable(std::move(variable));
      }
    }
  }

  // The float inputs and variables that a node reads in 16 bits, in the order of the graph's values.
  void find_what_is_read() {
    for (const Node& node : forward_.nodes)
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const Value& value = forward_.value(node.inputs[i]);
        if (value.kind == ValueKind::intermediate || value.desc.dtype != DType::f32) continue;
        if (stays_f32(node, i))
          read_in_f32_.insert(node.inputs[i]);
        else
          copies_[node.inputs[i]] = kNoValue;
      }
  }

  void cast_variables() {
    std::vector<ValueId> ids, inputs;
    for (const auto& [id, copy] : copies_)
      if (forward_.value(id).kind == ValueKind::variable) {
        ids.push_back(id);
        inputs.push_back(new_id_.at(id));
      }
    if (ids.empty()) return;
    const std::vector<ValueId> outputs = graph_.add_node(Op::cast, CastAttributes{dtype_}, inputs, "weights.cast", ordinal());
    for (std::size_t i = 0; i < ids.size(); ++i) copies_[ids[i]] = outputs[i];
  }

  void cast_inputs() {
    for (auto& [id, copy] : copies_)
      if (forward_.value(id).kind == ValueKind::input)
        copy = graph_.add_node(Op::cast, CastAttributes{dtype_}, {new_id_.at(id)}, forward_.value(id).name + ".cast",
                               ordinal())[0];
  }

  void copy(const Node& node) {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = stays_f32(node, i) ? copies_.end() : copies_.find(node.inputs[i]);
      inputs.push_back(found != copies_.end() ? found->second : new_id_.at(node.inputs[i]));
    }
    const std::vector<ValueId> outputs = graph_.add_node(node.op, node.attributes, inputs, node.name, node.ordinal);
    for (std::size_t i = 0; i < outputs.size(); ++i) new_id_[node.outputs[i]] = outputs[i];
  }

  // Greater than the ordinals of the forward graph, which its nodes keep.
  int ordinal() const { return static_cast<int>(forward_.nodes.size() + graph_.nodes.size()); }

  const Graph& forward_;
  DType dtype_;
  Weights weights_;
  Graph graph_;
  std::map<ValueId, ValueId> new_id_;  // by value of forward_
  std::map<ValueId, ValueId> copies_;  // by input or variable of forward_: its 16-bit copy
  std::set<ValueId> read_in_f32_;      // inputs and variables of forward_
};

}  // namespace

Graph with_precision(const Graph& forward, Precision precision, Weights weights) {
  switch (precision) {
    case Precision::fp32:
      return forward;
    case Precision::tf32: {
      Graph graph = forward;
      for (Node& node : graph.nodes) set_tf32(node.attributes);
      return graph;
    }
    case Precision::bf16:
      return Rewriter(forward, DType::bf16, weights).run();
    case Precision::fp16:
      return Rewriter(forward, DType::f16, weights).run();
    case Precision::int8:
      break;  // with_int8
  }
  throw GraphError("precision without a pass");
}

}  // namespace epochbench
