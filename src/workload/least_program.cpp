#include "src/workload/least_program.h"

#include <algorithm>

#include "src/backend/host/kernel_shapes.h"

namespace epochbench {
namespace {

// Has every op and composite, and needs no scratch.
class AnyDevice final : public Backend {
 public:
  DeviceInfo device() const override { return {"any", "any device", 0, ""}; }
  std::optional<std::string> unsupported(const Graph&, const Node&) const override { return std::nullopt; }
  std::size_t workspace_bytes(const Graph&, const Node&) const override { return 0; }
  std::unique_ptr<Executable> compile(const Program&) const override {
    throw DeviceError("what plans for any device cannot compile: use make_backend()");
  }
};

bool may_be_transformed(const Graph& graph, const Node& node) {
  if (!node.parts.empty())
    return std::ranges::any_of(node.parts, [&](const Node& part) { return may_be_transformed(graph, part); });
  if (node.op != Op::conv2d && node.op != Op::conv2d_grad_input) return false;
  if (graph.desc(node.inputs[0]).dtype != DType::f32) return false;
  const Conv2dShape shape = conv2d_shape(graph, node);
  return shape.kernel_height == 3 && shape.kernel_width == 3 && shape.stride == 1;
}

}  // namespace

std::int64_t least_memory_bytes(const WorkloadSpec& workload, Mode mode, Precision precision) {
  return memory(make_program(workload, AnyDevice(), entries_of_mode(mode), precision)).total();
}

std::vector<NodeWork> least_work(const WorkloadSpec& workload, Mode mode, Precision precision) {
  const Entry entry = entries_of_mode(mode).front();
  const Program program = make_program(workload, AnyDevice(), {entry}, precision);
  const Graph& graph = program.entry(entry)->graph;
  std::vector<NodeWork> work;
  for (const Node& node : graph.nodes)
    work.push_back({flops(graph, node), bytes(graph, node), may_be_transformed(graph, node)});
  return work;
}

}  // namespace epochbench
