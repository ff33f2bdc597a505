// The switch from ops to CUDA kernels and library plans.
#include "src/backend/cuda/cuda_nodes.h"

#include <array>
#include <stdexcept>

#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {

std::vector<cuda::Chunk> cuda_chunks(std::span<const std::int64_t> elements) {
  std::vector<cuda::Chunk> chunks;
  for (std::size_t tensor = 0; tensor < elements.size(); ++tensor)
    for (std::int64_t first = 0; first < elements[tensor]; first += cuda::kChunkElements)
      chunks.push_back({static_cast<std::int32_t>(tensor), first});
  return chunks;
}

namespace {

using cuda::Stream;

template <typename AttributesType>
const AttributesType& attributes(const Node& node) {
  return std::get<AttributesType>(node.attributes);
}

struct Chunks {
  const cuda::Chunk* chunks;
  std::int64_t count;
};
Chunks upload_chunks(DeviceTables& tables, const std::vector<std::int64_t>& elements) {
  const auto chunks = cuda_chunks(elements);
  return {tables.upload(std::span<const cuda::Chunk>(chunks)), static_cast<std::int64_t>(chunks.size())};
}

// One table per slot, as the addresses of inputs depend on it.
CudaNode cast(const CudaNodeSource& source) {
  std::array<const cuda::CastTensor*, kInputSlots> tables{};
  std::vector<std::int64_t> elements;
  for (ValueId id : source.in()) elements.push_back(source.graph.desc(id).elements());
  const ValueMemory& v = source.context.values;
  for (InputSlot slot = 0; slot < kInputSlots; ++slot) {
    std::vector<cuda::CastTensor> tensors;
    for (std::size_t i = 0; i < elements.size(); ++i)
      tensors.push_back({v.get(source.out()[i], slot), v.get(source.in()[i], slot), elements[i],
                         source.element(source.out()[i]), source.element(source.in()[i])});
    tables[static_cast<std::size_t>(slot)] = source.context.tables.upload(std::span<const cuda::CastTensor>(tensors));
  }
  return {[=, &v, chunks = upload_chunks(source.context.tables, elements)](Stream stream) {
            cuda::cast(tables[static_cast<std::size_t>(v.slot())], chunks.chunks, chunks.count, stream);
          },
          "cuda cast"};
}

struct OptimizerTable {
  const cuda::OptimizerTensor* tensors;
  Chunks chunks;
};
OptimizerTable upload_optimizer(const CudaNodeSource& source, const OptimizerLayout& layout) {
  const ValueMemory& v = source.context.values;
  const auto* adamw = std::get_if<AdamwAttributes>(&source.node.attributes);
  std::vector<cuda::OptimizerTensor> tensors;
  std::vector<std::int64_t> elements;
  for (int i = 0; i < layout.parameters; ++i) {
    const ValueId* id = &source.in()[static_cast<std::size_t>(layout.first + i * layout.group)];
    const ValueId weight = id[OptimizerLayout::kWeight], gradient = id[OptimizerLayout::kGradient];
    const ValueId* state = id + OptimizerLayout::kState;
    elements.push_back(source.graph.desc(weight).elements());
    tensors.push_back({v.get<float>(weight), v.get<float>(state[0]), adamw ? v.get<float>(state[1]) : nullptr, v.get(gradient),
                       elements.back(), source.element(gradient),
                       adamw ? adamw->weight_decay[static_cast<std::size_t>(i)] : 0});
  }
  return {source.context.tables.upload(std::span<const cuda::OptimizerTensor>(tensors)),
          upload_chunks(source.context.tables, elements)};
}

cuda::LossScale loss_scale(const CudaNodeSource& source, const OptimizerLayout& layout) {
  auto address = [&]<typename T>(int position, T*) {
    return position < 0 ? nullptr : source.context.values.get<const T>(source.in()[static_cast<std::size_t>(position)]);
  };
  return {address(layout.loss_scale, static_cast<float*>(nullptr)), address(layout.finite, static_cast<std::int32_t*>(nullptr)),
          address(layout.skipped_steps, static_cast<std::int32_t*>(nullptr))};
}

std::function<void(Stream)> optimizer(const CudaNodeSource& source) {
  const OptimizerLayout layout = optimizer_layout(source.node);
  const ValueMemory& v = source.context.values;
  const float* rate = v.get<float>(source.in()[static_cast<std::size_t>(layout.learning_rate)]);
  const OptimizerTable t = upload_optimizer(source, layout);
  const cuda::LossScale scale = loss_scale(source, layout);
  if (source.node.op == Op::sgd)
    return [=, a = attributes<SgdAttributes>(source.node)](Stream stream) {
      cuda::sgd(t.tensors, t.chunks.chunks, t.chunks.count, rate, {a.momentum, a.weight_decay}, scale, stream);
    };
  const auto& a = attributes<AdamwAttributes>(source.node);
  const auto* step = v.get<std::int32_t>(source.in()[static_cast<std::size_t>(layout.step)]);
  return [=, numbers = AdamwNumbers{a.beta1, a.beta2, a.epsilon}](Stream stream) {
    cuda::adamw(t.tensors, t.chunks.chunks, t.chunks.count, rate, step, numbers, scale, stream);
  };
}

std::function<void(Stream)> all_finite(const CudaNodeSource& source) {
  std::vector<cuda::OptimizerTensor> tensors;
  std::vector<std::int64_t> elements;
  const ValueMemory& v = source.context.values;
  for (ValueId id : source.in()) {
    elements.push_back(source.graph.desc(id).elements());
    tensors.push_back({nullptr, nullptr, nullptr, v.get(id), elements.back(), source.element(id), 0});
  }
  const auto* table = source.context.tables.upload(std::span<const cuda::OptimizerTensor>(tensors));
  return [=, &v, chunks = upload_chunks(source.context.tables, elements), out = source.out()[0]](Stream stream) {
    cuda::all_finite(v.get<std::int32_t>(out), table, chunks.chunks, chunks.count, stream);
  };
}

// Nodes that are one kernel of our own, whose name is shown in profiles.
std::function<void(Stream)> kernel(const CudaNodeSource& source) {
  const Graph& graph = source.graph;
  const Node& node = source.node;
  const ValueMemory& v = source.context.values;
  void* const workspace = source.context.workspace;
  const std::vector<ValueId> in = node.inputs, out = node.outputs;
  const TensorDesc first = graph.desc(in[0]);
  const std::int64_t n = first.elements();
  const auto [rows_, channels_] = rows_channels(first);
  const std::int64_t rows = rows_, channels = channels_;
  const Element element = first.dtype == DType::i32 ? Element::f32 : element_of(first.dtype);
  switch (node.op) {
    case Op::bias_add:
      return [=, &v](Stream stream) {
        cuda::bias_add(v.get(out[0]), v.get(in[0]), v.get(in[1]), rows, channels, element, stream);
      };
    case Op::bias_add_grad:
      return [=, &v](Stream stream) {
        cuda::bias_add_grad(v.get(out[0]), v.get(in[0]), rows, channels, element, workspace, stream);
      };
    case Op::relu:
      return [=, &v](Stream stream) { cuda::relu(v.get(out[0]), v.get(in[0]), n, element, stream); };
    case Op::relu_grad:
      return [=, &v](Stream stream) { cuda::relu_grad(v.get(out[0]), v.get(in[0]), v.get(in[1]), n, element, stream); };
    case Op::add:
      return [=, &v](Stream stream) { cuda::add(v.get(out[0]), v.get(in[0]), v.get(in[1]), n, element, stream); };
    case Op::gelu:
      return [=, &v](Stream stream) { cuda::gelu(v.get(out[0]), v.get(in[0]), n, element, stream); };
    case Op::gelu_grad:
      return [=, &v](Stream stream) { cuda::gelu_grad(v.get(out[0]), v.get(in[0]), v.get(in[1]), n, element, stream); };
    case Op::dropout:
      return [=, &v, dropout = dropout_of(node, source.seed)](Stream stream) {
        cuda::dropout(v.get(out[0]), v.get(in[0]), v.get<std::int32_t>(in[1]), dropout, n, element, stream);
      };
    case Op::batch_norm:
    case Op::batch_norm_relu: {
      const bool relu = node.op == Op::batch_norm_relu;
      const BatchNormAttributes a =
          relu ? attributes<BatchNormReluAttributes>(node).batch_norm : attributes<BatchNormAttributes>(node);
      const ValueId mask = relu && attributes<BatchNormReluAttributes>(node).mask ? out[5] : kNoValue;
      const ValueId shortcut = in.size() > 5 ? in[5] : kNoValue;
      return [=, &v](Stream stream) {
        cuda::batch_norm(v.get(out[0]), mask == kNoValue ? nullptr : v.get<std::uint32_t>(mask), v.get<float>(out[1]),
                         v.get<float>(out[2]), v.get<float>(out[3]), v.get<float>(out[4]), v.get(in[0]), v.get<float>(in[1]),
                         v.get<float>(in[2]), shortcut == kNoValue ? nullptr : v.get(shortcut), rows, channels, a.epsilon,
                         a.momentum, relu, element, workspace, stream);
      };
    }
    case Op::batch_norm_inference:
    case Op::batch_norm_inference_relu: {
      const bool relu = node.op == Op::batch_norm_inference_relu;
      const ValueId shortcut = in.size() > 5 ? in[5] : kNoValue;
      return [=, &v, a = attributes<BatchNormAttributes>(node)](Stream stream) {
        cuda::batch_norm_inference(v.get(out[0]), v.get(in[0]), v.get<float>(in[1]), v.get<float>(in[2]), v.get<float>(in[3]),
                                   v.get<float>(in[4]), shortcut == kNoValue ? nullptr : v.get(shortcut), rows, channels,
                                   a.epsilon, relu, element, stream);
      };
    }
    case Op::batch_norm_grad:
      return [=, &v](Stream stream) {
        cuda::batch_norm_grad(v.get(out[0]), v.get<float>(out[1]), v.get<float>(out[2]), nullptr, v.get(in[0]), nullptr,
                              nullptr, nullptr, v.get(in[1]), v.get<float>(in[2]), v.get<float>(in[3]), v.get<float>(in[4]),
                              rows, channels, element, workspace, stream);
      };
    case Op::batch_norm_relu_grad: {
      const auto& a = attributes<BatchNormReluGradAttributes>(node);
      const ValueId dy2 = a.second ? in[1] : kNoValue;
      const std::size_t at = a.second ? 2 : 1;  // y or mask
      return [=, &v, mask = a.mask](Stream stream) {
        cuda::batch_norm_grad(v.get(out[0]), v.get<float>(out[1]), v.get<float>(out[2]), v.get(out[3]), v.get(in[0]),
                              dy2 == kNoValue ? nullptr : v.get(dy2), mask ? v.get<std::uint32_t>(in[at]) : nullptr,
                              mask ? nullptr : v.get(in[at]), v.get(in[at + 1]), v.get<float>(in[at + 2]),
                              v.get<float>(in[at + 3]), v.get<float>(in[at + 4]), rows, channels, element, workspace, stream);
      };
    }
    case Op::layer_norm:
      return [=, &v, epsilon = attributes<LayerNormAttributes>(node).epsilon](Stream stream) {
        cuda::layer_norm(v.get(out[0]), v.get<float>(out[1]), v.get<float>(out[2]), v.get(in[0]), v.get<float>(in[1]),
                         v.get<float>(in[2]), rows, channels, epsilon, element, stream);
      };
    case Op::layer_norm_grad:
      return [=, &v](Stream stream) {
        cuda::layer_norm_grad(v.get(out[0]), v.get<float>(out[1]), v.get<float>(out[2]), v.get(in[0]), v.get(in[1]),
                              v.get<float>(in[2]), v.get<float>(in[3]), v.get<float>(in[4]), rows, channels, element, workspace,
                              stream);
      };
    case Op::cross_entropy:
      return [=, &v, mean = attributes<CrossEntropyAttributes>(node).mean](Stream stream) {
        cuda::cross_entropy(v.get<float>(out[0]), v.get<float>(out[1]), v.get(in[0]), v.get<std::int32_t>(in[1]), rows,
                            channels, mean, element, workspace, stream);
      };
    case Op::cross_entropy_grad: {
      const ValueId scale = in.size() > 3 ? in[3] : kNoValue;
      return [=, &v, mean = attributes<CrossEntropyAttributes>(node).mean](Stream stream) {
        cuda::cross_entropy_grad(v.get(out[0]), v.get(in[0]), v.get<std::int32_t>(in[1]), v.get<float>(in[2]),
                                 scale == kNoValue ? nullptr : v.get<float>(scale), rows, channels, mean, element, workspace,
                                 stream);
      };
    }
    case Op::count_correct:
      return [=, &v](Stream stream) {
        cuda::count_correct(v.get<float>(out[0]), v.get(in[0]), v.get<std::int32_t>(in[1]), rows, channels, element, workspace,
                            stream);
      };
    case Op::max_pool:
      return [=, &v, s = pool_shape(graph, node)](Stream stream) {
        cuda::max_pool(v.get(out[0]), v.get<std::uint8_t>(out[1]), v.get(in[0]), s, element, stream);
      };
    case Op::max_pool_grad:
      return [=, &v, s = pool_shape(graph, node)](Stream stream) {
        cuda::max_pool_grad(v.get(out[0]), v.get(in[0]), v.get<std::uint8_t>(in[1]), s, element, stream);
      };
    case Op::global_average_pool:
      return [=, &v, x = first.shape](Stream stream) {
        cuda::global_average_pool(v.get(out[0]), v.get(in[0]), x[0], x[1] * x[2], x[3], element, stream);
      };
    case Op::global_average_pool_grad:
      return [=, &v, x = graph.desc(out[0]).shape](Stream stream) {
        cuda::global_average_pool_grad(v.get(out[0]), v.get(in[0]), x[0], x[1] * x[2], x[3], element, stream);
      };
    case Op::embedding:
      return [=, &v, ids = graph.desc(in[1]).elements()](Stream stream) {
        cuda::embedding(v.get(out[0]), v.get(in[0]), v.get<std::int32_t>(in[1]), ids, channels, element, stream);
      };
    case Op::embedding_grad: {
      const ValueId base = in.size() > 2 ? in[2] : kNoValue;
      const Element base_element = base == kNoValue ? Element::f32 : source.element(base);
      return [=, &v, table = graph.desc(out[0]).shape](Stream stream) {
        cuda::embedding_grad(v.get<float>(out[0]), v.get(in[0]), v.get<std::int32_t>(in[1]),
                             base == kNoValue ? nullptr : v.get(base), base_element, rows, table[0], table[1], element, stream);
      };
    }
    case Op::add_rows:
      return [=, &v, period = attributes<AddRowsAttributes>(node).period](Stream stream) {
        cuda::add_rows(v.get(out[0]), v.get(in[0]), v.get(in[1]), rows, channels, period, element, stream);
      };
    case Op::add_rows_grad:
      return [=, &v, a = attributes<AddRowsAttributes>(node)](Stream stream) {
        cuda::add_rows_grad(v.get<float>(out[0]), v.get(in[0]), rows, channels, a.period, a.table_rows, element, workspace,
                            stream);
      };
    case Op::gather_rows:
      return [=, &v, p = graph.desc(in[1]).shape, s = attributes<GatherRowsAttributes>(node).sequence](Stream stream) {
        cuda::gather_rows(v.get(out[0]), v.get(in[0]), v.get<std::int32_t>(in[1]), p[0], s, p[1], channels, element, stream);
      };
    case Op::gather_rows_grad:
      return [=, &v, p = graph.desc(in[1]).shape, s = attributes<GatherRowsAttributes>(node).sequence](Stream stream) {
        cuda::gather_rows_grad(v.get(out[0]), v.get(in[0]), v.get<std::int32_t>(in[1]), p[0], s, p[1], channels, element,
                               stream);
      };
    case Op::sgd:
    case Op::adamw:
      return optimizer(source);
    case Op::all_finite:
      return all_finite(source);
    case Op::update_loss_scale: {
      const auto& a = attributes<LossScaleAttributes>(node);
      const cuda::LossScaleNumbers numbers{static_cast<float>(a.growth), static_cast<float>(a.backoff),
                                           static_cast<std::int32_t>(a.growth_interval), static_cast<float>(kSmallestLossScale),
                                           static_cast<float>(kLargestLossScale)};
      return [=, &v](Stream stream) {
        cuda::update_loss_scale(v.get<float>(in[1]), v.get<std::int32_t>(in[2]), v.get<std::int32_t>(in[3]),
                                v.get<std::int32_t>(in[0]), numbers, stream);
      };
    }
    case Op::increment:
      return [=, &v](Stream stream) { cuda::increment(v.get<std::int32_t>(out[0]), stream); };
    case Op::reshape:
    case Op::cast:
    case Op::matmul:
    case Op::linear:
    case Op::linear_grad_weight:
    case Op::conv2d:
    case Op::conv2d_bias:
    case Op::conv2d_grad_input:
    case Op::conv2d_grad_weight:
    case Op::attention:
    case Op::attention_grad:
      break;  // compile() handles them
  }
  throw std::logic_error(std::string(name(node.op)) + " is not a single CUDA kernel");
}

CudaNode compile(const CudaNodeSource& source, CudaAttention& attention) {
  switch (source.node.op) {
    case Op::reshape:
      return {{}, "view"};
    case Op::cast:
      return cast(source);
    case Op::matmul:
    case Op::linear:
    case Op::linear_grad_weight:
      return cuda_product(source);
    case Op::conv2d:
    case Op::conv2d_bias:
    case Op::conv2d_grad_input:
    case Op::conv2d_grad_weight:
      return cuda_convolution(source);
    case Op::attention:
    case Op::attention_grad:
      return attention.compile(source);
    default:  // kernel() has them all
      return {kernel(source), std::string("cuda ") + name(source.node.op)};
  }
}

}  // namespace

CudaNodeCompiler cuda_node_compiler(std::shared_ptr<cuda::Libraries> libraries, std::uint64_t seed, bool winograd) {
  return [libraries = std::move(libraries), seed, winograd, attention = std::make_shared<CudaAttention>()](
             const Graph& graph, const Node& node, const CudaNodeContext& context) {
    return compile({graph, node, context, libraries, seed, winograd}, *attention);
  };
}

}  // namespace epochbench
