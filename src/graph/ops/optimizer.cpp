// SGD with momentum and AdamW, each one node over all parameters, and the step counter.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

// Positions of what each parameter's group updates: `first` inputs come before the groups of `size`, whose second is the
// gradient.
std::vector<int> updated(const Node& node, int first, int size) {
  std::vector<int> positions;
  for (int group = first; group + size <= static_cast<int>(node.inputs.size()); group += size) {
    positions.push_back(group);
    for (int i = 2; i < size; ++i) positions.push_back(group + i);
  }
  return positions;
}

void check_groups(const Graph& graph, const Node& node, int first, int size) {
  const int count = static_cast<int>(node.inputs.size()) - first;
  require(count >= size && count % size == 0, "incomplete group of a parameter");
  for (int group = first; group < first + count; group += size)
    for (int i = 1; i < size; ++i)
      require(input(graph, node, group) == input(graph, node, group + i),
              "a parameter and its gradient or state differ in shape");
  require(input(graph, node, 0) == TensorDesc{{1}, DType::f32}, "the learning rate must be f32 [1]");
}

std::vector<TensorDesc> infer_sgd(const Graph& graph, const Node& node) {
  check_groups(graph, node, 1, 3);
  return {};
}
std::vector<int> updated_sgd(const Node& node) { return updated(node, 1, 3); }

std::vector<TensorDesc> infer_adamw(const Graph& graph, const Node& node) {
  check_groups(graph, node, 2, 4);
  require(input(graph, node, 1) == TensorDesc{{1}, DType::i32}, "the step must be i32 [1]");
  require(std::get<AdamwAttributes>(node.attributes).weight_decay.size() == (node.inputs.size() - 2) / 4,
          "one weight decay a parameter");
  return {};
}
std::vector<int> updated_adamw(const Node& node) { return updated(node, 2, 4); }

std::vector<TensorDesc> infer_increment(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == TensorDesc{{1}, DType::i32}, "the counter must be i32 [1]");
  return {};
}
std::vector<int> updated_counter(const Node&) { return {0}; }

}  // namespace

const OpRule kSgdRule{.infer = infer_sgd, .updated_inputs = updated_sgd};
const OpRule kAdamwRule{.infer = infer_adamw, .updated_inputs = updated_adamw};
const OpRule kIncrementRule{.infer = infer_increment, .updated_inputs = updated_counter};

}  // namespace epochbench
