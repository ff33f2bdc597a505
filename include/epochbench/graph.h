// A graph: values and a flat, ordered list of nodes. It does not depend on a backend and holds no data.
//
// Variables (parameters, statistics, optimizer state, counters) outlive a step. A node that lists a variable among its
// outputs updates it in place, and such updates happen in the order of the list. All other values are written once.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "epochbench/op.h"
#include "epochbench/tensor.h"

namespace epochbench {

class GraphError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class VariableRole : std::uint8_t {
  parameter,  // trained
  statistic,  // running mean and variance
  optimizer,  // momentum, moments
  control,    // learning rate, step number
  gradient,   // sum over the parts of a batch
  derived,    // computed by a program: ranges of activations, packed weights, 16-bit copies
};

struct Initializer {
  enum class Kind : std::uint8_t { constant, uniform, normal, values };
  Kind kind = Kind::constant;
  double scale = 0;                // the constant, the bound of uniform(-scale, scale), or the deviation of normal(0, scale)
  std::vector<float> values = {};  // of kind `values`: all elements
};

// The layout of a variable in weight files. Empty: the tensor has the variable's name, shape and order.
struct FileLayout {
  // [n, height, width, channels], if the tensor's elements are in the order [n, channels, height, width].
  Shape channels_last = {};
  Shape shape = {};  // of the tensor, if it differs
  // For a part: its tensor, whose shape must be given too, and the part's first row before transposition. All parts of a tensor
  // follow one another in the graph, in row order.
  std::string tensor = {};
  std::int64_t first_row = 0;
  bool transposed = false;  // for a matrix: the tensor [columns, rows] is the transpose of all parts together
  bool operator==(const FileLayout&) const = default;
};

struct Variable {
  std::string name;  // torchvision's or Hugging Face's name for parameters and statistics
  TensorDesc desc;
  VariableRole role = VariableRole::parameter;
  Initializer initializer;
  FileLayout file_layout = {};
};

enum class ValueKind : std::uint8_t { input, variable, intermediate };

struct Value {
  std::string name;
  TensorDesc desc;
  ValueKind kind = ValueKind::intermediate;
  int index = -1;                     // into Graph::inputs or Graph::variables
  std::vector<ValueId> members = {};  // of a joint value (Graph::add_joint)
  ValueId joint = kNoValue;           // the joint value that this one is a member of
};

struct Node {
  Op op;
  Attributes attributes;
  std::vector<ValueId> inputs, outputs;
  int ordinal = -1;         // of the forward node it derives from: keys its random numbers, and groups it in a profile
  std::string name;         // "layer1.0.conv1", for messages and profiles
  std::vector<Node> parts;  // of a composite: the nodes that it replaces, whose rules count its FLOPs
};

struct Output {
  std::string name;  // "logits", "loss", "correct"
  ValueId value;
};

class Graph {
 public:
  // Errors: GraphError with the op, the shapes and the node's name.
  ValueId add_input(std::string name, TensorDesc desc);
  void set_input_type(ValueId input, DType dtype);  // for a pass that gives its readers another value
  ValueId add_variable(Variable variable);          // an existing name returns that value; the descriptions must agree
  // Infers the output shapes with the op's rule, appends the node, and returns its outputs.
  std::vector<ValueId> add_node(Op op, Attributes attributes, std::vector<ValueId> inputs, std::string name, int ordinal = -1);
  ValueId add_value(std::string name, TensorDesc desc);  // for a pass whose node computes it
  // A joint value: its members are adjacent in memory, stacked along the first extent in this order, so a node that reads or
  // writes it reads or writes them all. They must be distinct, all variables or all intermediates, of one type, with the same
  // other extents, not in another joint value, and multiples of kTensorAlignment bytes. Errors: GraphError if they are not.
  bool may_join(const std::vector<ValueId>& members) const;
  ValueId add_joint(std::string name, const std::vector<ValueId>& members);
  void add_output(std::string name, ValueId value);

  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  const TensorDesc& desc(ValueId id) const { return value(id).desc; }
  std::size_t value_count() const { return values_.size(); }
  ValueId input(std::string_view name) const;   // kNoValue if there is none
  ValueId output(std::string_view name) const;  // likewise

  std::vector<Node> nodes;
  std::vector<Value> inputs;  // in the order of the executable's stage()
  std::vector<Variable> variables;
  std::vector<Output> outputs;
  std::vector<ValueId> unread;  // values that no node reads, but that need memory while their node writes them

 private:
  std::vector<Value> values_;
  std::unordered_map<std::string, ValueId> variable_ids_;
};

// Positions of the inputs of an sgd or adamw node: single inputs, one group per parameter (weight, gradient, state), copies.
struct OptimizerLayout {
  static constexpr int kWeight = 0, kGradient = 1, kState = 2;                                    // in a group
  int learning_rate = 0, step = -1, loss_scale = -1, finite = -1, skipped_steps = -1, clip = -1;  // -1: absent
  int first = 0, group = 0;  // first: position of the first group
  int parameters = 0;
  std::int64_t ranks = 1;
  int copies = 0;  // position of the first; the end of the inputs if there are none
};
OptimizerLayout optimizer_layout(const Node& node);
// The largest share of a tensor that one of these ranks owns: that of rank 0 (share_of in communicator.h).
TensorDesc largest_share(const TensorDesc& tensor, std::int64_t ranks);

// The positions of the operands of linear_int8 and conv2d_int8; 0: absent.
struct Int8Operands {
  static constexpr std::size_t kX = 0, kWeights = 1, kMultiplier = 2, kOffset = 3, kRangeOfX = 4;
  std::size_t shortcut = 0, shortcut_range = 0, range = 0, count = 5;

  explicit Int8Operands(const Int8ProductAttributes& a) {
    if (a.shortcut) shortcut = count++;
    if (a.shortcut_codes) shortcut_range = count++;
    if (a.codes) range = count++;
  }
};
TensorDesc int8_weights_desc(const Shape& weight);  // of the packed copy of a weight [k,c] or [k,r,s,c]

// The position of what matmul, linear, conv2d or conv2d_bias multiplies by: its packed weight if there is one, else 1.
std::size_t weight_operand(const Node& node);

// Positions of the inputs of cross_entropy and its gradient after logits and labels; 0: absent. loss_scale: only of the
// gradient.
struct CrossEntropyOperands {
  std::size_t log_sum_exp = 0, share = 0, loss_scale = 0;
};
CrossEntropyOperands cross_entropy_operands(const Node& node);

double flops(const Graph& graph, const Node& node);  // a multiply-add counts as 2; matrix products and convolutions only
double flops(const Graph& graph);                    // of all nodes
double bytes(const Graph& graph, const Node& node);  // every operand once; for a table, the rows in use

// Hash (32 hexadecimal digits) of the forward graph before any pass, together with `suffix` (optimizer, batch).
std::string fingerprint(const Graph& forward, std::string_view suffix);

}  // namespace epochbench
