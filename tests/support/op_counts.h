// How often each op occurs in a graph.
#pragma once

#include <map>

#include "epochbench/graph.h"

namespace epochbench::test {

inline std::map<Op, int> count_ops(const Graph& graph) {
  std::map<Op, int> counts;
  for (const Node& node : graph.nodes) ++counts[node.op];
  return counts;
}

}  // namespace epochbench::test
