// Bytes and launches by op.
#include "src/workload/traffic.h"

#include <algorithm>
#include <functional>

namespace epochbench {
namespace {

void add(OpTraffic& sum, const OpTraffic& one) {
  sum.nodes += one.nodes;
  sum.launches += one.launches;
  sum.flops += one.flops;
  sum.bytes += one.bytes;
}

}  // namespace

std::vector<OpTraffic> traffic_by_op(const Graph& graph, const Backend& backend) {
  std::vector<OpTraffic> ops;
  for (const Node& node : graph.nodes) {
    auto found = std::ranges::find(ops, node.op, &OpTraffic::op);
    if (found == ops.end()) found = ops.insert(ops.end(), OpTraffic{node.op});
    add(*found, {node.op, 1, backend.launches(graph, node), flops(graph, node), bytes(graph, node)});
  }
  std::ranges::stable_sort(ops, std::ranges::greater{}, &OpTraffic::bytes);
  return ops;
}

OpTraffic traffic_of(const std::vector<OpTraffic>& ops, bool products) {
  OpTraffic sum{};
  for (const OpTraffic& op : ops)
    if ((op.flops > 0) == products) add(sum, op);
  return sum;
}

}  // namespace epochbench
