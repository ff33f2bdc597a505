// The precision pass: which tensors of a forward graph are 16-bit, and which products round their operands. Whatever is not
// listed as f32 in op.h flows in 16 bits; weights stay f32 variables, of which every step makes 16-bit copies (Micikevicius et
// al. 2018, "Mixed Precision Training").
#include <map>

#include "src/graph/passes.h"

namespace epochbench {
namespace {

void set_tf32(Node& node) {
  if (auto* matmul = std::get_if<MatmulAttributes>(&node.attributes)) matmul->tf32 = true;
  if (auto* conv2d = std::get_if<Conv2dAttributes>(&node.attributes)) conv2d->tf32 = true;
  if (auto* attention = std::get_if<AttentionAttributes>(&node.attributes)) attention->tf32 = true;
}

// Scale, bias and statistics of norms.
bool stays_f32(const Node& node, std::size_t input) {
  return input > 0 && (node.op == Op::batch_norm || node.op == Op::batch_norm_inference || node.op == Op::layer_norm);
}

// Writes `forward` again with 16-bit values.
class Rewriter {
 public:
  Rewriter(const Graph& forward, DType dtype) : forward_(forward), dtype_(dtype) {}

  Graph run() {
    copy_inputs_and_variables();
    find_what_is_read();
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
      if (value.kind == ValueKind::variable)
        new_id_[id] = graph_.add_variable(forward_.variables[static_cast<std::size_t>(value.index)]);
    }
  }

  // The float inputs and variables that some node reads in 16 bits, in the order of the graph's values.
  void find_what_is_read() {
    for (const Node& node : forward_.nodes)
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const Value& value = forward_.value(node.inputs[i]);
        if (value.kind != ValueKind::intermediate && value.desc.dtype == DType::f32 && !stays_f32(node, i))
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

  // Behind those of the forward graph, which its nodes keep.
  int ordinal() const { return static_cast<int>(forward_.nodes.size() + graph_.nodes.size()); }

  const Graph& forward_;
  DType dtype_;
  Graph graph_;
  std::map<ValueId, ValueId> new_id_;  // by value of forward_
  std::map<ValueId, ValueId> copies_;  // by input or variable of forward_: its 16-bit copy
};

}  // namespace

Graph with_precision(const Graph& forward, Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return forward;
    case Precision::tf32: {
      Graph graph = forward;
      for (Node& node : graph.nodes) set_tf32(node);
      return graph;
    }
    case Precision::bf16:
      return Rewriter(forward, DType::bf16).run();
    case Precision::fp16:
      return Rewriter(forward, DType::f16).run();
  }
  throw GraphError("precision without a pass");
}

}  // namespace epochbench
