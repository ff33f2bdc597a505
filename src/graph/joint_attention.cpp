// The pass that makes one product of those of query, key and value: forward, and in the gradients of input, weights and
// biases. Parameters stay what they are; joint values only place them side by side. Attention reads q, k and v from the rows of
// one value.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "src/graph/passes.h"

namespace epochbench {
namespace {

using Values = std::vector<ValueId>;
constexpr int kNone = -1, kGraphOutput = -2;

// The linear layer of query, key or value, as indices of nodes. Gradients: kNone in a graph without them, and grad_input also
// where the input needs none.
struct Layer {
  int product = kNone, bias = kNone;
  int grad_bias = kNone, grad_weight = kNone, grad_input = kNone;
};

struct Pattern {
  int attention = kNone, gradient = kNone;
  std::array<Layer, 3> layers;
  std::vector<int> adds;    // that sum the gradients of the input, first to last
  ValueId base = kNoValue;  // what else the first of them adds
  int last = kNone;         // of the nodes behind `gradient`
};

class Joiner {
 public:
  Joiner(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has)
      : graph_(graph),
        has_(has),
        users_(graph.value_count()),
        producer_(graph.value_count(), kNone),
        replaced_(graph.nodes.size()),
        joined_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (ValueId id : graph.nodes[i].inputs) users_[static_cast<std::size_t>(id)].push_back(static_cast<int>(i));
      for (ValueId id : graph.nodes[i].outputs) producer_[static_cast<std::size_t>(id)] = static_cast<int>(i);
    }
    for (const Output& output : graph.outputs) users_[static_cast<std::size_t>(output.value)].push_back(kGraphOutput);
  }

  void run() {
    for (int i = 0; i < static_cast<int>(replaced_.size()); ++i)
      if (is(i, Op::attention))
        if (const auto pattern = find(i)) join(*pattern);
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < replaced_.size(); ++i) {
      if (!replaced_[i]) nodes.push_back(std::move(graph_.nodes[i]));
      std::ranges::move(joined_[i], std::back_inserter(nodes));
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  const std::vector<int>& users(ValueId id) const { return users_[static_cast<std::size_t>(id)]; }
  bool is(int index, Op op) const { return index >= 0 && node(index).op == op; }
  int producer(ValueId id, Op op) const {
    const int index = producer_[static_cast<std::size_t>(id)];
    return is(index, op) ? index : kNone;
  }
  bool all_read_after(const Values& values, int last) const {
    return std::ranges::all_of(values, [&](ValueId id) {
      return std::ranges::all_of(users(id), [&](int user) { return user == kGraphOutput || user > last; });
    });
  }
  // An input or the output of one node of each layer.
  Values inputs(const Pattern& p, int Layer::*which, std::size_t input) const {
    Values values;
    for (const Layer& layer : p.layers) values.push_back(node(layer.*which).inputs[input]);
    return values;
  }
  Values outputs(const Pattern& p, int Layer::*which) const {
    Values values;
    for (const Layer& layer : p.layers) values.push_back(node(layer.*which).outputs[0]);
    return values;
  }

  std::optional<Pattern> find(int attention) const {
    Pattern p;
    p.attention = attention;
    for (int user : users(node(attention).inputs[0]))
      if (is(user, Op::attention_grad)) p.gradient = user;
    for (std::size_t i = 0; i < p.layers.size(); ++i)
      if (!find_layer(p, p.layers[i], node(attention).inputs[i]) ||
          (p.gradient != kNone && !find_gradients(p.layers[i], node(p.gradient).outputs[i])))
        return std::nullopt;
    const Values x = inputs(p, &Layer::product, 0);
    if (x != Values(3, x[0]) || !graph_.may_join(inputs(p, &Layer::product, 1)) ||
        !graph_.may_join(inputs(p, &Layer::bias, 1)) || (p.gradient != kNone && !find_end(p)))
      return std::nullopt;
    return p;
  }

  // Whether `value` is x W^T + b, and attention and its gradient are its only readers.
  bool find_layer(const Pattern& p, Layer& layer, ValueId value) const {
    layer.bias = producer(value, Op::bias_add);
    if (layer.bias == kNone) return false;
    const ValueId product = node(layer.bias).inputs[0];
    layer.product = producer(product, Op::matmul);
    if (layer.product == kNone || users(product) != std::vector{layer.bias}) return false;
    const auto& a = std::get<MatmulAttributes>(node(layer.product).attributes);
    return !a.transpose_a && a.transpose_b &&
           users(value) == (p.gradient == kNone ? std::vector{p.attention} : std::vector{p.attention, p.gradient});
  }

  // Whether the readers of the layer's gradient are those that the gradient pass appends.
  bool find_gradients(Layer& layer, ValueId gradient) const {
    const Values& forward = node(layer.product).inputs;
    for (int user : users(gradient)) {
      if (is(user, Op::bias_add_grad)) layer.grad_bias = user;
      if (!is(user, Op::matmul) || node(user).inputs[0] != gradient) continue;
      const auto& a = std::get<MatmulAttributes>(node(user).attributes);
      if (!a.transpose_b && node(user).inputs[1] == forward[a.transpose_a ? 0 : 1])
        (a.transpose_a ? layer.grad_weight : layer.grad_input) = user;
    }
    return layer.grad_bias != kNone && layer.grad_weight != kNone &&
           users(gradient).size() == (layer.grad_input == kNone ? 2 : 3);
  }

  // Whether the gradients can be computed together behind the last of their nodes.
  bool find_end(Pattern& p) const {
    for (const Layer& layer : p.layers) p.last = std::max({p.last, layer.grad_bias, layer.grad_weight, layer.grad_input});
    if (p.layers[0].grad_input != kNone) {
      if (!find_sum(p)) return false;
      p.last = std::max(p.last, p.adds.back());
      if (!all_read_after({node(p.adds.back()).outputs[0]}, p.last)) return false;
    }
    for (const auto which : {&Layer::grad_bias, &Layer::grad_weight})
      if (!graph_.may_join(outputs(p, which)) || !all_read_after(outputs(p, which), p.last)) return false;
    return true;
  }

  // Whether the three gradients of the input are added one after another.
  bool find_sum(Pattern& p) const {
    std::set<int> adds;
    Values terms;
    for (const Layer& layer : p.layers) {
      if (layer.grad_input == kNone) return false;
      terms.push_back(node(layer.grad_input).outputs[0]);
      if (users(terms.back()).size() != 1 || !is(users(terms.back())[0], Op::add)) return false;
      adds.insert(users(terms.back())[0]);
    }
    ValueId sum = kNoValue;
    for (int add : adds) {
      Values others;
      std::ranges::copy_if(node(add).inputs, std::back_inserter(others),
                           [&](ValueId id) { return std::ranges::find(terms, id) == terms.end(); });
      if (sum != kNoValue && (others != Values{sum} || users(sum) != std::vector{add})) return false;
      if (sum == kNoValue && !others.empty()) p.base = others[0];
      sum = node(add).outputs[0];
    }
    p.adds.assign(adds.begin(), adds.end());
    return true;
  }

  void join(const Pattern& p) {
    const Node &attention = node(p.attention), &first = node(p.layers[0].product);
    const std::string name = name_of(p);
    TensorDesc desc = graph_.desc(first.outputs[0]);
    desc.shape[1] *= 3;
    const ValueId product = graph_.add_value(name, desc), qkv = graph_.add_value(name + ".bias", desc);
    Node forward = composite(Op::joint_attention, attention, {qkv, attention.inputs[3]}, attention.outputs), backward{};
    ValueId gradient = kNoValue;
    if (p.gradient != kNone) {
      const Node& of = node(p.gradient);  // dy, q, k, v, y, log_sum_exp, step
      gradient = graph_.add_value(of.name, desc);
      backward =
          composite(Op::joint_attention_grad, of, {of.inputs[0], qkv, of.inputs[4], of.inputs[5], of.inputs[6]}, {gradient});
      if (!has_(graph_, backward)) return;
    }
    if (!has_(graph_, forward)) return;

    const ValueId x = first.inputs[0], weights = graph_.add_joint(name + ".weights", inputs(p, &Layer::product, 1));
    const ValueId biases = graph_.add_joint(name + ".biases", inputs(p, &Layer::bias, 1));
    auto& before = joined_[static_cast<std::size_t>(p.attention)];
    before.push_back(like(first, name, {x, weights}, product));
    before.push_back(like(node(p.layers[0].bias), name, {product, biases}, qkv));
    before.push_back(std::move(forward));
    replaced_[static_cast<std::size_t>(p.attention)] = true;
    if (p.gradient != kNone) {
      joined_[static_cast<std::size_t>(p.gradient)] = {std::move(backward)};
      replaced_[static_cast<std::size_t>(p.gradient)] = true;
      join_gradients(p, name, gradient, x, weights);
    }
    for (const Layer& layer : p.layers)
      for (int index : {layer.product, layer.bias, layer.grad_bias, layer.grad_weight, layer.grad_input})
        if (index != kNone) replaced_[static_cast<std::size_t>(index)] = true;
    for (int add : p.adds) replaced_[static_cast<std::size_t>(add)] = true;
  }

  void join_gradients(const Pattern& p, const std::string& name, ValueId gradient, ValueId x, ValueId weights) {
    const Layer& first = p.layers[0];
    auto& behind = joined_[static_cast<std::size_t>(p.last)];
    const ValueId dbiases = graph_.add_joint(name + ".biases.grad", outputs(p, &Layer::grad_bias));
    behind.push_back(like(node(first.grad_bias), name + ".bias_add_grad", {gradient}, dbiases));
    const ValueId dweights = graph_.add_joint(name + ".weights.grad", outputs(p, &Layer::grad_weight));
    behind.push_back(like(node(first.grad_weight), name + ".matmul", {gradient, x}, dweights));
    if (first.grad_input == kNone) return;
    const Node& sum = node(p.adds.back());
    const bool add = p.base != kNoValue;
    const ValueId dx = add ? graph_.add_value(name + ".matmul", graph_.desc(x)) : sum.outputs[0];
    behind.push_back(like(node(first.grad_input), name + ".matmul", {gradient, weights}, dx));
    if (add) behind.push_back(like(sum, sum.name, {p.base, dx}, sum.outputs[0]));
  }

  // "layer.query+key+value"
  std::string name_of(const Pattern& p) const {
    std::string name = node(p.layers[0].product).name;
    for (std::size_t i = 1; i < p.layers.size(); ++i) {
      const std::string& other = node(p.layers[i].product).name;
      name += "+" + other.substr(other.rfind('.') + 1);
    }
    return name;
  }

  static Node like(const Node& model, const std::string& name, Values inputs, ValueId output) {
    return {model.op, model.attributes, std::move(inputs), {output}, model.ordinal, name, {}};
  }
  static Node composite(Op op, const Node& part, Values inputs, Values outputs) {
    return {op, part.attributes, std::move(inputs), std::move(outputs), part.ordinal, part.name, {part}};
  }

  Graph& graph_;
  const std::function<bool(const Graph&, const Node&)>& has_;
  std::vector<std::vector<int>> users_;    // by value: indices of the nodes that read it
  std::vector<int> producer_;              // by value: index of the node that computes it
  std::vector<bool> replaced_;             // by node
  std::vector<std::vector<Node>> joined_;  // by node: what comes right behind it, or in its place
};

}  // namespace

void join_attention(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) { Joiner(graph, has).run(); }

}  // namespace epochbench
