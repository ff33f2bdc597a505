// Long short-term memory on a CUDA device: at each step a library product and our own kernel, which a graph captures. The
// product reads a copy of the state with dense rows, so that one plan, of one alignment, serves all steps.
#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

bool is_gradient(const Node& node) { return node.op == Op::lstm_grad; }

// The product of h and the weights, or of the gates' gradients and the weights; sums are float, as they are added before
// rounding.
cuda::ProductSpec spec_of(const Graph& graph, const Node& node) {
  const LstmShape s = lstm_shape(graph, node);
  cuda::ProductSpec spec;
  spec.shape = is_gradient(node) ? GemmShape{s.batch, s.units, 4 * s.units, false, false}
                                 : GemmShape{s.batch, 4 * s.units, s.units, false, true};
  spec.element = element_of(graph.desc(node.inputs[0]).dtype);
  spec.out = Element::f32;
  spec.math = math_of(node);
  return spec;
}

struct Scratch {
  void *workspace, *state;  // of the product; [batch, k]
  float *sums, *cell;       // [batch, n], [batch, units]
  std::size_t bytes;
};
Scratch scratch_of(const Graph& graph, const Node& node, void* memory) {
  const cuda::ProductSpec spec = spec_of(graph, node);
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
  ScratchPieces pieces(memory);
  Scratch scratch{};
  scratch.workspace = pieces.take(cuda::kProductWorkspaceBytes);
  scratch.state = pieces.take(static_cast<std::size_t>(m * k) * element_bytes(spec.element));
  scratch.sums = pieces.take<float>(static_cast<std::size_t>(m * n) * sizeof(float));
  scratch.cell = pieces.take<float>(static_cast<std::size_t>(m * lstm_shape(graph, node).units) * sizeof(float));
  scratch.bytes = pieces.used();
  return scratch;
}

}  // namespace

std::string cuda_lstm_layer(const Graph& graph, const Node& node) { return describe(spec_of(graph, node)); }

std::size_t cuda_lstm_workspace_bytes(const Graph& graph, const Node& node) { return scratch_of(graph, node, nullptr).bytes; }

int cuda_lstm_launches(const Graph& graph, const Node& node) {
  return static_cast<int>(2 * lstm_shape(graph, node).sequence - 1);
}

CudaNode cuda_lstm(const CudaNodeSource& source) {
  const NodeOperands<void> o = source.operands();
  const LstmShape shape = lstm_shape(source.graph, source.node);
  const cuda::ProductSpec spec = spec_of(source.graph, source.node);
  const Scratch t = scratch_of(source.graph, source.node, source.context.workspace);
  const ChosenProduct product = source.product(spec, {t.sums, t.state, o.x(1), nullptr}, t.workspace);
  const auto sums = [=, plan = product.plan, keep = source.libraries](bool first, cuda::Stream stream) -> const float* {
    if (first) return nullptr;
    plan->run(t.sums, t.state, o.x(1), nullptr, t.workspace, stream);
    return t.sums;
  };
  if (is_gradient(source.node))
    return {[=](cuda::Stream stream) {
              for (std::int64_t step = shape.sequence - 1; step >= 0; --step)
                cuda::lstm_step_grad(o.y(0), t.state, t.cell, o.x(0), sums(step + 1 == shape.sequence, stream), o.x(2),
                                     o.x32(3), shape, step, spec.element, stream);
            },
            "cuda lstm_step_grad + " + product.implementation};
  return {[=](cuda::Stream stream) {
            for (std::int64_t step = 0; step < shape.sequence; ++step)
              cuda::lstm_step(o.y(0), o.y32(1), o.y(2), o.y(3), t.state, t.cell, o.x(0), sums(step == 0, stream), shape, step,
                              spec.element, stream);
          },
          "cuda lstm_step + " + product.implementation};
}

}  // namespace epochbench
