// Maps the nodes of int8 inference to the CPU kernels that run them.
#pragma once

#include <string>

#include "kernels/cpu/int8_kernels.h"
#include "src/backend/cpu/cpu_nodes.h"
#include "src/backend/host/int8_steps.h"

namespace epochbench {

class CpuInt8Nodes {
 public:
  CpuInt8Nodes(const cpu::Int8Kernels& kernels, int threads) : k_(&kernels), threads_(threads) {}

  const char* isa() const { return k_->isa; }
  std::size_t workspace_bytes(const Graph& graph, const Node& node) const {
    const bool product = node.op == Op::linear_int8 || node.op == Op::conv2d_int8;
    return product ? k_->int8_product_workspace_bytes(int8_product_shape(graph, node), threads_) : 0;
  }
  CompiledNode compile(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace) const {
    const NodeOperands<float> o{&memory, node.inputs, node.outputs};
    return {int8_step(graph, node, *k_, o, cpu_step_maker(workspace, threads_)), std::string(k_->isa) + " " + name(node.op)};
  }

 private:
  const cpu::Int8Kernels* k_;
  int threads_;
};

}  // namespace epochbench
