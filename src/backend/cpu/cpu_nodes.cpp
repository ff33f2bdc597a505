// The CPU kernel of each node and its arguments. The types of the arguments state which tensors are always float.
#include "src/backend/cpu/cpu_nodes.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "epochbench/precision.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {
namespace {

template <typename AttributesType>
const AttributesType& attributes(const Node& node) {
  return std::get<AttributesType>(node.attributes);
}

// The tensors of a node, by position; null: no node reads it, so it has no memory. Inputs of the graph move between steps.
template <typename Real>
struct Operands {
  const ValueMemory* memory;
  std::vector<ValueId> in, out;

  Real* x(std::size_t i) const { return memory->get<Real>(in[i]); }
  Real* x_if(bool given, std::size_t i) const { return given ? x(i) : nullptr; }
  float* x32(std::size_t i) const { return memory->get<float>(in[i]); }
  template <typename Integer = std::int32_t>
  Integer* integers(std::size_t i) const {
    return memory->get<Integer>(in[i]);
  }
  Real* y(std::size_t i) const { return memory->get<Real>(out[i]); }
  std::uint32_t* mask_out(std::size_t i) const { return memory->get<std::uint32_t>(out[i]); }
  float* y32(std::size_t i) const { return memory->get<float>(out[i]); }
};

// Without the inputs, which may move.
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
    case Op::all_finite:
    case Op::update_loss_scale:
    case Op::linear_grad_weight:
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
    case Op::batch_norm_relu_grad:
      return attributes<BatchNormReluGradAttributes>(node).mask ? mask_obstacle() : std::nullopt;
    case Op::sgd:
      return loss_scaled(attributes<SgdAttributes>(node).loss_scaled);
    case Op::adamw:
      return loss_scaled(attributes<AdamwAttributes>(node).loss_scaled);
    case Op::cross_entropy_grad:
      return loss_scaled(node.inputs.size() > 3);
    default:
      return std::nullopt;
  }
}

template <typename Real>
std::size_t CpuNodes<Real>::workspace_bytes(const Graph& graph, const Node& node) const {
  switch (node.op) {
    case Op::matmul:
    case Op::linear:
      return k_->gemm_workspace_bytes(gemm_shape(graph, node), threads_);
    case Op::conv2d:
    case Op::conv2d_bias:
      return k_->conv2d_workspace_bytes(convolution(graph, node), threads_);
    case Op::conv2d_grad_input:
      return k_->conv2d_grad_input_workspace_bytes(convolution(graph, node), threads_);
    case Op::conv2d_grad_weight:
      return k_->conv2d_grad_weight_workspace_bytes(convolution(graph, node), threads_);
    case Op::bias_add_grad:
    case Op::layer_norm_grad:
    case Op::batch_norm:
    case Op::batch_norm_relu:
    case Op::batch_norm_inference:
    case Op::batch_norm_inference_relu:
    case Op::batch_norm_grad:
    case Op::batch_norm_relu_grad:
      return k_->reduction_workspace_bytes(rows_channels(graph.desc(node.inputs[0])).channels, threads_);
    case Op::attention:
    case Op::attention_grad:
      return k_->attention_workspace_bytes(attention_shape(graph, node), threads_);
    default:
      return 0;  // most kernels need no scratch memory
  }
}

template <typename Real>
std::string CpuNodes<Real>::algorithm(const Graph& graph, const Node& node) const {
  const bool transformable = node.op == Op::conv2d || node.op == Op::conv2d_bias || node.op == Op::conv2d_grad_input;
  return transformable && k_->conv2d_is_winograd(convolution(graph, node)) ? "winograd" : "";
}

template <typename Real>
HostStep CpuNodes<Real>::step(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace,
                              std::uint64_t seed) const {
  const cpu::Kernels<Real>* k = k_;
  const int threads = threads_;
  const Operands<Real> o{&memory, node.inputs, node.outputs};
  const TensorDesc first = graph.desc(node.inputs[0]);
  const std::int64_t n = first.elements();
  const auto [rows_, channels_] = rows_channels(first);
  const std::int64_t rows = rows_, channels = channels_;
  switch (node.op) {
    case Op::matmul:
      return [=, s = gemm_shape(graph, node)] { k->gemm(o.y(0), o.x(0), o.x(1), s, {}, workspace, threads); };
    case Op::linear:
      return [=, s = gemm_shape(graph, node), relu = attributes<LinearAttributes>(node).relu] {
        k->gemm(o.y(0), o.x(0), o.x(1), s, {o.x(2), relu}, workspace, threads);
      };
    case Op::conv2d:
      return [=, s = convolution(graph, node)] { k->conv2d(o.y(0), o.x(0), o.x(1), s, {}, workspace, threads); };
    case Op::conv2d_bias:
      return [=, s = convolution(graph, node), relu = attributes<Conv2dBiasAttributes>(node).relu] {
        k->conv2d(o.y(0), o.x(0), o.x(1), s, {o.x(2), relu}, workspace, threads);
      };
    case Op::conv2d_grad_input:
      return [=, s = convolution(graph, node)] { k->conv2d_grad_input(o.y(0), o.x(0), o.x(1), s, workspace, threads); };
    case Op::conv2d_grad_weight:
      return [=, s = convolution(graph, node)] { k->conv2d_grad_weight(o.y(0), o.x(0), o.x(1), s, workspace, threads); };
    case Op::bias_add:
      return [=] { k->bias_add(o.y(0), o.x(0), o.x(1), rows, channels, threads); };
    case Op::bias_add_grad:
      return [=] { k->bias_add_grad(o.y(0), o.x(0), rows, channels, workspace, threads); };
    case Op::relu:
      return [=] { k->relu(o.y(0), o.x(0), n, threads); };
    case Op::relu_grad:
      return [=] { k->relu_grad(o.y(0), o.x(0), o.x(1), n, threads); };
    case Op::add:
      return [=] { k->add(o.y(0), o.x(0), o.x(1), n, threads); };
    case Op::reshape:
      return {};
    case Op::batch_norm:
    case Op::batch_norm_relu: {
      const bool relu = node.op == Op::batch_norm_relu, shortcut = node.inputs.size() > 5;
      const BatchNormReluAttributes a =
          relu ? attributes<BatchNormReluAttributes>(node) : BatchNormReluAttributes{attributes<BatchNormAttributes>(node)};
      return [=] {
        k->batch_norm(o.y(0), a.mask ? o.mask_out(5) : nullptr, o.y32(1), o.y32(2), o.y32(3), o.y32(4), o.x(0), o.x32(1),
                      o.x32(2), o.x_if(shortcut, 5), rows, channels, a.batch_norm.epsilon, a.batch_norm.momentum, relu,
                      workspace, threads);
      };
    }
    case Op::batch_norm_inference:
    case Op::batch_norm_inference_relu: {
      const bool relu = node.op == Op::batch_norm_inference_relu, shortcut = node.inputs.size() > 5;
      return [=, a = attributes<BatchNormAttributes>(node)] {
        k->batch_norm_inference(o.y(0), o.x(0), o.x32(1), o.x32(2), o.x32(3), o.x32(4), o.x_if(shortcut, 5), rows, channels,
                                a.epsilon, relu, workspace, threads);
      };
    }
    case Op::batch_norm_grad:
      return [=] {
        k->batch_norm_grad(o.y(0), o.y32(1), o.y32(2), nullptr, o.x(0), nullptr, nullptr, nullptr, o.x(1), o.x32(2), o.x32(3),
                           o.x32(4), rows, channels, workspace, threads);
      };
    case Op::batch_norm_relu_grad: {
      const auto a = attributes<BatchNormReluGradAttributes>(node);
      const std::size_t y = a.second ? 2 : 1;
      return [=] {
        k->batch_norm_grad(o.y(0), o.y32(1), o.y32(2), o.y(3), o.x(0), o.x_if(a.second, 1),
                           a.mask ? o.template integers<std::uint32_t>(y) : nullptr, o.x_if(!a.mask, y), o.x(y + 1),
                           o.x32(y + 2), o.x32(y + 3), o.x32(y + 4), rows, channels, workspace, threads);
      };
    }
    case Op::max_pool:
      return [=, s = pool_shape(graph, node)] {
        k->max_pool(o.y(0), o.memory->template get<std::uint8_t>(o.out[1]), o.x(0), s, threads);
      };
    case Op::max_pool_grad:
      return [=, s = pool_shape(graph, node)] {
        k->max_pool_grad(o.y(0), o.x(0), o.template integers<std::uint8_t>(1), s, threads);
      };
    case Op::global_average_pool:
      return [=, x = first.shape] { k->global_average_pool(o.y(0), o.x(0), x[0], x[1] * x[2], x[3], threads); };
    case Op::global_average_pool_grad:
      return [=, x = graph.desc(node.outputs[0]).shape] {
        k->global_average_pool_grad(o.y(0), o.x(0), x[0], x[1] * x[2], x[3], threads);
      };
    case Op::cross_entropy:
      return [=, mean = attributes<CrossEntropyAttributes>(node).mean] {
        k->cross_entropy(o.y32(0), o.y32(1), o.x(0), o.integers(1), rows, channels, mean, threads);
      };
    case Op::cross_entropy_grad:
      return [=, mean = attributes<CrossEntropyAttributes>(node).mean] {
        k->cross_entropy_grad(o.y(0), o.x(0), o.integers(1), o.x32(2), rows, channels, mean, threads);
      };
    case Op::count_correct:
      return [=] { k->count_correct(o.y32(0), o.x(0), o.integers(1), rows, channels, threads); };
    case Op::layer_norm:
      return [=, epsilon = attributes<LayerNormAttributes>(node).epsilon] {
        k->layer_norm(o.y(0), o.y32(1), o.y32(2), o.x(0), o.x32(1), o.x32(2), rows, channels, epsilon, threads);
      };
    case Op::layer_norm_grad:
      return [=] {
        k->layer_norm_grad(o.y(0), o.y32(1), o.y32(2), o.x(0), o.x(1), o.x32(2), o.x32(3), o.x32(4), rows, channels, workspace,
                           threads);
      };
    case Op::gelu:
      return [=] { k->gelu(o.y(0), o.x(0), n, threads); };
    case Op::gelu_grad:
      return [=] { k->gelu_grad(o.y(0), o.x(0), o.x(1), n, threads); };
    case Op::dropout:
      return [=, dropout = dropout_of(node, seed)] { k->dropout(o.y(0), o.x(0), o.integers(1), dropout, n, threads); };
    case Op::embedding:
      return [=, ids = graph.desc(node.inputs[1]).elements(), width = channels] {
        k->embedding(o.y(0), o.x(0), o.integers(1), ids, width, threads);
      };
    case Op::embedding_grad:
      return [=, table = graph.desc(node.outputs[0]).shape, base = node.inputs.size() > 2] {
        k->embedding_grad(o.y32(0), o.x(0), o.integers(1), o.x_if(base, 2), rows, table[0], table[1], threads);
      };
    case Op::add_rows:
      return [=, period = attributes<AddRowsAttributes>(node).period] {
        k->add_rows(o.y(0), o.x(0), o.x(1), rows, channels, period, threads);
      };
    case Op::add_rows_grad:
      return [=, a = attributes<AddRowsAttributes>(node)] {
        k->add_rows_grad(o.y32(0), o.x(0), rows, channels, a.period, a.table_rows, threads);
      };
    case Op::gather_rows:
      return [=, p = graph.desc(node.inputs[1]).shape, sequence = attributes<GatherRowsAttributes>(node).sequence,
              width = channels] { k->gather_rows(o.y(0), o.x(0), o.integers(1), p[0], sequence, p[1], width, threads); };
    case Op::gather_rows_grad:
      return [=, p = graph.desc(node.inputs[1]).shape, sequence = attributes<GatherRowsAttributes>(node).sequence,
              width = channels] { k->gather_rows_grad(o.y(0), o.x(0), o.integers(1), p[0], sequence, p[1], width, threads); };
    case Op::attention:
      return [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)] {
        k->attention(o.y(0), o.y32(1), o.x(0), o.x(1), o.x(2), o.integers(3), s, dropout, workspace, threads);
      };
    case Op::attention_grad:
      return [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)] {
        k->attention_grad(o.y(0), o.y(1), o.y(2), o.x(0), o.x(1), o.x(2), o.x(3), o.x(4), o.x32(5), o.integers(6), s, dropout,
                          workspace, threads);
      };
    case Op::sgd:
      return [=, tensors = sgd_tensors(graph, node, memory), a = attributes<SgdAttributes>(node)] {
        k->sgd(tensors.data(), static_cast<int>(tensors.size()), o.x32(0), {a.momentum, a.weight_decay}, threads);
      };
    case Op::adamw:
      return [=, tensors = adamw_tensors(graph, node, memory), a = attributes<AdamwAttributes>(node)] {
        k->adamw(tensors.data(), static_cast<int>(tensors.size()), o.x32(0), o.integers(1), {a.beta1, a.beta2, a.epsilon},
                 threads);
      };
    case Op::increment:
      return [=] { ++*o.integers(0); };
    case Op::cast:
      return [=, tensors = cast_tensors<Real>(graph, node, memory)]() mutable {
        for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].x = o.x32(i);
        k->cast(tensors.data(), static_cast<int>(tensors.size()), threads);
      };
    case Op::all_finite:
    case Op::update_loss_scale:
    case Op::linear_grad_weight:
      break;  // rejected by unsupported()
  }
  throw std::logic_error("op without a CPU kernel");
}

template class CpuNodes<float>;
template class CpuNodes<Bf16>;

}  // namespace epochbench
