// The fusion pass: small patterns over producers and their only consumers.
#include <stdexcept>

#include "src/graph/op_rule.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

class Fuser {
 public:
  Fuser(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) : graph_(graph), has_(has) {
    users_.resize(graph.value_count());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (ValueId id : graph.nodes[i].inputs) users_[static_cast<std::size_t>(id)].push_back(static_cast<int>(i));
    for (const Output& output : graph.outputs) users_[static_cast<std::size_t>(output.value)].push_back(kGraphOutput);
    gone_.resize(graph.nodes.size());
  }

  void run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (gone_[static_cast<std::size_t>(i)]) continue;
      switch (node(i).op) {
        case Op::matmul:
        case Op::conv2d:
          fuse_bias(i);
          break;
        case Op::batch_norm:
        case Op::batch_norm_inference:
          fuse_batch_norm(i);
          break;
        case Op::relu_grad:
          fuse_batch_norm_grad(i);
          break;
        default:
          break;  // starts no pattern
      }
    }
    std::vector<Node> kept;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!gone_[i]) kept.push_back(std::move(graph_.nodes[i]));
    graph_.nodes = std::move(kept);
  }

 private:
  static constexpr int kGraphOutput = -1;

  Node& node(int index) { return graph_.nodes[static_cast<std::size_t>(index)]; }

  // The node that alone reads `value`, if it is of this op and reads it once; else -1.
  int only_user(ValueId value, Op op) {
    const auto& users = users_[static_cast<std::size_t>(value)];
    return users.size() == 1 && users[0] != kGraphOutput && node(users[0]).op == op ? users[0] : -1;
  }

  // Puts `composite` in place of node `at`, if the backend has it; the other parts go. The parts are given in graph order.
  bool replace(int at, const std::vector<int>& parts, Node composite) {
    composite.ordinal = node(parts.front()).ordinal;
    composite.name = node(parts.front()).name;
    for (int part : parts) composite.parts.push_back(node(part));
    std::size_t created = rule(composite.op).infer(graph_, composite).size();
    if (created > composite.outputs.size()) throw GraphError("composite with too few outputs: " + composite.name);
    if (!has_(graph_, composite)) return false;
    for (int part : parts) gone_[static_cast<std::size_t>(part)] = part != at;
    node(at) = std::move(composite);
    return true;
  }

  // matmul or conv2d, bias_add [, relu].
  void fuse_bias(int product) {
    const int bias = only_user(node(product).outputs[0], Op::bias_add);
    if (bias < 0) return;
    const int relu = only_user(node(bias).outputs[0], Op::relu);
    auto composite = [&](bool with_relu) {
      const Node& base = node(product);
      Node fused;
      if (base.op == Op::matmul) {
        fused.op = Op::linear;
        fused.attributes = LinearAttributes{std::get<MatmulAttributes>(base.attributes), with_relu};
      } else {
        fused.op = Op::conv2d_bias;
        fused.attributes = Conv2dBiasAttributes{std::get<Conv2dAttributes>(base.attributes), with_relu};
      }
      fused.inputs = {base.inputs[0], base.inputs[1], node(bias).inputs[1]};
      fused.outputs = node(with_relu ? relu : bias).outputs;
      return fused;
    };
    if (relu >= 0 && replace(relu, {product, bias, relu}, composite(true))) return;
    replace(bias, {product, bias}, composite(false));
  }

  // batch_norm [, add], relu. The composite takes relu's place: by then the shortcut exists.
  void fuse_batch_norm(int norm) {
    const int add = only_user(node(norm).outputs[0], Op::add);
    const int relu = only_user(node(add >= 0 ? add : norm).outputs[0], Op::relu);
    if (relu < 0) return;
    Node fused;
    fused.op = node(norm).op == Op::batch_norm ? Op::batch_norm_relu : Op::batch_norm_inference_relu;
    fused.attributes = node(norm).attributes;
    fused.inputs = node(norm).inputs;
    fused.outputs = node(norm).outputs;
    fused.outputs[0] = node(relu).outputs[0];
    std::vector<int> parts{norm, relu};
    if (add >= 0) {
      const auto& operands = node(add).inputs;
      fused.inputs.push_back(operands[0] == node(norm).outputs[0] ? operands[1] : operands[0]);
      parts = {norm, add, relu};
    }
    replace(relu, parts, std::move(fused));
  }

  // relu_grad, then the first batch_norm_grad that reads it as dy. Takes relu_grad's place: the forward values exist, and
  // whoever else reads dz (the shortcut) comes later.
  void fuse_batch_norm_grad(int relu_grad) {
    const ValueId dz = node(relu_grad).outputs[0];
    for (int user : users_[static_cast<std::size_t>(dz)]) {
      if (user == kGraphOutput || node(user).op != Op::batch_norm_grad || node(user).inputs[0] != dz) continue;
      Node fused;
      fused.op = Op::batch_norm_relu_grad;
      fused.inputs = node(relu_grad).inputs;
      fused.inputs.insert(fused.inputs.end(), node(user).inputs.begin() + 1, node(user).inputs.end());
      fused.outputs = node(user).outputs;
      fused.outputs.push_back(dz);
      replace(relu_grad, {relu_grad, user}, std::move(fused));
      return;
    }
  }

  Graph& graph_;
  const std::function<bool(const Graph&, const Node&)>& has_;
  std::vector<std::vector<int>> users_;  // by value: indices of the nodes that read it
  std::vector<bool> gone_;
};

}  // namespace

void fuse(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) { Fuser(graph, has).run(); }

}  // namespace epochbench
