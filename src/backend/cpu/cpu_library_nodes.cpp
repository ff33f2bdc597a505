// Products and convolutions that a library may run in place of our kernels.
#include <algorithm>

#include <omp.h>

#include "src/backend/cpu/cpu_nodes.h"
#include "src/backend/host/node_steps.h"

namespace epochbench {

// The product or convolution that the node is or contains; empty for other nodes.
template <typename Real>
std::optional<LibraryProblem> CpuNodes<Real>::library_problem(const Graph& graph, const Node& node) const {
  constexpr Element kElement = std::is_same_v<Real, float> ? Element::f32 : Element::bf16;
  const auto product = [&](LibraryEpilogue epilogue) {
    return LibraryProblem{.gemm = gemm_shape(graph, node), .element = kElement, .epilogue = epilogue};
  };
  const auto pass = [&](Pass pass, LibraryEpilogue epilogue) {
    return LibraryProblem{.conv2d = convolution(graph, node), .pass = pass, .element = kElement, .epilogue = epilogue};
  };
  switch (node.op) {
    case Op::matmul:
      return product({});
    case Op::linear:
      return product({true, attributes<LinearAttributes>(node).relu});
    case Op::conv2d:
      return pass(Pass::forward, {});
    case Op::conv2d_bias:
      return pass(Pass::forward, {true, attributes<Conv2dBiasAttributes>(node).relu});
    case Op::conv2d_grad_input:
      return pass(Pass::grad_input, {});
    case Op::conv2d_grad_weight:
      return pass(Pass::grad_weight, {});
    case Op::conv2d_batch_norm:
      return library_problem(graph, node.parts[0]);
    default:
      return std::nullopt;
  }
}

template <typename Real>
std::size_t CpuNodes<Real>::workspace_bytes(const Graph& graph, const Node& node) const {
  std::size_t bytes = own_workspace_bytes(graph, node);
  const auto problem = libraries_ ? library_problem(graph, node) : std::nullopt;
  if (problem)
    for (const CpuLibraries::Offer& offer : libraries_->offers(*problem, k_->widens))
      bytes = std::max(bytes, offer.call->workspace_bytes());
  return bytes;
}

// Runs the library's call, and then our kernels for what our own kernel fuses and the call does not.
template <typename Real>
HostStep CpuNodes<Real>::library_step(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace,
                                      const CpuLibraries::Offer& offer) const {
  const NodeOperands<Real> o{&memory, node.inputs, node.outputs};
  const auto bound = [call = offer.call, threads = threads_, workspace](Real* first, Real* second, Real* third, Real* bias) {
    if (omp_get_max_threads() != threads) omp_set_num_threads(threads);  // a library's team is as large as this says
    call->bind(first, second, third, bias, workspace);
    call->run();
  };
  switch (node.op) {
    case Op::conv2d_grad_input:
      return [=] { bound(o.x(0), o.y(0), o.x(1), nullptr); };
    case Op::conv2d_grad_weight:
      return [=] { bound(o.x(0), o.x(1), o.y(0), nullptr); };
    case Op::conv2d_batch_norm: {
      const Node& norm = node.parts[1];
      return [=, k = k_, threads = threads_, a = batch_norm_attributes(norm), activation = activation_of(norm),
              between = o.out.size() - 1, shortcut = o.in.size() > 6, size = rows_channels(graph.desc(node.outputs[0]))] {
        bound(o.y(between), o.x(0), o.x(1), nullptr);
        k->batch_norm(o.y(0), a.mask ? o.y_mask(5) : nullptr, o.y32(1), o.y32(2), o.y32(3), o.y32(4), o.y(between), o.x32(2),
                      o.x32(3), o.x_if(shortcut, 6), size.rows, size.channels, a.batch_norm.epsilon, a.batch_norm.momentum,
                      activation, workspace, threads);
      };
    }
    default:
      return [=, k = k_, threads = threads_, left = offer.left, biased = node.op == Op::linear || node.op == Op::conv2d_bias,
              size = rows_channels(graph.desc(node.outputs[0]))] {
        Real *const y = o.y(0), *const bias = o.x_if(biased, 2);
        bound(y, o.x(0), o.x(1), bias);
        if (left.bias) k->bias_add(y, y, bias, size.rows, size.channels, threads);
        if (left.relu) k->relu(y, y, size.rows * size.channels, threads);
      };
  }
}

template <typename Real>
CompiledNode CpuNodes<Real>::compile(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace,
                                     std::uint64_t seed) const {
  const auto compiled = [&](const std::string& kernels, HostStep step, const std::string& used) {
    const std::string text = kernels + " " + name(node.op);
    return CompiledNode{std::move(step), used.empty() ? text : text + " " + used, used};
  };
  const std::string used = algorithm(graph, node);
  CompiledNode ours = compiled(k_->isa, step(graph, node, memory, workspace, seed), used);
  const auto problem = libraries_ ? library_problem(graph, node) : std::nullopt;
  if (!problem) return ours;
  const std::vector<CpuLibraries::Offer>& offers = libraries_->offers(*problem, k_->widens);
  if (offers.empty()) return ours;
  std::vector<CpuLibraries::Candidate> candidates{{k_->isa, std::move(ours)}};
  for (const CpuLibraries::Offer& offer : offers)
    candidates.push_back({offer.library, compiled(offer.library, library_step(graph, node, memory, workspace, offer),
                                                  offer.call->winograd() ? "winograd" : "")});
  // A norm adds its own reading and writing of activations, and a shortcut or a mask more of it.
  const bool norm = node.op == Op::conv2d_batch_norm;
  const std::string with = norm ? " batch_norm" + std::string(node.inputs.size() > 6 ? " shortcut" : "") : "";
  return libraries_->choose(to_text(*problem) + with, std::move(candidates));
}

template std::size_t CpuNodes<float>::workspace_bytes(const Graph&, const Node&) const;
template std::size_t CpuNodes<Bf16>::workspace_bytes(const Graph&, const Node&) const;
template CompiledNode CpuNodes<float>::compile(const Graph&, const Node&, const ValueMemory&, void*, std::uint64_t) const;
template CompiledNode CpuNodes<Bf16>::compile(const Graph&, const Node&, const ValueMemory&, void*, std::uint64_t) const;

}  // namespace epochbench
