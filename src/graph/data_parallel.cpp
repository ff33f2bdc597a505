// The pass of data parallelism: ranks that train on parts of one batch sum their gradients before each of them updates its
// weights. It knows no communicator, and does not overlap communication with computation: a backend may.
#include <algorithm>

#include "src/graph/passes.h"

namespace epochbench {

void all_reduce_sums(Graph& update, const Graph& part, std::int64_t bucket_bytes) {
  const auto updates = static_cast<std::ptrdiff_t>(update.nodes.size());
  std::vector<ValueId> bucket;
  std::int64_t bytes = 0, buckets = 0;
  const auto close = [&] {
    if (bucket.empty()) return;
    update.add_node(Op::all_reduce, {}, std::move(bucket), "bucket." + std::to_string(buckets++));
    bucket.clear();
    bytes = 0;
  };
  for (const Node& node : part.nodes) {
    if (node.op != Op::accumulate) continue;
    const Value& sum = part.value(node.inputs[1]);
    bucket.push_back(update.add_variable(part.variables[static_cast<std::size_t>(sum.index)]));
    bytes += static_cast<std::int64_t>(sum.desc.bytes());
    if (bytes >= bucket_bytes) close();
  }
  close();
  std::rotate(update.nodes.begin(), update.nodes.begin() + updates, update.nodes.end());
}

}  // namespace epochbench
