// The switch from ops to CUDA kernels and library plans.
#include "src/backend/cuda/cuda_nodes.h"

#include <algorithm>
#include <map>
#include <type_traits>

#include "src/backend/cuda/cuda_plans.h"
#include "src/backend/host/node_steps.h"

namespace epochbench {

namespace {

using cuda::Stream;

// One table per slot and part, as the addresses of inputs depend on them.
CudaNode cast(const CudaNodeSource& source) {
  std::vector<std::int64_t> elements;
  for (ValueId id : source.out()) elements.push_back(source.graph.desc(id).elements());
  const ValueMemory& v = source.context.values;
  const auto of_inputs = [&](ValueId id) { return source.graph.value(id).kind == ValueKind::input; };
  const int parts = std::ranges::any_of(source.in(), of_inputs) ? v.parts() : 1;
  std::vector<const cuda::CastTensor*> tables;  // by slot, then part
  for (InputSlot slot = 0; slot < kInputSlots; ++slot)
    for (int part = 0; part < parts; ++part) {
      std::vector<cuda::CastTensor> tensors;
      for (std::size_t i = 0; i < elements.size(); ++i)
        tensors.push_back({v.get(source.out()[i], slot, part), v.get(source.in()[i], slot, part), elements[i],
                           source.element(source.out()[i]), source.element(source.in()[i])});
      tables.push_back(source.context.tables.upload(tensors));
    }
  return {[=, &v, chunks = upload_chunks(source.context.tables, elements)](Stream stream) {
            const int part = parts > 1 ? v.part() : 0;
            cuda::cast(tables[static_cast<std::size_t>(v.slot() * parts + part)], chunks.chunks, chunks.count, stream);
          },
          "cuda cast"};
}

struct CommonKernels {  // those that common_step() runs
#define CUDA_KERNEL(name, arguments) static constexpr auto name = cuda::name;
#include "kernels/kernel_list.inc"
};

// Nodes that are one kernel of our own, whose name is shown in profiles.
std::function<void(Stream)> kernel(const CudaNodeSource& source) {
  const Graph& graph = source.graph;
  const Node& node = source.node;
  void* const workspace = source.context.workspace;
  const NodeOperands<void> o = source.operands();
  const TensorDesc first = graph.desc(o.in[0]);
  const RowsChannels size = rows_channels(first);
  const bool is_float = first.dtype != DType::i32 && first.dtype != DType::u8;
  const Element element = is_float ? element_of(first.dtype) : Element::f32;
  const std::int64_t row_elements = cuda_row_elements(graph, o.in[0]);
  // Adds the further arguments of the kernels here.
  const auto make = [=](auto kernel, auto call) -> std::function<void(Stream)> {
    return [=](Stream stream) {
      call([&](const auto&... arguments) {
        if constexpr (std::is_invocable_v<decltype(kernel), decltype(arguments)..., std::int64_t, Element, void*, Stream>)
          kernel(arguments..., row_elements, element, workspace, stream);
        else if constexpr (std::is_invocable_v<decltype(kernel), decltype(arguments)..., Element, void*, Stream>)
          kernel(arguments..., element, workspace, stream);
        else if constexpr (std::is_invocable_v<decltype(kernel), decltype(arguments)..., std::int64_t, Element, Stream>)
          kernel(arguments..., row_elements, element, stream);
        else
          kernel(arguments..., element, stream);
      });
    };
  };
  switch (node.op) {
    case Op::cross_entropy_grad:
      return make(cuda::cross_entropy_grad, [=, targets = targets_of(node), at = cross_entropy_operands(node)](auto run) {
        run(o.y(0), o.x(0), o.integers(1), o.x32(at.log_sum_exp), at.loss_scale ? o.x32(at.loss_scale) : nullptr, size.rows,
            size.channels, targets.with_share(at.share ? o.x32(at.share) : nullptr));
      });
    case Op::embedding_grad: {
      const bool base = o.in.size() > 2;
      const Element base_element = base ? source.element(o.in[2]) : Element::f32;
      return make(cuda::embedding_grad, [=, table = graph.desc(o.out[0]).shape](auto run) {
        run(o.y32(0), o.x(0), o.integers(1), o.x_if(base, 2), base_element, size.rows, table[0], table[1]);
      });
    }
    case Op::decode_pixels:
      return [=, to = source.element(o.out[0])](Stream stream) {
        cuda::decode_pixels(o.y(0), o.index(0), o.x32(1), size.rows, size.channels, to, stream);
      };
    case Op::sgd:
    case Op::adamw:
      return cuda_optimizer(source);
    case Op::all_finite:
      return cuda_all_finite(source);
    case Op::clip_factor:
      return cuda_clip_factor(source);
    case Op::update_loss_scale: {
      const auto& a = attributes<LossScaleAttributes>(node);
      const cuda::LossScaleNumbers numbers{static_cast<float>(a.growth), static_cast<float>(a.backoff),
                                           static_cast<std::int32_t>(a.growth_interval), static_cast<float>(kMinLossScale),
                                           static_cast<float>(kMaxLossScale)};
      return [=](Stream stream) {
        cuda::update_loss_scale(o.x32(1), o.integers(2), o.integers(3), o.integers(0), numbers, stream);
      };
    }
    case Op::increment:
      return [=](Stream stream) { cuda::increment(o.y_integers(0), stream); };
    default:
      return common_step(graph, node, source.seed, CommonKernels{}, o, make);
  }
}

// What an H200 computes while it moves a byte.
double flops_per_byte(const Graph& graph, const Node& node) {
  if (graph.desc(node.inputs[0]).dtype != DType::f32) return 180;
  return is_tf32(node.attributes) ? 90 : 12;
}

// A lower bound of a node's time, in bytes. Only ratios matter.
double cost_of(const Graph& graph, const Node& node) {
  return std::max(flops(graph, node) / flops_per_byte(graph, node), bytes(graph, node));
}

CudaNode by_kernel(const CudaNodeSource& source) { return {kernel(source), std::string("cuda ") + name(source.node.op)}; }

CudaNode compile(const CudaNodeSource& source, CudaAttention& attention) {
  const CompileNode compile_part = [&](const Node& node) {
    const std::string layer = cuda_layer(source.graph, node, source.winograd);
    return compile({source.graph, node, source.context, source.libraries, source.choices, layer, source.seed, source.winograd},
                   attention);
  };
  switch (source.node.op) {
    case Op::reshape:
      return {{}, "view"};
    case Op::cast:
      return cast(source);
    case Op::matmul:
    case Op::linear:
    case Op::matmul_add:
    case Op::linear_grad_weight:
      return cuda_product(source);
    case Op::conv2d:
    case Op::conv2d_bias:
    case Op::conv2d_grad_input:
    case Op::conv2d_grad_weight:
      return cuda_convolution(source);
    case Op::linear_gelu:
    case Op::matmul_gelu_grad:
      return cuda_gelu_product(source, compile_part);
    case Op::conv2d_batch_norm:
    case Op::conv2d_batch_norm_grad:
      return cuda_convolution_norm(source, compile_part);
    case Op::attention:
    case Op::attention_grad:
    case Op::joint_attention:
    case Op::joint_attention_grad:
      return attention.compile(source);
    case Op::lstm:
    case Op::lstm_grad:
      return cuda_lstm(source);
    case Op::depthwise_conv2d:
    case Op::depthwise_conv2d_grad_input:
    case Op::depthwise_conv2d_grad_weight:
      return cuda_depthwise(source, by_kernel(source));
    case Op::all_reduce:
    case Op::reduce_scatter:
    case Op::all_gather:
      return {cuda_collective(source), name(source.node.op)};
    default:  // kernel() handles all others
      return by_kernel(source);
  }
}

}  // namespace

std::vector<Operand> CudaNodeSource::float_inputs() const {
  std::vector<Operand> inputs;
  for (ValueId id : in())
    if (const TensorDesc desc = graph.desc(id); desc.dtype != DType::i32)
      if (void* const memory = context.values.get(id)) inputs.push_back({memory, desc.bytes(), element_of(desc.dtype)});
  return inputs;
}

CudaNode in_sequence(const CudaNode& first, const CudaNode& second) {
  return {[=](cuda::Stream stream) {
            first.enqueue(stream);
            second.enqueue(stream);
          },
          first.implementation + " + " + second.implementation, first.algorithm};
}

CudaNode CudaNodeSource::choose(Listed<CudaNode>& algorithms, std::vector<Operand> inputs) const {
  const auto run = [](CudaNode& compiled, cuda::Stream stream) { compiled.enqueue(stream); };
  auto chosen = choices.choose<CudaNode>(layer, algorithms, {run, std::move(inputs), context.stream});
  chosen.plan->implementation += chosen.how + (chosen.refused.empty() ? "" : " (" + chosen.refused + ")");
  return std::move(*chosen.plan);
}

std::string cuda_layer(const Graph& graph, const Node& node, bool winograd) {
  switch (node.op) {
    case Op::matmul:
    case Op::linear:
    case Op::matmul_add:
    case Op::linear_grad_weight:
      return cuda_product_layer(graph, node);
    case Op::linear_gelu:
    case Op::matmul_gelu_grad:
      return cuda_gelu_product_layer(graph, node);
    case Op::conv2d:
    case Op::conv2d_bias:
    case Op::conv2d_grad_input:
    case Op::conv2d_grad_weight:
      return cuda_convolution_layer(graph, node, winograd);
    case Op::conv2d_batch_norm:
    case Op::conv2d_batch_norm_grad:
      return cuda_convolution_norm_layer(graph, node, winograd);
    case Op::attention:
    case Op::attention_grad:
    case Op::joint_attention:
    case Op::joint_attention_grad:
      return cuda_attention_layer(graph, node);
    case Op::lstm:
    case Op::lstm_grad:
      return cuda_lstm_layer(graph, node);
    case Op::depthwise_conv2d:
    case Op::depthwise_conv2d_grad_input:
    case Op::depthwise_conv2d_grad_weight:
      return cuda_depthwise_layer(graph, node);
    default:
      return "";
  }
}

namespace {

std::vector<CompiledEngines> compiled_engines(const CudaLayer& at, bool library_attention) try {
  switch (at.node.op) {
    case Op::linear_gelu:
    case Op::matmul_gelu_grad:
      return {cuda_gelu_product_engines(at)};
    case Op::conv2d_batch_norm:
    case Op::conv2d_batch_norm_grad:
      return {cuda_convolution_norm_engines(at)};
    case Op::attention:
    case Op::joint_attention:
      return library_attention ? cuda_attention_engines(at) : std::vector<CompiledEngines>{};
    default:
      return {};
  }
} catch (const cuda::Error&) {  // the compiler of the node says why there are none
  return {};
}

}  // namespace

CudaCompiler cuda_compiler(std::shared_ptr<cuda::Libraries> libraries, std::shared_ptr<Choices> choices, std::uint64_t seed,
                           const BackendOptions& options) {
  return [=, library_attention = options.library_attention,
          winograd = options.winograd](const std::vector<CudaNodePlace>& places) {
    std::vector<std::string> layers;
    std::map<std::string, Choices::Cost> costs;
    std::vector<CompiledEngines> compiled;
    for (const CudaNodePlace& at : places)
      if (const std::string& layer = layers.emplace_back(cuda_layer(at.graph, at.node, winograd)); !layer.empty()) {
        Choices::Cost& cost = costs[layer];
        cost.all += cost_of(at.graph, at.node);
        if (++cost.nodes > 1) continue;
        for (CompiledEngines& engines : compiled_engines({at.graph, at.node, layer, *libraries, winograd}, library_attention))
          compiled.push_back(std::move(engines));
      }
    CheckedMasks checked;
    std::vector<CudaNode> nodes(places.size());
    const auto compile_layer = [&](std::size_t i, CudaAttention& attention) {
      const CudaNodePlace& at = places[i];
      nodes[i] = compile({at.graph, at.node, at.context, libraries, *choices, layers[i], seed, winograd}, attention);
      nodes[i].has_algorithms = !layers[i].empty();
    };
    choices->begin_program(costs, std::move(compiled));
    CudaAttention first(library_attention, checked);
    for (std::size_t i = 0; i < places.size(); ++i) compile_layer(i, first);
    // Nodes are replaced one by one, so that those of the same layer keep what they share.
    for (const std::string& layer : choices->begin_rest()) {
      CudaAttention again(library_attention, checked);
      for (std::size_t i = 0; i < places.size(); ++i)
        if (layers[i] == layer) compile_layer(i, again);
    }
    std::map<std::pair<std::string, Op>, std::optional<double>> blind_seconds;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (!layers[i].empty()) {
        const auto [known, missing] = blind_seconds.try_emplace({layers[i], places[i].node.op});
        if (missing) known->second = choices->blind_seconds(layers[i], nodes[i].enqueue, places[i].context.stream);
        nodes[i].blind_seconds = known->second;
      }
    return nodes;
  };
}

}  // namespace epochbench
