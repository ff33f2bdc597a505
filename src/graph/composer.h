// Base of the passes that replace groups of nodes by composites: knows which nodes compute and read each value.
#pragma once

#include <functional>
#include <vector>

#include "epochbench/graph.h"

namespace epochbench {

class Composer {
 public:
  // `has`: whether the backend supports a composite.
  Composer(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has);

 protected:
  static constexpr int kGraphOutput = -1;  // the reader of the graph's outputs
  static constexpr int kNone = -1;

  Node& node(int index) { return graph_.nodes[static_cast<std::size_t>(index)]; }
  bool is_gone(int index) const { return gone_[static_cast<std::size_t>(index)]; }  // part of another node's composite
  const std::vector<int>& users(ValueId value) const { return users_[static_cast<std::size_t>(value)]; }
  int producer(ValueId value) const { return producer_[static_cast<std::size_t>(value)]; }  // kNone: an input or a variable
  void set_producer(ValueId value, int index) { producer_[static_cast<std::size_t>(value)] = index; }

  // The only reader of `value`, if it has this op and reads the value once; otherwise kNone.
  int only_user(ValueId value, Op op);
  // The node with this op that computes `value`, or kNone.
  int producer_of(ValueId value, Op op);

  // Replaces node `at` by `composite` if the backend supports it, and removes the other parts. The composite gets the first
  // part's name and ordinal.
  bool replace(int at, const std::vector<int>& parts, Node composite);
  void remove_parts();  // of the composites; indices change

  Graph& graph_;
  const std::function<bool(const Graph&, const Node&)>& has_;

 private:
  std::vector<std::vector<int>> users_;  // by value: indices of the nodes that read it
  std::vector<int> producer_;            // by value: index of the node that computes it
  std::vector<bool> gone_;
};

}  // namespace epochbench
