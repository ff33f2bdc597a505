// The least that a program needs on any device: memory, and the FLOPs and bytes of each node of a step in which every group of
// nodes that can be fused is fused. The same in every build, with or without CUDA.
#pragma once

#include <cstdint>
#include <vector>

#include "epochbench/work_class.h"
#include "src/workload/workload.h"

namespace epochbench {

struct NodeWork {
  WorkClass work_class = WorkClass::pass;
  double flops = 0, bytes = 0;  // bytes: every operand once
  // A 3x3 convolution of floats at stride 1, or its gradient with respect to the input.
  bool winograd = false;
};

// The workspace that the CUDA backend gives to libraries (kernels/cuda/libraries/libraries.h), as its own plans count it.
inline constexpr std::size_t kLibraryProductBytes = std::size_t{64} << 20, kLibraryConvolutionBytes = std::size_t{256} << 20;

// Parameters, gradients, optimizer, activations and staged batches; on a GPU also the workspace of libraries. Errors:
// GraphError.
std::int64_t min_memory_bytes(const WorkloadSpec& workload, Mode mode, Precision precision, bool on_gpu);

// One step of training, or forward. Errors: GraphError.
std::vector<NodeWork> min_work(const WorkloadSpec& workload, Mode mode, Precision precision);

}  // namespace epochbench
