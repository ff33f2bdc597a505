#include "src/workload/lower_bound.h"

#include <algorithm>

#include "src/backend/host/kernel_shapes.h"

namespace epochbench {
namespace {

WorkClass class_of(const Node& node) {
  WorkClass found = WorkClass::pass;
  for (const Node& part : node.parts)
    if (found == WorkClass::pass) found = class_of(part);
  if (!node.parts.empty()) return found;
  switch (node.op) {
    case Op::matmul:
    case Op::linear_int8:
    case Op::attention:
    case Op::attention_grad:
    case Op::joint_attention:
    case Op::joint_attention_grad:
      return WorkClass::product;
    case Op::conv2d:
    case Op::conv2d_int8:
    case Op::conv2d_grad_input:
    case Op::conv2d_grad_weight:
      return WorkClass::convolution;
    case Op::depthwise_conv2d:
    case Op::depthwise_conv2d_grad_input:
    case Op::depthwise_conv2d_grad_weight:
      return WorkClass::depthwise;
    case Op::lstm:
    case Op::lstm_grad:
      return WorkClass::recurrent;
    default:
      return WorkClass::pass;
  }
}

// Has every op and every composite except squeeze_excite_grad, whose parts were run in the published steps that expected times
// are fitted to; a GPU has libraries, which need workspace.
class AnyDevice final : public Backend {
 public:
  explicit AnyDevice(bool on_gpu) : on_gpu_(on_gpu) {}

  DeviceInfo device() const override { return {"any device", 0, ""}; }
  std::optional<std::string> unsupported(const Graph&, const Node& node) const override {
    return node.op == Op::squeeze_excite_grad ? std::optional<std::string>("run in parts") : std::nullopt;
  }
  std::size_t workspace_bytes(const Graph&, const Node& node) const override {
    if (!on_gpu_) return 0;
    switch (class_of(node)) {
      case WorkClass::convolution:
        return kLibraryConvolutionBytes;
      case WorkClass::product:
      case WorkClass::recurrent:
        return kLibraryProductBytes;
      case WorkClass::depthwise:
      case WorkClass::pass:
        break;
    }
    return 0;
  }
  std::unique_ptr<Executable> compile(const Program&) const override {
    throw DeviceError("what plans for any device cannot compile: use make_backend()");
  }

 private:
  bool on_gpu_;
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

std::int64_t min_memory_bytes(const WorkloadSpec& workload, Mode mode, Precision precision, bool on_gpu) {
  return memory(make_program(workload, AnyDevice(on_gpu), entries_of_mode(mode), precision)).total();
}

std::vector<NodeWork> min_work(const WorkloadSpec& workload, Mode mode, Precision precision) {
  const Entry entry = entries_of_mode(mode).front();
  const Program program = make_program(workload, AnyDevice(false), {entry}, precision);
  std::vector<NodeWork> work;
  const auto add = [&](const Graph& graph) {
    for (const Node& node : graph.nodes)
      work.push_back({class_of(node), flops(graph, node), bytes(graph, node), may_be_transformed(graph, node)});
  };
  for (std::int64_t part = 0; part < program.parts; ++part) add(program.entry(entry)->graph);
  if (const EntryGraph* update = program.entry(Entry::update)) add(update->graph);
  return work;
}

}  // namespace epochbench
