// What a program needs on any device, at the least: memory without any library's scratch, and the FLOPs and bytes of each node
// of a step where every group of nodes that can be fused is. The same in every build, with CUDA or without.
#pragma once

#include <cstdint>
#include <vector>

#include "src/workload/workload.h"

namespace epochbench {

struct NodeWork {
  double flops = 0, bytes = 0;  // bytes: every operand once
  // A convolution of 3x3 windows at stride 1 over floats, or its gradient by the input.
  bool winograd = false;
};

// Parameters, gradients, optimizer, activations and staged batches. Errors: GraphError.
std::int64_t least_memory_bytes(const WorkloadSpec& workload, Mode mode, Precision precision);

// One step of training, or forward. Errors: GraphError.
std::vector<NodeWork> least_work(const WorkloadSpec& workload, Mode mode, Precision precision);

}  // namespace epochbench
