// The int8 pass. A product with a weight absorbs what follows it up to the next value that others read: bias, batch norm with
// running statistics, shortcut, and relu or gelu in the erf form. Values are passed as codes between products, and through max
// pooling after them.
#include <algorithm>
#include <map>
#include <utility>

#include "src/graph/composer.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

const std::function<bool(const Graph&, const Node&)> kEverything = [](const Graph&, const Node&) { return true; };

class Int8Pass : private Composer {
 public:
  explicit Int8Pass(Graph& forward)
      : Composer(forward, kEverything),
        owner_(forward.nodes.size(), kNone),
        pools_codes_(forward.nodes.size()),
        range_of_(forward.value_count(), kNoValue),
        float_(forward.value_count()),
        new_id_(forward.value_count(), kNoValue),
        codes_(forward.value_count(), kNoValue) {}

  Int8Graphs run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (multiplies_by_weight(node(i))) find_product(i);
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (node(i).op == Op::max_pool) find_pool(i);
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_count()); ++id) choose_form(id);
    return {calibrate(), prepare(), forward()};
  }

 private:
  // A product and the nodes that it absorbs; kNone: none.
  struct Product {
    int product, last;
    int bias = kNone, norm = kNone, add = kNone;
    ValueId shortcut = kNoValue;
    bool relu = false, gelu = false;
  };

  // The readers of a value, once products have absorbed their parts.
  struct Readers {
    bool as_x = false, as_shortcut = false, by_pools = false, otherwise = false;
  };

  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  bool is_variable(ValueId id) const { return graph_.value(id).kind == ValueKind::variable; }
  bool is_part(int index) const { return owner_[at(index)] != kNone; }
  // The product that ends with this node, or null.
  const Product* product_ending(int index) const {
    const auto found = products_.find(index);
    return found == products_.end() ? nullptr : &found->second;
  }

  bool multiplies_by_weight(const Node& node) const {
    if (node.op != Op::conv2d && node.op != Op::matmul) return false;
    if (node.op == Op::matmul) {
      const auto& a = std::get<MatmulAttributes>(node.attributes);
      if (a.transpose_a || !a.transpose_b) return false;
    }
    return is_variable(node.inputs[1]) && !is_variable(node.inputs[0]);
  }

  void find_product(int first) {
    Product found{first, first};
    std::vector<int> parts{first};
    const auto take = [&](Op op, bool of_variables) {
      const ValueId y = node(found.last).outputs[0];
      const int user = only_user(y, op);
      if (user == kNone || is_part(user)) return kNone;
      const auto& inputs = node(user).inputs;
      const auto is_known = [&](ValueId id) { return is_variable(id); };
      if (of_variables && (inputs[0] != y || !std::all_of(inputs.begin() + 1, inputs.end(), is_known))) return kNone;
      parts.push_back(user);
      return found.last = user;
    };
    found.bias = take(Op::bias_add, true);
    found.norm = take(Op::batch_norm_inference, true);
    if (node(first).op == Op::conv2d) {
      const ValueId y = node(found.last).outputs[0];
      found.add = take(Op::add, false);
      if (found.add != kNone) {
        const auto& operands = node(found.add).inputs;
        found.shortcut = operands[0] == y ? operands[1] : operands[0];
      }
    }
    found.relu = take(Op::relu, false) != kNone;
    const int gelu = only_user(node(found.last).outputs[0], Op::gelu);
    if (!found.relu && gelu != kNone && !is_tanh(node(gelu).attributes)) found.gelu = take(Op::gelu, false) != kNone;
    for (int part : parts) owner_[at(part)] = found.last;
    products_.emplace(found.last, found);
  }

  Readers readers(ValueId id) const {
    Readers all;
    for (int user : users(id)) {
      const Product* product = user == kGraphOutput || !is_part(user) ? nullptr : product_ending(owner_[at(user)]);
      if (product != nullptr)
        (user == product->product ? all.as_x : all.as_shortcut) = true;
      else
        (user != kGraphOutput && pools_codes_[at(user)] ? all.by_pools : all.otherwise) = true;
    }
    return all;
  }
  bool ends_product(ValueId id) const { return producer(id) != kNone && product_ending(producer(id)) != nullptr; }

  // A pool works on codes if they come from a product and only products read the result.
  void find_pool(int index) {
    const ValueId x = node(index).inputs[0];
    pools_codes_[at(index)] = true;
    const Readers of_x = readers(x), of_y = readers(node(index).outputs[0]);
    pools_codes_[at(index)] = ends_product(x) && !of_x.otherwise && of_y.as_x && !of_y.by_pools && !of_y.otherwise;
  }

  // Decides whether a value exists as codes, with which range, and as floats.
  void choose_form(ValueId id) {
    if (is_variable(id)) return;
    const Readers all = readers(id);
    const bool only_between = ends_product(id) && !all.otherwise && (all.as_shortcut || all.by_pools);
    if (all.as_x || only_between) range_of_[at(id)] = id;
    if (const int from = producer(id); from != kNone && pools_codes_[at(from)]) range_of_[at(id)] = node(from).inputs[0];
    float_[at(id)] = all.otherwise || (all.as_shortcut && range_of_[at(id)] == kNoValue);
  }

  // Whether a value exists as codes with its own range.
  bool is_observed(ValueId id) const { return range_of_[at(id)] == id; }

  ValueId range(Graph& graph, ValueId id) const {
    return graph.add_variable({graph_.value(range_of_[at(id)]).name + ".range", {{2}, DType::f32}, VariableRole::derived, {}});
  }
  ValueId variable(Graph& graph, ValueId id) const { return graph.add_variable(graph_.variables[at(graph_.value(id).index)]); }

  struct Packed {
    ValueId weights, multiplier, offset;
  };
  Packed packed(Graph& graph, const Product& product) {
    const Node& first = node(product.product);
    const Shape& weight = graph_.desc(first.inputs[1]).shape;
    const auto add = [&](const char* what, TensorDesc desc) {
      return graph.add_variable({first.name + what, std::move(desc), VariableRole::derived, {}});
    };
    const TensorDesc channels{{weight[0]}, DType::f32};
    return {add(".int8", int8_weights_desc(weight)), add(".multiplier", channels), add(".offset", channels)};
  }

  Graph calibrate() {
    Graph graph = graph_;
    std::vector<Node> nodes;
    const auto observe = [&](ValueId id) {
      if (!is_observed(id)) return;
      graph.add_node(Op::observe_range, {}, {id, range(graph, id)}, graph_.value(id).name + ".observe");
      nodes.push_back(std::move(graph.nodes.back()));
      graph.nodes.pop_back();
    };
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_count()); ++id)
      if (graph_.value(id).kind == ValueKind::input) observe(id);
    for (const Node& original : graph_.nodes) {
      nodes.push_back(original);
      for (ValueId id : original.outputs) observe(id);
    }
    graph.nodes = std::move(nodes);
    return graph;
  }

  Graph prepare() {
    Graph graph;
    for (const auto& [last, product] : products_) {
      const Node& first = node(product.product);
      Int8WeightsAttributes a{product.bias != kNone, product.norm != kNone};
      std::vector<ValueId> inputs{variable(graph, first.inputs[1]), range(graph, first.inputs[0])};
      for (int part : {product.bias, product.norm})
        for (std::size_t i = 1; part != kNone && i < node(part).inputs.size(); ++i)
          inputs.push_back(variable(graph, node(part).inputs[i]));
      if (a.batch_norm) a.epsilon = std::get<BatchNormAttributes>(node(product.norm).attributes).epsilon;
      const Packed made = packed(graph, product);
      inputs.insert(inputs.end(), {made.weights, made.multiplier, made.offset});
      graph.add_node(Op::int8_weights, a, std::move(inputs), first.name + ".pack");
    }
    return graph;
  }

  Graph forward() {
    Graph graph;
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_count()); ++id)
      if (graph_.value(id).kind == ValueKind::input) {
        new_id_[at(id)] = graph.add_input(graph_.value(id).name, graph_.desc(id));
        add_codes(graph, id);
      }
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (const Product* product = product_ending(i))
        add_product(graph, *product);
      else if (pools_codes_[at(i)])
        codes_[at(node(i).outputs[0])] =
            graph.add_node(node(i).op, node(i).attributes, {codes_[at(node(i).inputs[0])]}, node(i).name, node(i).ordinal)[0];
      else if (!is_part(i))
        copy(graph, node(i));
      for (ValueId id : node(i).outputs) add_codes(graph, id);
    }
    for (const Output& output : graph_.outputs) graph.add_output(output.name, new_id_[at(output.value)]);
    return graph;
  }

  // Adds the codes of a value that exists as floats.
  void add_codes(Graph& graph, ValueId id) {
    if (range_of_[at(id)] == kNoValue || codes_[at(id)] != kNoValue || new_id_[at(id)] == kNoValue) return;
    codes_[at(id)] =
        graph.add_node(Op::quantize, {}, {new_id_[at(id)], range(graph, id)}, graph_.value(id).name + ".quantize")[0];
  }

  void copy(Graph& graph, const Node& original) {
    std::vector<ValueId> inputs;
    for (ValueId id : original.inputs) inputs.push_back(is_variable(id) ? variable(graph, id) : new_id_[at(id)]);
    const auto outputs = graph.add_node(original.op, original.attributes, std::move(inputs), original.name, original.ordinal);
    for (std::size_t i = 0; i < outputs.size(); ++i) new_id_[at(original.outputs[i])] = outputs[i];
  }

  void add_product(Graph& graph, const Product& product) {
    const Node& first = node(product.product);
    const ValueId x = first.inputs[0], y = node(product.last).outputs[0];
    const Shape& weight = graph_.desc(first.inputs[1]).shape;
    Int8ProductAttributes a{.relu = product.relu, .gelu = product.gelu};
    if (first.op == Op::conv2d) {
      a.conv2d = std::get<Conv2dAttributes>(first.attributes);
      a.conv2d.height = weight[1];
      a.conv2d.width = weight[2];
    }
    const Packed operands = packed(graph, product);
    std::vector<ValueId> inputs{codes_[at(x)], operands.weights, operands.multiplier, operands.offset, range(graph, x)};
    a.shortcut = product.shortcut != kNoValue;
    a.shortcut_codes = a.shortcut && range_of_[at(product.shortcut)] != kNoValue;
    if (a.shortcut) inputs.push_back(a.shortcut_codes ? codes_[at(product.shortcut)] : new_id_[at(product.shortcut)]);
    if (a.shortcut_codes) inputs.push_back(range(graph, product.shortcut));
    a.codes = range_of_[at(y)] != kNoValue && !float_[at(y)];
    if (a.codes) inputs.push_back(range(graph, y));
    const Op op = first.op == Op::conv2d ? Op::conv2d_int8 : Op::linear_int8;
    const ValueId made = graph.add_node(op, a, std::move(inputs), first.name, first.ordinal)[0];
    (a.codes ? codes_ : new_id_)[at(y)] = made;
  }

  std::map<int, Product> products_;      // by their last node
  std::vector<int> owner_;               // by node: the last node of the product that it is part of, or kNone
  std::vector<bool> pools_codes_;        // by node
  std::vector<ValueId> range_of_;        // by value: the value whose range its codes have; kNoValue: no codes
  std::vector<bool> float_;              // by value: whether it exists as floats
  std::vector<ValueId> new_id_, codes_;  // by value: its counterpart in the new graph, as floats and as codes
};

}  // namespace

Int8Graphs with_int8(const Graph& forward) {
  Graph graph = forward;
  return Int8Pass(graph).run();
}

}  // namespace epochbench
