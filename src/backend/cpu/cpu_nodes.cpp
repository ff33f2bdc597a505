// The CPU kernel of each node and its arguments. The types of the arguments state which tensors are always float.
#include "src/backend/cpu/cpu_nodes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <type_traits>

#include "epochbench/communicator.h"
#include "epochbench/precision.h"
#include "src/backend/host/node_steps.h"

namespace epochbench {
namespace {

// Leaves out the addresses of inputs, which may move.
template <typename Real>
std::vector<cpu::CastTensor<Real>> cast_tensors(const Graph& graph, const Node& node, const ValueMemory& memory) {
  std::vector<cpu::CastTensor<Real>> tensors;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (Real* y = memory.get<Real>(node.outputs[i]))
      tensors.push_back({y, nullptr, graph.desc(node.inputs[i]).elements()});
    else
      tensors.push_back({nullptr, nullptr, 0});
  return tensors;
}

// The factor that an optimizer multiplies gradients by, or null.
template <typename Real>
const float* clip_pointer(const NodeOperands<Real>& o, const OptimizerLayout& layout) {
  return layout.clip < 0 ? nullptr : o.x32(static_cast<std::size_t>(layout.clip));
}

// Adds in rank order, so that every rank gets the same sum.
double sum_over_ranks(Communicator& communicator, double own) {
  std::array<double, kMaxRanks> all;
  const std::span<double> of_ranks(all.data(), static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_writable_bytes(of_ranks), std::as_bytes(std::span(&own, 1)));
  return std::accumulate(of_ranks.begin(), of_ranks.end(), 0.0);
}

}  // namespace

template <typename Real>
Conv2dShape CpuNodes<Real>::convolution(const Graph& graph, const Node& node) const {
  Conv2dShape shape = conv2d_shape(graph, node);
  shape.winograd = winograd_;
  return shape;
}

template <typename Real>
std::optional<std::string> CpuNodes<Real>::unsupported(const Graph& graph, const Node& node) const {
  const std::string name = epochbench::name(node.op);
  if (is_tf32(node.attributes))
    return std::string("the CPU backend has no ") + epochbench::name(Precision::tf32) + " kernel for " + name;
  constexpr DType kReal = std::is_same_v<Real, float> ? DType::f32 : DType::bf16;
  const auto is_real = [&](ValueId id) { return graph.desc(id).dtype == kReal; };
  const auto loss_scaled = [](bool scaled) {
    return scaled ? std::optional<std::string>("the CPU backend does not scale losses") : std::nullopt;
  };
  const auto mask_obstacle = [&]() -> std::optional<std::string> {
    if (k_->masks && rows_channels(graph.desc(node.inputs[0])).channels % 16 == 0) return std::nullopt;
    return "the CPU backend has masks only with vector instructions and a multiple of 16 channels";
  };
  switch (node.op) {
    case Op::decode_pixels:  // in host memory, a batch of floats costs a step nothing
    case Op::all_finite:
    case Op::update_loss_scale:
    case Op::linear_gelu:
    case Op::matmul_gelu_grad:
    case Op::matmul_add:
    case Op::linear_grad_weight:
    case Op::conv2d_batch_norm_grad:
      return "the CPU backend has no kernel for " + name;
    case Op::cast:
      if (attributes<CastAttributes>(node).to != kReal ||
          std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return graph.desc(id).dtype != DType::f32; }))
        return std::string("the CPU backend casts only from f32 to ") + epochbench::name(DType::bf16);
      return std::nullopt;
    case Op::embedding_grad:
      if (node.inputs.size() > 2 && !is_real(node.inputs[2]))
        return name + ": the CPU backend adds only to a base of dy's type";
      return std::nullopt;
    case Op::batch_norm_relu:
      return attributes<BatchNormReluAttributes>(node).mask ? mask_obstacle() : std::nullopt;
    case Op::conv2d_batch_norm:
      return unsupported(graph, node.parts[1]);
    case Op::batch_norm_relu_grad:
      return attributes<BatchNormReluGradAttributes>(node).mask ? mask_obstacle() : std::nullopt;
    case Op::sgd:
      return loss_scaled(attributes<SgdAttributes>(node).loss_scaled);
    case Op::adamw:
      if (!attributes<AdamwAttributes>(node).copies.empty()) return "the CPU backend's " + name + " writes no copies";
      return loss_scaled(attributes<AdamwAttributes>(node).loss_scaled);
    case Op::clip_factor:
      return loss_scaled(attributes<ClipFactorAttributes>(node).loss_scaled);
    case Op::cross_entropy_grad:
      return loss_scaled(cross_entropy_operands(node).loss_scale != 0);
    default:
      return std::nullopt;
  }
}

template <typename Real>
int CpuNodes<Real>::rank() const {
  return communicator_ == nullptr ? 0 : communicator_->rank();
}

template <typename Real>
std::size_t CpuNodes<Real>::own_workspace_bytes(const Graph& graph, const Node& node) const {
  switch (node.op) {
    case Op::matmul:
    case Op::linear:
      return k_->gemm_workspace_bytes(gemm_shape(graph, node), threads_);
    case Op::conv2d:
    case Op::conv2d_bias:
      return k_->conv2d_workspace_bytes(convolution(graph, node), threads_);
    case Op::conv2d_batch_norm:
      return moment_bytes(graph, node) +
             std::max(own_workspace_bytes(graph, node.parts[0]), own_workspace_bytes(graph, node.parts[1]));
    case Op::conv2d_grad_input:
      return k_->conv2d_grad_input_workspace_bytes(convolution(graph, node), threads_);
    case Op::conv2d_grad_weight:
      return k_->conv2d_grad_weight_workspace_bytes(convolution(graph, node), threads_);
    case Op::depthwise_conv2d_grad_weight:
      return k_->depthwise_conv2d_grad_weight_workspace_bytes(depthwise_conv2d_shape(graph, node), threads_);
    case Op::bias_add_grad:
    case Op::layer_norm_grad:
    case Op::add_layer_norm_grad:
    case Op::rms_norm_grad:
    case Op::batch_norm:
    case Op::batch_norm_relu:
    case Op::batch_norm_inference:
    case Op::batch_norm_inference_relu:
    case Op::batch_norm_grad:
    case Op::batch_norm_relu_grad:
      return k_->reduction_workspace_bytes(rows_channels(graph.desc(node.inputs[0])).channels, threads_);
    case Op::attention:
    case Op::attention_grad:
    case Op::joint_attention:
    case Op::joint_attention_grad:
      return k_->attention_workspace_bytes(attention_shape(graph, node), threads_);
    case Op::lstm:
    case Op::lstm_grad:
      return k_->lstm_workspace_bytes(lstm_shape(graph, node), threads_);
    case Op::clip_factor:
      return k_->squares_workspace_bytes(threads_);
    default:
      return 0;  // most kernels need no scratch memory
  }
}

template <typename Real>
std::int64_t CpuNodes<Real>::packed_weight_elements(const Graph& graph, const Node& node) const {
  // With more rows, packing is too small a part of a product (with 1024 about 4 %) to justify a second copy of the weight.
  constexpr std::int64_t kMaxRows = 1024;
  std::size_t bytes = 0;
  if (node.op == Op::matmul || node.op == Op::linear) {
    const GemmShape s = gemm_shape(graph, node);
    if (s.m <= kMaxRows) bytes = k_->gemm_packed_bytes(s, threads_);
  } else if (node.op == Op::conv2d || node.op == Op::conv2d_bias) {
    const Conv2dShape s = convolution(graph, node);
    if (s.batch * s.out_height * s.out_width <= kMaxRows) bytes = k_->conv2d_packed_bytes(s, threads_);
  }
  return static_cast<std::int64_t>(bytes / sizeof(Real));
}

template <typename Real>
HostStep CpuNodes<Real>::pack_step(const Graph& graph, const Node& node, const ValueMemory& memory) const {
  const NodeOperands<Real> o{&memory, node.inputs, node.outputs};
  const auto& a = attributes<PackWeightAttributes>(node);
  if (!a.convolution)
    return [=, k = k_, threads = threads_, s = packed_gemm_shape(a)] { k->pack_gemm(o.y(0), o.x(0), s, threads); };
  Conv2dShape s = packed_conv2d_shape(a, graph.desc(node.inputs[0]).shape);
  s.winograd = winograd_;
  return [=, k = k_, threads = threads_] { k->pack_conv2d(o.y(0), o.x(0), s, threads); };
}

// The part of conv2d_batch_norm's workspace that has moments; the convolution and then the norm use the rest.
template <typename Real>
std::size_t CpuNodes<Real>::moment_bytes(const Graph& graph, const Node& node) const {
  return k_->moments_workspace_bytes(rows_channels(graph.desc(node.outputs[0])).channels, threads_);
}

// x, weight, scale, bias, =mean, =variance [, shortcut] -> y, mean, inv_std, the two variables [, mask], convolution
template <typename Real>
HostStep CpuNodes<Real>::convolution_norm(const Graph& graph, const Node& node, const ValueMemory& memory,
                                          void* workspace) const {
  const NodeOperands<Real> o{&memory, node.inputs, node.outputs};
  const Node& norm = node.parts[1];
  const BatchNormReluAttributes a = batch_norm_attributes(norm);
  const std::size_t moments = moment_bytes(graph, node);
  void* const rest = workspace == nullptr ? nullptr : static_cast<std::byte*>(workspace) + moments;
  return [=, k = k_, threads = threads_, s = convolution(graph, node.parts[0]), activation = activation_of(norm),
          between = o.out.size() - 1, shortcut = o.in.size() > 6, size = rows_channels(graph.desc(node.outputs[0]))] {
    k->conv2d(o.y(between), o.x(0), o.x(1), s, Epilogue<Real>{.moments = workspace}, rest, threads);
    k->batch_norm_of_moments(o.y(0), a.mask ? o.y_mask(5) : nullptr, o.y32(1), o.y32(2), o.y32(3), o.y32(4), o.y(between),
                             workspace, o.x32(2), o.x32(3), o.x_if(shortcut, 6), size.rows, size.channels, a.batch_norm.epsilon,
                             a.batch_norm.momentum, activation, rest, threads);
  };
}

template <typename Real>
std::string CpuNodes<Real>::algorithm(const Graph& graph, const Node& node) const {
  if (node.op == Op::conv2d_batch_norm) return algorithm(graph, node.parts[0]);
  const bool transformable = node.op == Op::conv2d || node.op == Op::conv2d_bias || node.op == Op::conv2d_grad_input;
  return transformable && k_->conv2d_is_winograd(convolution(graph, node)) ? "winograd" : "";
}

template <typename Real>
HostStep CpuNodes<Real>::step(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace,
                              std::uint64_t seed) const {
  const cpu::Kernels<Real>* k = k_;
  const NodeOperands<Real> o{&memory, node.inputs, node.outputs};
  const auto make = cpu_step_maker(workspace, threads_);
  switch (node.op) {
    case Op::linear:
      return make(k->gemm, [=, s = gemm_shape(graph, node), weight = weight_operand(node),
                            relu = attributes<LinearAttributes>(node).relu](auto run) {
        run(o.y(0), o.x(0), o.x(weight), s, Epilogue<Real>{o.x(2), relu});
      });
    case Op::conv2d_bias:
      return make(k->conv2d, [=, s = convolution(graph, node), weight = weight_operand(node),
                              relu = attributes<Conv2dBiasAttributes>(node).relu](auto run) {
        run(o.y(0), o.x(0), o.x(weight), s, Epilogue<Real>{o.x(2), relu});
      });
    case Op::conv2d_batch_norm:
      return convolution_norm(graph, node, memory, workspace);
    case Op::pack_weight:
      return pack_step(graph, node, memory);
    case Op::cross_entropy_grad:
      return make(k->cross_entropy_grad, [=, size = rows_channels(graph.desc(node.inputs[0])), targets = targets_of(node),
                                          at = cross_entropy_operands(node)](auto run) {
        run(o.y(0), o.x(0), o.integers(1), o.x32(at.log_sum_exp), size.rows, size.channels,
            targets.with_share(at.share ? o.x32(at.share) : nullptr));
      });
    case Op::sgd:
      return make(k->sgd, [=, tensors = sgd_tensors(graph, node, memory, rank()), layout = optimizer_layout(node),
                           a = attributes<SgdAttributes>(node)](auto run) {
        run(tensors.data(), static_cast<int>(tensors.size()), o.x32(0),
            SgdNumbers{a.momentum, a.weight_decay, clip_pointer(o, layout)});
      });
    case Op::adamw:
      return make(k->adamw, [=, tensors = adamw_tensors(graph, node, memory, rank()), layout = optimizer_layout(node),
                             a = attributes<AdamwAttributes>(node)](auto run) {
        run(tensors.data(), static_cast<int>(tensors.size()), o.x32(0), o.integers(1),
            AdamwNumbers{a.beta1, a.beta2, a.epsilon, clip_pointer(o, layout)});
      });
    case Op::clip_factor:
      return make(k->sum_of_squares, [=, tensors = gradient_tensors(graph, node, memory, rank()),
                                      a = attributes<ClipFactorAttributes>(node), communicator = communicator_](auto run) {
        double squares = 0;
        run(&squares, tensors.data(), static_cast<int>(tensors.size()));
        if (a.ranks > 1) squares = sum_over_ranks(*communicator, squares);
        *o.y32(0) = static_cast<float>(clip_factor_of(std::sqrt(squares), a.largest_norm));
      });
    case Op::increment:
      return [=] { ++*o.integers(0); };
    case Op::cast:
      return [=, threads = threads_, tensors = cast_tensors<Real>(graph, node, memory)]() mutable {
        for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].x = o.x32(i);
        k->cast(tensors.data(), static_cast<int>(tensors.size()), threads);
      };
    default:
      return host_step(graph, node, seed, winograd_, *k, o, make);
  }
}

template class CpuNodes<float>;
template class CpuNodes<Bf16>;

}  // namespace epochbench
