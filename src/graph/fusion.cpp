// The fusion pass: small patterns over producers and their only consumers. The larger one of attention has its own file.
#include <algorithm>
#include <stdexcept>

#include "src/graph/op_rule.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

class Fuser {
 public:
  Fuser(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) : graph_(graph), has_(has) {
    users_.resize(graph.value_count());
    producer_.assign(graph.value_count(), kNone);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (ValueId id : graph.nodes[i].inputs) users_[static_cast<std::size_t>(id)].push_back(static_cast<int>(i));
      for (ValueId id : graph.nodes[i].outputs)
        if (graph.value(id).kind == ValueKind::intermediate) producer_[static_cast<std::size_t>(id)] = static_cast<int>(i);
    }
    for (const Output& output : graph.outputs) users_[static_cast<std::size_t>(output.value)].push_back(kGraphOutput);
    gone_.resize(graph.nodes.size());
  }

  void run() {
    fuse_patterns();
    remove_parts();
  }

  // After all that moves nodes, so that what is read last stays so.
  void run_sums() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (!gone_[static_cast<std::size_t>(i)] && node(i).op == Op::matmul) fuse_sum(i);
    remove_parts();
  }

 private:
  static constexpr int kGraphOutput = -1;
  static constexpr int kNone = -1;

  void fuse_patterns() {
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
        case Op::bias_add_grad:
          fuse_linear_gradient(i);
          break;
        case Op::relu_grad:
          fuse_batch_norm_grad(i);
          break;
        case Op::layer_norm:
          fuse_layer_norm(i);
          break;
        case Op::layer_norm_grad:
          fuse_layer_norm_grad(i);
          break;
        default:
          break;  // starts no pattern
      }
    }
  }

  void remove_parts() {
    std::vector<Node> kept;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!gone_[i]) kept.push_back(std::move(graph_.nodes[i]));
    graph_.nodes = std::move(kept);
  }

  Node& node(int index) { return graph_.nodes[static_cast<std::size_t>(index)]; }

  // The only reader of `value`, if it has this op and reads the value once; otherwise kNone.
  int only_user(ValueId value, Op op) {
    const auto& users = users_[static_cast<std::size_t>(value)];
    return users.size() == 1 && users[0] != kGraphOutput && node(users[0]).op == op ? users[0] : kNone;
  }

  // Replaces node `at` by `composite` if the backend supports it, and removes the other parts. Its name is the first part's.
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

  // matmul, add: the product is added to the other operand in its memory, so that must be an intermediate whose last other
  // reader comes before. The composite takes matmul's place.
  void fuse_sum(int product) {
    const ValueId y = node(product).outputs[0];
    const int add = only_user(y, Op::add);
    if (add == kNone) return;
    const auto& operands = node(add).inputs;
    const ValueId sum = operands[0] == y ? operands[1] : operands[0];
    const int producer = producer_[static_cast<std::size_t>(sum)];
    if (producer == kNone || producer > product || rule(node(producer).op).view) return;
    for (int user : users_[static_cast<std::size_t>(sum)])
      if (user != add && (user == kGraphOutput || user >= product || rule(node(user).op).view)) return;
    Node fused;
    fused.op = Op::matmul_add;
    fused.attributes = node(product).attributes;
    fused.inputs = {node(product).inputs[0], node(product).inputs[1], sum};
    fused.outputs = node(add).outputs;
    const ValueId total = fused.outputs[0];
    if (replace(product, {product, add}, std::move(fused))) producer_[static_cast<std::size_t>(total)] = product;
  }

  // batch_norm [, add], relu. The composite takes relu's place, where the shortcut has been computed.
  void fuse_batch_norm(int norm) {
    const int add = only_user(node(norm).outputs[0], Op::add);
    const int relu = only_user(node(add >= 0 ? add : norm).outputs[0], Op::relu);
    if (relu < 0) return;
    Node fused;
    fused.op = Op::batch_norm_inference_relu;
    fused.attributes = node(norm).attributes;
    if (node(norm).op == Op::batch_norm) {
      fused.op = Op::batch_norm_relu;
      fused.attributes = BatchNormReluAttributes{std::get<BatchNormAttributes>(node(norm).attributes)};
    }
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

  // bias_add_grad, and the product of the same dy, transposed, with a value that has been computed before it.
  void fuse_linear_gradient(int bias_grad) {
    const ValueId dy = node(bias_grad).inputs[0];
    for (int user : users_[static_cast<std::size_t>(dy)]) {
      if (user == kGraphOutput || gone_[static_cast<std::size_t>(user)] || node(user).op != Op::matmul) continue;
      const Node& product = node(user);
      const auto& a = std::get<MatmulAttributes>(product.attributes);
      if (product.inputs[0] != dy || !a.transpose_a || a.transpose_b) continue;
      if (producer_[static_cast<std::size_t>(product.inputs[1])] > bias_grad) continue;
      Node fused;
      fused.op = Op::linear_grad_weight;
      fused.attributes = a;
      fused.inputs = product.inputs;
      fused.outputs = {product.outputs[0], node(bias_grad).outputs[0]};
      if (replace(bias_grad, {user, bias_grad}, std::move(fused))) return;
    }
  }

  // [add of two gradients,] relu_grad, then the first batch_norm_grad that reads it as dy. The composite takes relu_grad's
  // place: the forward values exist, and other readers of dz (the shortcut) come later.
  void fuse_batch_norm_grad(int relu_grad) {
    const ValueId dz = node(relu_grad).outputs[0];
    const auto& users = users_[static_cast<std::size_t>(dz)];
    const auto found = std::find_if(users.begin(), users.end(), [&](int user) {
      return user != kGraphOutput && node(user).op == Op::batch_norm_grad && node(user).inputs[0] == dz;
    });
    if (found == users.end()) return;
    const ValueId dy = node(relu_grad).inputs[0], y = node(relu_grad).inputs[1];
    const int add = sum_for(dy, relu_grad);
    const ValueId mask = mask_of(y);
    for (bool second : {true, false})
      for (bool masked : {true, false}) {
        if ((second && add == kNone) || (masked && mask == kNoValue)) continue;
        Node fused;
        fused.op = Op::batch_norm_relu_grad;
        fused.attributes = BatchNormReluGradAttributes{masked, second};
        fused.inputs = second ? node(add).inputs : std::vector<ValueId>{dy};
        fused.inputs.push_back(masked ? mask : y);
        fused.inputs.insert(fused.inputs.end(), node(*found).inputs.begin() + 1, node(*found).inputs.end());
        fused.outputs = node(*found).outputs;
        fused.outputs.push_back(dz);
        std::vector<int> parts{relu_grad, *found};
        if (second) parts.push_back(add);
        if (replace(relu_grad, parts, std::move(fused))) {
          if (masked) write_mask(y, mask);
          return;
        }
      }
  }

  // [dropout,] add, layer_norm. The composite takes layer_norm's place; the sum stays a value if others read it, later.
  void fuse_layer_norm(int norm) {
    const ValueId sum = node(norm).inputs[0];
    const int add = producer_of(sum, Op::add);
    if (add == kNone) return;
    const auto& users = users_[static_cast<std::size_t>(sum)];
    if (std::any_of(users.begin(), users.end(), [&](int user) { return user != kGraphOutput && user < norm; })) return;
    AddLayerNormAttributes attributes{std::get<LayerNormAttributes>(node(norm).attributes), 0, users.size() > 1};
    std::vector<ValueId> operands = node(add).inputs;
    std::vector<int> parts{add, norm};
    std::vector<ValueId> step;
    for (std::size_t i = 0; i < operands.size() && step.empty(); ++i) {
      const int dropout = producer_of(operands[i], Op::dropout);
      if (dropout == kNone || only_user(operands[i], Op::add) != add) continue;
      attributes.dropout = std::get<DropoutAttributes>(node(dropout).attributes).probability;
      step = {node(dropout).inputs[1]};
      operands = {node(dropout).inputs[0], operands[1 - i]};
      parts.insert(parts.begin(), dropout);
    }
    Node fused;
    fused.op = Op::add_layer_norm;
    fused.attributes = attributes;
    fused.inputs = {operands[0], operands[1], node(norm).inputs[1], node(norm).inputs[2]};
    fused.inputs.insert(fused.inputs.end(), step.begin(), step.end());
    fused.outputs = node(norm).outputs;
    if (attributes.sum) fused.outputs.push_back(sum);
    replace(norm, parts, std::move(fused));
  }

  // layer_norm_grad, and the dropout that reads its dx: the gradient of a forward dropout, whose mask is that of its ordinal.
  void fuse_layer_norm_grad(int norm_grad) {
    const ValueId dsum = node(norm_grad).outputs[0];
    for (int dropout : users_[static_cast<std::size_t>(dsum)]) {
      if (dropout == kGraphOutput || gone_[static_cast<std::size_t>(dropout)] || node(dropout).op != Op::dropout) continue;
      Node fused;
      fused.op = Op::add_layer_norm_grad;
      fused.attributes = node(dropout).attributes;
      fused.inputs = node(norm_grad).inputs;
      fused.inputs.push_back(node(dropout).inputs[1]);
      fused.outputs = node(norm_grad).outputs;
      fused.outputs[0] = node(dropout).outputs[0];
      fused.outputs.push_back(dsum);
      if (replace(norm_grad, {dropout, norm_grad}, std::move(fused))) return;
    }
  }

  // The node with this op that computes `value`, or kNone.
  int producer_of(ValueId value, Op op) {
    const int producer = producer_[static_cast<std::size_t>(value)];
    return producer != kNone && !gone_[static_cast<std::size_t>(producer)] && node(producer).op == op ? producer : kNone;
  }

  // The add that computes `dy` only for node `reader`, or kNone.
  int sum_for(ValueId dy, int reader) {
    const int add = producer_[static_cast<std::size_t>(dy)];
    const auto& users = users_[static_cast<std::size_t>(dy)];
    return add != kNone && node(add).op == Op::add && users.size() == 1 && users[0] == reader ? add : kNone;
  }

  // A value for the mask of `y`, if `y` is the output of a batch_norm_relu that can write one; otherwise kNoValue.
  ValueId mask_of(ValueId y) {
    const int producer = producer_[static_cast<std::size_t>(y)];
    if (producer == kNone || node(producer).op != Op::batch_norm_relu) return kNoValue;
    Node masked = node(producer);
    std::get<BatchNormReluAttributes>(masked.attributes).mask = true;
    if (!has_(graph_, masked)) return kNoValue;
    return graph_.add_value(masked.name + ".mask", rule(masked.op).infer(graph_, masked).back());
  }

  void write_mask(ValueId y, ValueId mask) {
    Node& norm = node(producer_[static_cast<std::size_t>(y)]);
    std::get<BatchNormReluAttributes>(norm.attributes).mask = true;
    norm.outputs.push_back(mask);
  }

  Graph& graph_;
  const std::function<bool(const Graph&, const Node&)>& has_;
  std::vector<std::vector<int>> users_;  // by value: indices of the nodes that read it
  std::vector<int> producer_;            // by value: index of the node that computes it
  std::vector<bool> gone_;
};

}  // namespace

void fuse(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) {
  join_attention(graph, has);
  Fuser(graph, has).run();
  Fuser(graph, has).run_sums();
}

}  // namespace epochbench
