// Bytes and launches by op.
#include "src/workload/traffic.h"

#include <algorithm>

namespace epochbench {
namespace {

void add(OpTraffic& sum, const OpTraffic& one) {
  sum.nodes += one.nodes;
  sum.launches += one.launches;
  sum.flops += one.flops;
  sum.bytes += one.bytes;
}

}  // namespace

std::vector<OpTraffic> traffic_by_op(const Program& program, Entry entry, const Backend& backend) {
  std::vector<OpTraffic> ops;
  const auto add_graph = [&](const Graph& graph, std::int64_t times) {
    const auto count = static_cast<double>(times);
    for (const Node& node : graph.nodes) {
      auto found = std::ranges::find(ops, node.op, &OpTraffic::op);
      if (found == ops.end()) found = ops.insert(ops.end(), OpTraffic{node.op});
      add(*found,
          {node.op, times, times * backend.launches(graph, node), count * flops(graph, node), count * bytes(graph, node)});
    }
  };
  add_graph(program.entry(entry)->graph, entry == Entry::train ? program.parts : 1);
  if (const EntryGraph* update = program.entry(Entry::update); update && entry == Entry::train) add_graph(update->graph, 1);
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
