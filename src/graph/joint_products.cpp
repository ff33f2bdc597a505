// The pass that merges the products of query, key and value, or of gate and up, into one: forward, and in the gradients of
// input, weights and biases. Parameters do not change; joint values only place them side by side. The reader, attention or
// swiglu, reads its operands from the rows of one value. A rotation of query and key in between becomes one of the first
// columns of these rows.
#include <algorithm>
#include <optional>
#include <set>

#include "src/graph/passes.h"

namespace epochbench {
namespace {

using Values = std::vector<ValueId>;
constexpr int kNone = -1, kGraphOutput = -2;

// The linear layer of one operand of the reader, as node indices; kNone: no bias or no rotation. Gradients are kNone in a graph
// without them, grad_input also if the input needs none.
struct Layer {
  int product = kNone, bias = kNone, rotary = kNone;
  int grad_rotary = kNone, grad_bias = kNone, grad_weight = kNone, grad_input = kNone;
};

struct Pattern {
  int reader = kNone, gradient = kNone;
  std::vector<Layer> layers;
  std::vector<int> adds;    // nodes that sum the gradients of the input, first to last
  ValueId base = kNoValue;  // the other term of the first add, if any
  int last = kNone;         // last of the nodes after `gradient`
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
      if (is(i, Op::attention) || is(i, Op::swiglu))
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
  // An input or the output of node `which` of each layer.
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

  std::optional<Pattern> find(int reader) const {
    Pattern p;
    p.reader = reader;
    const bool attention = is(reader, Op::attention);
    p.layers.resize(attention ? 3 : 2);
    for (int user : users(node(reader).inputs[0]))
      if (is(user, attention ? Op::attention_grad : Op::swiglu_grad)) p.gradient = user;
    for (std::size_t i = 0; i < p.layers.size(); ++i)
      if (!find_layer(p, p.layers[i], node(reader).inputs[i]) ||
          (p.gradient != kNone && !find_gradients(p.layers[i], node(p.gradient).outputs[i])))
        return std::nullopt;
    const Values x = inputs(p, &Layer::product, 0);
    if (!std::ranges::all_of(x, [&](ValueId id) { return id == x[0]; }) || !graph_.may_join(inputs(p, &Layer::product, 1)) ||
        !alike(p) || (p.gradient != kNone && !find_end(p)))
      return std::nullopt;
    return p;
  }

  // Whether `value` is x W^T [+ b] [rotated], and the reader and its gradient are its only readers.
  bool find_layer(const Pattern& p, Layer& layer, ValueId value) const {
    if (users(value) != (p.gradient == kNone ? std::vector{p.reader} : std::vector{p.reader, p.gradient})) return false;
    // Returns the node with this op that computes `value`, which then becomes its input; kNone if that has other readers.
    const auto step_back = [&](Op op) {
      const int found = producer(value, op);
      if (found == kNone) return kNone;
      value = node(found).inputs[0];
      return users(value) == std::vector{found} ? found : kNone;
    };
    if (producer(value, Op::rotary) != kNone && (layer.rotary = step_back(Op::rotary)) == kNone) return false;
    if (producer(value, Op::bias_add) != kNone && (layer.bias = step_back(Op::bias_add)) == kNone) return false;
    layer.product = producer(value, Op::matmul);
    if (layer.product == kNone) return false;
    const auto& a = std::get<MatmulAttributes>(node(layer.product).attributes);
    return !a.transpose_a && a.transpose_b;
  }

  // Whether all layers or none have a bias, and the rotated ones, if any, come first and are rotated alike in all columns.
  bool alike(const Pattern& p) const {
    const auto has_bias = [](const Layer& layer) { return layer.bias != kNone; };
    const auto is_rotated = [](const Layer& layer) { return layer.rotary != kNone; };
    if (has_bias(p.layers[0])) {
      if (!std::ranges::all_of(p.layers, has_bias) || !graph_.may_join(inputs(p, &Layer::bias, 1))) return false;
    } else if (std::ranges::any_of(p.layers, has_bias)) {
      return false;
    }
    if (!std::ranges::is_partitioned(p.layers, is_rotated)) return false;
    return std::ranges::all_of(p.layers, [&](const Layer& layer) {
      if (!is_rotated(layer)) return true;
      const Node &rotary = node(layer.rotary), &first = node(p.layers[0].rotary);
      const auto &a = std::get<RotaryAttributes>(rotary.attributes), &b = std::get<RotaryAttributes>(first.attributes);
      return rotary.inputs[1] == first.inputs[1] && a.inverse == b.inverse &&
             a.heads * graph_.desc(rotary.inputs[1]).shape[1] == graph_.desc(rotary.inputs[0]).shape[1];
    });
  }

  // Whether the readers of the layer's gradient are those that the gradient pass appends.
  bool find_gradients(Layer& layer, ValueId gradient) const {
    const Values& forward = node(layer.product).inputs;
    if (layer.rotary != kNone) {
      if (users(gradient).size() != 1 || !is(users(gradient)[0], Op::rotary)) return false;
      layer.grad_rotary = users(gradient)[0];
      gradient = node(layer.grad_rotary).outputs[0];
    }
    for (int user : users(gradient)) {
      if (is(user, Op::bias_add_grad)) layer.grad_bias = user;
      if (!is(user, Op::matmul) || node(user).inputs[0] != gradient) continue;
      const auto& a = std::get<MatmulAttributes>(node(user).attributes);
      if (!a.transpose_b && node(user).inputs[1] == forward[a.transpose_a ? 0 : 1])
        (a.transpose_a ? layer.grad_weight : layer.grad_input) = user;
    }
    const std::size_t readers = (layer.bias == kNone ? 1 : 2) + (layer.grad_input == kNone ? 0 : 1);
    return (layer.grad_bias != kNone) == (layer.bias != kNone) && layer.grad_weight != kNone &&
           users(gradient).size() == readers;
  }

  // Whether the gradients can be computed together after the last of their nodes.
  bool find_end(Pattern& p) const {
    for (const Layer& layer : p.layers) p.last = std::max({p.last, layer.grad_bias, layer.grad_weight, layer.grad_input});
    if (p.layers[0].grad_input != kNone) {
      if (!find_sum(p)) return false;
      p.last = std::max(p.last, p.adds.back());
      if (!all_read_after({node(p.adds.back()).outputs[0]}, p.last)) return false;
    }
    const auto may_join = [&](int Layer::*which) {
      return graph_.may_join(outputs(p, which)) && all_read_after(outputs(p, which), p.last);
    };
    return may_join(&Layer::grad_weight) && (p.layers[0].bias == kNone || may_join(&Layer::grad_bias));
  }

  // Whether the gradients of the input are added one after another.
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
    const Node &reader = node(p.reader), &first = node(p.layers[0].product);
    const bool attention = reader.op == Op::attention;
    const auto parts = static_cast<std::ptrdiff_t>(p.layers.size());
    const std::string name = name_of(p);
    TensorDesc desc = graph_.desc(first.outputs[0]);
    desc.shape[1] = 0;
    for (const Layer& layer : p.layers) desc.shape[1] += graph_.desc(node(layer.product).outputs[0]).shape[1];
    // The results of the product, the bias addition and the rotation; the last is the joint operand of the reader.
    Values values{graph_.add_value(name, desc)};
    if (p.layers[0].bias != kNone) values.push_back(graph_.add_value(name + ".bias", desc));
    if (p.layers[0].rotary != kNone) values.push_back(graph_.add_value(name + ".rotary", desc));
    const ValueId operand = values.back();
    Values others(reader.inputs.begin() + parts, reader.inputs.end());
    others.insert(others.begin(), operand);
    Node forward = composite(attention ? Op::joint_attention : Op::joint_swiglu, reader, others, reader.outputs), backward{};
    ValueId gradient = kNoValue;
    if (p.gradient != kNone) {
      const Node& of = node(p.gradient);  // dy, the operands, others
      gradient = graph_.add_value(of.name, desc);
      others = {of.inputs[0], operand};
      others.insert(others.end(), of.inputs.begin() + 1 + parts, of.inputs.end());
      backward = composite(attention ? Op::joint_attention_grad : Op::joint_swiglu_grad, of, others, {gradient});
      if (!has_(graph_, backward)) return;
    }
    if (!has_(graph_, forward)) return;

    const ValueId weights = graph_.add_joint(name + ".weights", inputs(p, &Layer::product, 1));
    join_forward(p, name, weights, values);
    joined_[static_cast<std::size_t>(p.reader)].push_back(std::move(forward));
    replaced_[static_cast<std::size_t>(p.reader)] = true;
    if (p.gradient != kNone) {
      joined_[static_cast<std::size_t>(p.gradient)] = {std::move(backward)};
      replaced_[static_cast<std::size_t>(p.gradient)] = true;
      join_gradients(p, name, gradient, weights);
    }
    for (const Layer& layer : p.layers)
      for (int index :
           {layer.product, layer.bias, layer.rotary, layer.grad_rotary, layer.grad_bias, layer.grad_weight, layer.grad_input})
        if (index != kNone) replaced_[static_cast<std::size_t>(index)] = true;
    for (int add : p.adds) replaced_[static_cast<std::size_t>(add)] = true;
  }

  // Adds the nodes that compute `values`, right before the reader.
  void join_forward(const Pattern& p, const std::string& name, ValueId weights, const Values& values) {
    const Layer& first = p.layers[0];
    auto& before = joined_[static_cast<std::size_t>(p.reader)];
    before.push_back(like(node(first.product), name, {node(first.product).inputs[0], weights}, values[0]));
    if (first.bias != kNone) {
      const ValueId biases = graph_.add_joint(name + ".biases", inputs(p, &Layer::bias, 1));
      before.push_back(like(node(first.bias), name, {values[0], biases}, values[1]));
    }
    if (first.rotary != kNone)
      before.push_back(rotation(p, &Layer::rotary, name + ".rotary", values[values.size() - 2], values.back()));
  }

  void join_gradients(const Pattern& p, const std::string& name, ValueId gradient, ValueId weights) {
    const Layer& first = p.layers[0];
    const ValueId x = node(first.product).inputs[0];
    if (first.rotary != kNone) {
      const ValueId rotated = gradient;
      gradient = graph_.add_value(name + ".rotary.grad", graph_.desc(rotated));
      joined_[static_cast<std::size_t>(p.gradient)].push_back(
          rotation(p, &Layer::grad_rotary, name + ".rotary", rotated, gradient));
    }
    auto& behind = joined_[static_cast<std::size_t>(p.last)];
    if (first.bias != kNone) {
      const ValueId dbiases = graph_.add_joint(name + ".biases.grad", outputs(p, &Layer::grad_bias));
      behind.push_back(like(node(first.grad_bias), name + ".bias_add_grad", {gradient}, dbiases));
    }
    const ValueId dweights = graph_.add_joint(name + ".weights.grad", outputs(p, &Layer::grad_weight));
    behind.push_back(like(node(first.grad_weight), name + ".matmul", {gradient, x}, dweights));
    if (first.grad_input == kNone) return;
    const Node& sum = node(p.adds.back());
    const bool add = p.base != kNoValue;
    const ValueId dx = add ? graph_.add_value(name + ".matmul", graph_.desc(x)) : sum.outputs[0];
    behind.push_back(like(node(first.grad_input), name + ".matmul", {gradient, weights}, dx));
    if (add) behind.push_back(like(sum, sum.name, {p.base, dx}, sum.outputs[0]));
  }

  // One node for the rotations of all layers in one direction.
  Node rotation(const Pattern& p, int Layer::*which, const std::string& name, ValueId from, ValueId to) const {
    const Node& first = node(p.layers[0].*which);
    auto attributes = std::get<RotaryAttributes>(first.attributes);
    attributes.heads = 0;
    for (const Layer& layer : p.layers)
      if (layer.*which != kNone) attributes.heads += std::get<RotaryAttributes>(node(layer.*which).attributes).heads;
    Node joint = like(first, name, {from, first.inputs[1]}, to);
    joint.attributes = attributes;
    return joint;
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
  std::vector<std::vector<Node>> joined_;  // by node: the nodes right after it, or in its place
};

}  // namespace

void join_products(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) { Joiner(graph, has).run(); }

}  // namespace epochbench
