// What the steps of a compiled program's entry move: bytes and launches by op, known without running anything.
#pragma once

#include <cstdint>
#include <vector>

#include "epochbench/backend.h"

namespace epochbench {

struct OpTraffic {
  Op op;
  std::int64_t nodes = 0, launches = 0;  // launches: Backend::launches
  double flops = 0, bytes = 0;           // per step; bytes: every operand of a node once
};
// Most bytes first. Covers all parts of a batch and the update after them.
std::vector<OpTraffic> traffic_by_op(const Program& program, Entry entry, const Backend& backend);

// The sum over the ops with FLOPs (products, convolutions, attention) or over all others; its `op` is meaningless.
OpTraffic traffic_of(const std::vector<OpTraffic>& ops, bool products);

}  // namespace epochbench
