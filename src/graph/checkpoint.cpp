// The pass that drops activations and recomputes them in the backward pass (Chen et al. 2016, "Training Deep Nets with
// Sublinear Memory Cost"). The forward nodes are divided into blocks, and only what later blocks read is kept.
//
// It runs after fusion and repeats nodes as they are, so recomputed values are bit-identical.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "src/graph/op_rule.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

constexpr int kNoNode = -1;

std::size_t position(int index) { return static_cast<std::size_t>(index); }

// Makes running statistics stay as they are: running <- 1 running + 0 batch.
void keep_statistics(Attributes& attributes) {
  if (auto* norm = std::get_if<BatchNormAttributes>(&attributes)) norm->momentum = 0;
  if (auto* norm = std::get_if<BatchNormReluAttributes>(&attributes)) norm->batch_norm.momentum = 0;
}

// Properties of each forward node and value, and the choice of blocks.
class Blocks {
 public:
  explicit Blocks(const Graph& graph)
      : graph_(graph),
        root_(graph.value_count()),
        producer_(graph.value_count(), kNoNode),
        last_reader_(graph.value_count(), kNoNode),
        read_later_(graph.value_count()) {
    const auto loss = std::ranges::find(graph.nodes, Op::cross_entropy, &Node::op);
    forward_ = loss == graph.nodes.end() ? 0 : static_cast<int>(loss - graph.nodes.begin()) + 1;
    std::iota(root_.begin(), root_.end(), 0);
    for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) visit(i);
  }

  int forward() const { return forward_; }  // number of forward nodes
  bool read_later(ValueId id) const { return read_later_[position(id)]; }
  bool is_dropped_kind(ValueId id) const { return producer_[position(id)] != kNoNode; }
  int producer(ValueId id) const { return producer_[position(id)]; }  // kNoNode: not a forward node's, or always kept

  // The values that are kept if a block ends with node `end`: those that later forward nodes read, and the results of that node
  // that the backward pass reads, so it need not run again.
  std::vector<ValueId> kept(int end) const {
    std::vector<ValueId> ids;
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_count()); ++id)
      if (producer_[position(id)] != kNoNode && producer_[position(id)] <= end &&
          (last_reader_[position(id)] > end || (producer_[position(id)] == end && read_later_[position(id)])))
        ids.push_back(id);
    return ids;
  }

  // The last nodes of all blocks but the last, chosen to minimize the kept values plus the largest block. Empty: nothing is
  // gained.
  std::vector<int> ends() const {
    const int last = forward_ - 1;
    std::vector<double> before(position(forward_) + 1), kept_bytes;  // before[i]: bytes saved by the nodes before i
    for (int i = 0; i < forward_; ++i) before[position(i) + 1] = before[position(i)] + saved_bytes(i);
    for (int i = 0; i < last; ++i) kept_bytes.push_back(may_end(i) ? bytes_of(kept(i)) : kForbidden);
    const double whole = before.back();
    std::vector<int> best;
    double least = whole;
    constexpr double kFiner = 0.85;
    for (double limit = whole * kFiner; limit > whole / 1000; limit *= kFiner) {
      const auto [bytes, ends] = divided(before, kept_bytes, limit);
      if (bytes + limit < least) {
        least = bytes + limit;
        best = ends;
      }
    }
    return best;
  }

 private:
  static constexpr double kForbidden = std::numeric_limits<double>::infinity();

  void visit(int index) {
    const Node& node = graph_.nodes[position(index)];
    for (ValueId id : node.inputs) {
      if (index < forward_)
        last_reader_[position(id)] = index;
      else
        read_later_[position(id)] = true;
    }
    if (index >= forward_) return;
    if (rule(node.op).view) root_[position(node.outputs[0])] = root_[position(node.inputs[0])];
    if (node.op == Op::matmul_add) sums_.emplace_back(producer_[position(node.inputs[2])], index);
    // These depend on inputs or weights alone; both passes read their results, and they run once.
    if (node.op == Op::cast || node.op == Op::decode_pixels || node.op == Op::mix_rows) return;
    for (ValueId id : node.outputs)
      if (graph_.value(id).kind == ValueKind::intermediate) producer_[position(id)] = index;
  }

  // A sum overwrites its operand, which therefore cannot be kept for a later block.
  bool may_end(int index) const {
    return std::ranges::none_of(sums_, [&](const auto& sum) { return sum.first <= index && index < sum.second; });
  }

  double bytes_of(const std::vector<ValueId>& ids) const {
    std::set<ValueId> roots;
    for (ValueId id : ids) roots.insert(root_[position(id)]);
    double sum = 0;
    for (ValueId id : roots) sum += static_cast<double>(graph_.desc(id).bytes());
    return sum;
  }

  // The bytes of a node's results that the backward pass reads.
  double saved_bytes(int index) const {
    std::vector<ValueId> ids;
    for (ValueId id : graph_.nodes[position(index)].outputs)
      if (producer_[position(id)] == index && root_[position(id)] == id && is_saved(id)) ids.push_back(id);
    return bytes_of(ids);
  }
  bool is_saved(ValueId root) const {
    for (ValueId id = root; id < static_cast<ValueId>(graph_.value_count()); ++id)
      if (root_[position(id)] == root && read_later_[position(id)]) return true;
    return false;
  }

  // The fewest bytes that are kept if no block saves more than `limit`, and the ends of those blocks.
  std::pair<double, std::vector<int>> divided(const std::vector<double>& before, const std::vector<double>& kept_bytes,
                                              double limit) const {
    std::vector<double> least(position(forward_) + 1, kForbidden);  // by the number of nodes in the blocks so far
    std::vector<int> previous(position(forward_) + 1, 0);
    least[0] = 0;
    for (int end = 1; end <= forward_; ++end) {
      for (int begin = end - 1; begin >= 0 && before[position(end)] - before[position(begin)] <= limit; --begin)
        if (least[position(begin)] < least[position(end)]) {
          least[position(end)] = least[position(begin)];
          previous[position(end)] = begin;
        }
      if (end < forward_) least[position(end)] += kept_bytes[position(end - 1)];
    }
    std::vector<int> ends;
    if (least.back() < kForbidden)
      for (int begin = previous.back(); begin > 0; begin = previous[position(begin)]) ends.insert(ends.begin(), begin - 1);
    return {least.back(), ends};
  }

  const Graph& graph_;
  int forward_ = 0;
  std::vector<ValueId> root_;              // the value that a view refers to
  std::vector<int> producer_;              // by value
  std::vector<int> last_reader_;           // by value: the last forward node
  std::vector<bool> read_later_;           // by value: by a node of the backward pass
  std::vector<std::pair<int, int>> sums_;  // matmul_add: the node that computes its third operand, and itself
};

class Recomputer {
 public:
  Recomputer(Graph& graph, const Blocks& blocks, const std::vector<int>& ends) : graph_(graph), blocks_(blocks), ends_(ends) {
    for (int end : ends)
      for (ValueId id : blocks.kept(end)) kept_.insert(id);
  }

  void run() {
    std::set<ValueId> read_before;
    for (const Node& node : graph_.nodes) read_before.insert(node.inputs.begin(), node.inputs.end());
    std::vector<std::vector<Node>> repeated;  // by block
    int begin = 0;
    for (int end : ends_) {
      repeated.push_back(repeat(begin, end));
      begin = end + 1;
    }
    place(repeated);
    give_memory_to_unread(read_before);
  }

 private:
  bool is_dropped(ValueId id) const { return blocks_.is_dropped_kind(id) && !kept_.contains(id); }

  // Copies of the block's nodes that compute what the backward pass reads, in order, with new values.
  std::vector<Node> repeat(int begin, int end) {
    std::set<ValueId> needed;
    std::vector<int> chosen;
    for (int i = end; i >= begin; --i) {
      const Node& node = graph_.nodes[position(i)];
      const bool wanted = std::ranges::any_of(
          node.outputs, [&](ValueId id) { return is_dropped(id) && (blocks_.read_later(id) || needed.contains(id)); });
      if (!wanted) continue;
      chosen.insert(chosen.begin(), i);
      needed.insert(node.inputs.begin(), node.inputs.end());
    }
    std::vector<Node> nodes;
    for (int i : chosen) {
      Node node = graph_.nodes[position(i)];
      for (ValueId id : node.outputs)
        if (graph_.value(id).kind == ValueKind::intermediate) {
          const ValueId again = graph_.add_value(graph_.value(id).name + kAgain, graph_.desc(id));
          made_again_[id] = again;
        }
      node.name += kAgain;
      rename(node);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  // Gives new values to a repeated node and to the parts of a composite.
  void rename(Node& node) const {
    keep_statistics(node.attributes);
    replace(node.inputs, true);
    replace(node.outputs, false);
    for (Node& part : node.parts) rename(part);
  }
  // only_dropped: kept values are not replaced.
  void replace(std::vector<ValueId>& operands, bool only_dropped) const {
    for (ValueId& id : operands)
      if (const auto again = made_again_.find(id); again != made_again_.end() && (!only_dropped || is_dropped(id)))
        id = again->second;
  }
  void read_again(Node& node) const {
    replace(node.inputs, true);
    for (Node& part : node.parts) read_again(part);
  }

  // Places each block's nodes right before the first node of the backward pass that reads one of their results.
  void place(std::vector<std::vector<Node>>& repeated) {
    std::map<ValueId, std::size_t> block_of;  // by recomputed value
    for (std::size_t block = 0; block < repeated.size(); ++block)
      for (const Node& node : repeated[block])
        for (ValueId id : node.outputs) block_of[id] = block;
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      if (static_cast<int>(i) >= blocks_.forward()) {
        read_again(node);
        for (ValueId id : node.inputs)
          if (const auto found = block_of.find(id);
              found != block_of.end() && graph_.value(id).kind == ValueKind::intermediate) {
            std::ranges::move(repeated[found->second], std::back_inserter(nodes));
            repeated[found->second].clear();
          }
      }
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
  }

  // A value that has lost all its readers still needs memory while its node writes it.
  void give_memory_to_unread(const std::set<ValueId>& read_before) {
    std::set<ValueId> read;
    for (const Node& node : graph_.nodes) read.insert(node.inputs.begin(), node.inputs.end());
    for (ValueId id : read_before) {
      const auto again = made_again_.find(id);
      for (ValueId written : {id, again == made_again_.end() ? id : again->second})
        if (graph_.value(written).kind == ValueKind::intermediate && !read.contains(written)) graph_.unread.push_back(written);
    }
  }

  static constexpr const char* kAgain = ".recomputed";

  Graph& graph_;
  const Blocks& blocks_;
  const std::vector<int>& ends_;
  std::set<ValueId> kept_;
  std::map<ValueId, ValueId> made_again_;
};

}  // namespace

bool checkpoint_blocks(Graph& graph) {
  const Blocks blocks(graph);
  const std::vector<int> ends = blocks.ends();
  if (ends.empty()) return false;
  Recomputer(graph, blocks, ends).run();
  return true;
}

}  // namespace epochbench
