// The end of a step: the optimizer and what precedes it, each in one launch for all parameters, and exchanges between ranks.
#include <stdexcept>

#include "kernels/cuda/exchange.h"
#include "src/backend/cuda/cuda_plans.h"
#include "src/backend/host/exchange_order.h"

namespace epochbench {

CudaChunks upload_chunks(DeviceTables& tables, const std::vector<std::int64_t>& elements) {
  std::vector<cuda::Chunk> chunks;
  for (std::size_t tensor = 0; tensor < elements.size(); ++tensor)
    for (std::int64_t first = 0; first < elements[tensor]; first += cuda::kChunkElements)
      chunks.push_back({static_cast<std::int32_t>(tensor), first});
  return {tables.upload(chunks), static_cast<std::int64_t>(chunks.size())};
}

CudaExchange* CudaNodeSource::exchange() const {
  if (context.exchange == nullptr) throw std::logic_error("a graph for ranks is compiled without a communicator");
  return context.exchange;
}

Share CudaNodeSource::share(ValueId id, std::int64_t ranks) const {
  return owned_share(graph, id, ranks, ranks == 1 ? 0 : exchange()->rank());
}

const void* CudaNodeSource::elements_from(ValueId id, Share share) const {
  return context.values.get<const std::byte>(id) + share.first * size_bytes(graph.desc(id).dtype);
}

namespace {

using cuda::Stream;

struct OptimizerTable {
  const cuda::OptimizerTensor* tensors;
  CudaChunks chunks;
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
    const Share share = source.share(weight, layout.ranks);
    elements.push_back(static_cast<std::int64_t>(share.count));
    tensors.push_back({v.get<float>(weight) + share.first, v.get<float>(state[0]), adamw ? v.get<float>(state[1]) : nullptr,
                       source.elements_from(gradient, share), elements.back(), source.element(gradient),
                       adamw ? static_cast<float>(adamw->weight_decay[static_cast<std::size_t>(i)]) : 0});
  }
  for (std::size_t i = 0; adamw && i < adamw->copies.size(); ++i) {
    const ValueId copy = source.in()[static_cast<std::size_t>(layout.copies) + i];
    cuda::OptimizerTensor& tensor = tensors[static_cast<std::size_t>(adamw->copies[i])];
    tensor.copy = v.get(copy);
    tensor.copy_element = source.element(copy);
  }
  return {source.context.tables.upload(tensors), upload_chunks(source.context.tables, elements)};
}

cuda::LossScale loss_scale(const CudaNodeSource& source, const OptimizerLayout& layout) {
  auto address = [&]<typename T>(int position, T*) {
    return position < 0 ? nullptr : source.context.values.get<const T>(source.in()[static_cast<std::size_t>(position)]);
  };
  return {address(layout.loss_scale, static_cast<float*>(nullptr)), address(layout.finite, static_cast<std::int32_t*>(nullptr)),
          address(layout.skipped_steps, static_cast<std::int32_t*>(nullptr))};
}

// A table of gradients alone: the inputs from `first` on; with several ranks, this rank's shares.
OptimizerTable upload_gradients(const CudaNodeSource& source, std::size_t first, std::int64_t ranks = 1) {
  std::vector<cuda::OptimizerTensor> tensors;
  std::vector<std::int64_t> elements;
  for (std::size_t i = first; i < source.in().size(); ++i) {
    const ValueId id = source.in()[i];
    const Share share = source.share(id, ranks);
    elements.push_back(static_cast<std::int64_t>(share.count));
    tensors.push_back({nullptr, nullptr, nullptr, source.elements_from(id, share), elements.back(), source.element(id), 0});
  }
  return {source.context.tables.upload(tensors), upload_chunks(source.context.tables, elements)};
}

// A rank sums the squares of its shares; an all-reduce adds the sums. Shares are not used with a loss scale.
std::function<void(Stream)> clip_factor_of_shares(const CudaNodeSource& source, const ClipFactorAttributes& a) {
  ScratchPieces pieces(source.context.workspace);
  auto* const sum = pieces.take<float>(sizeof(float));
  void* const workspace = pieces.take(0);
  return [=, o = source.operands(), t = upload_gradients(source, 0, a.ranks), norm = static_cast<float>(a.largest_norm),
          exchange = source.exchange()](Stream stream) {
    cuda::sum_of_squares(sum, t.tensors, t.chunks.chunks, t.chunks.count, workspace, stream);
    const std::span<float> piece(sum, 1);
    exchange->begin([=](Stream exchanging) { exchange->all_reduce({&piece, 1}, exchanging); });
    exchange->join();
    cuda::clip_factor(o.y32(0), sum, norm, stream);
  };
}

}  // namespace

std::function<void(cuda::Stream)> cuda_optimizer(const CudaNodeSource& source) {
  const OptimizerLayout layout = optimizer_layout(source.node);
  const ValueMemory& v = source.context.values;
  const float* rate = v.get<float>(source.in()[static_cast<std::size_t>(layout.learning_rate)]);
  const float* clip = layout.clip < 0 ? nullptr : v.get<float>(source.in()[static_cast<std::size_t>(layout.clip)]);
  const OptimizerTable t = upload_optimizer(source, layout);
  const cuda::LossScale scale = loss_scale(source, layout);
  if (source.node.op == Op::sgd)
    return [=, a = attributes<SgdAttributes>(source.node)](cuda::Stream stream) {
      cuda::sgd(t.tensors, t.chunks.chunks, t.chunks.count, rate, {a.momentum, a.weight_decay, clip}, scale, stream);
    };
  const auto& a = attributes<AdamwAttributes>(source.node);
  const auto* step = v.get<std::int32_t>(source.in()[static_cast<std::size_t>(layout.step)]);
  return [=, numbers = AdamwNumbers{a.beta1, a.beta2, a.epsilon, clip}](cuda::Stream stream) {
    cuda::adamw(t.tensors, t.chunks.chunks, t.chunks.count, rate, step, numbers, scale, stream);
  };
}

std::function<void(cuda::Stream)> cuda_all_finite(const CudaNodeSource& source) {
  return [=, &v = source.context.values, t = upload_gradients(source, 0), out = source.out()[0]](cuda::Stream stream) {
    cuda::all_finite(v.get<std::int32_t>(out), t.tensors, t.chunks.chunks, t.chunks.count, stream);
  };
}

std::function<void(cuda::Stream)> cuda_clip_factor(const CudaNodeSource& source) {
  const auto& a = attributes<ClipFactorAttributes>(source.node);
  if (a.ranks > 1) return clip_factor_of_shares(source, a);
  return [=, o = source.operands(), t = upload_gradients(source, a.loss_scaled ? 1 : 0), scaled = a.loss_scaled,
          norm = static_cast<float>(a.largest_norm), workspace = source.context.workspace](cuda::Stream stream) {
    cuda::clip_factor(o.y32(0), t.tensors, t.chunks.chunks, t.chunks.count, scaled ? o.x32(0) : nullptr, norm, workspace,
                      stream);
  };
}

std::size_t cuda_clip_workspace_bytes(const Graph& graph, const Node& node) {
  std::int64_t chunks = 0;
  for (ValueId id : node.inputs) chunks += (graph.desc(id).elements() + cuda::kChunkElements - 1) / cuda::kChunkElements;
  return cuda_aligned(sizeof(float)) + cuda::clip_workspace_bytes(chunks);
}

std::function<void(cuda::Stream)> cuda_collective(const CudaNodeSource& source) {
  CudaExchange* const exchange = source.exchange();
  const Op op = source.node.op;
  return [=, pieces = exchanged_pieces(source.graph, source.node, source.context.values)](cuda::Stream stream) {
    if (op == Op::reduce_scatter)
      exchange->reduce_scatter(pieces, stream);
    else if (op == Op::all_gather)
      exchange->all_gather(pieces, stream);
    else
      exchange->all_reduce(pieces, stream);
  };
}

}  // namespace epochbench
