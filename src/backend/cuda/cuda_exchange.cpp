#include "src/backend/cuda/cuda_exchange.h"

#include <utility>

#include "src/backend/host/exchange_order.h"

namespace epochbench {

CudaExchange::CudaExchange(cuda::Device& device, CudaRanks ranks, cuda::Stream compute, cuda::Stream exchange,
                           std::uint64_t ring)
    : device_(device),
      ranks_(std::move(ranks)),
      compute_(compute),
      exchange_(exchange),
      ring_(ring),
      waiting_(device_, sizeof(cuda::Waiting)),
      waited_seconds_(device_, sizeof(float) * ring),
      forked_(device_, device_.make_event()),
      joined_(device_, device_.make_event()) {
  device_.clear(waiting_.data(), waiting_.size(), compute_);
}

void CudaExchange::all_reduce(Pieces pieces, cuda::Stream stream) const {
  ranks_.collectives->begin_group();
  for (const std::span<float> piece : pieces) ranks_.collectives->all_reduce(piece.data(), piece.size(), stream);
  ranks_.collectives->end_group();
}

void CudaExchange::in_shares(Pieces pieces, const std::function<void(std::span<float>, std::size_t each)>& even,
                             const std::function<void(std::span<float>, int owner)>& uneven) const {
  ranks_.collectives->begin_group();
  for (const std::span<float> piece : pieces) {
    const std::size_t each = share_of(piece.size(), 0, ranks()).count;
    if (each * static_cast<std::size_t>(ranks()) == piece.size()) {
      even(piece, each);
      continue;
    }
    for (int owner = 0; owner < ranks(); ++owner)
      if (const Share share = share_of(piece.size(), owner, ranks()); share.count > 0)
        uneven(piece.subspan(share.first, share.count), owner);
  }
  ranks_.collectives->end_group();
}

void CudaExchange::reduce_scatter(Pieces pieces, cuda::Stream stream) const {
  cuda::Collectives& group = *ranks_.collectives;
  in_shares(
      pieces, [&](std::span<float> piece, std::size_t each) { group.reduce_scatter(piece.data(), each, stream); },
      [&](std::span<float> share, int owner) { group.reduce(share.data(), share.size(), owner, stream); });
}

void CudaExchange::all_gather(Pieces pieces, cuda::Stream stream) const {
  cuda::Collectives& group = *ranks_.collectives;
  in_shares(
      pieces, [&](std::span<float> piece, std::size_t each) { group.all_gather(piece.data(), each, stream); },
      [&](std::span<float> share, int owner) { group.broadcast(share.data(), share.size(), owner, stream); });
}

void CudaExchange::begin(const std::function<void(cuda::Stream)>& exchange) {
  device_.record(forked_.get(), compute_);
  device_.wait(exchange_, forked_.get());
  exchange(exchange_);
}

void CudaExchange::join() {
  device_.record(joined_.get(), exchange_);
  cuda::begin_waiting(waiting(), compute_);
  device_.wait(compute_, joined_.get());
  cuda::end_waiting(waiting(), compute_);
}

void CudaExchange::record_waiting(const std::uint32_t* cursor) {
  cuda::record_waiting(waited_seconds(), cursor, static_cast<std::uint32_t>(ring_), waiting(), compute_);
}

void CudaExchange::count_step(std::uint64_t step) {
  Traffic traffic = traffic_of_step_;
  traffic.seconds = static_cast<double>(waited_seconds()[step % ring_]);
  ranks_.communicator->count(traffic);
}

Traffic exchanged_by(const Graph& update, const ValueMemory& memory, int ranks) {
  Traffic traffic;
  for (const Node& node : update.nodes) {
    const auto* clip = std::get_if<ClipFactorAttributes>(&node.attributes);
    if (clip != nullptr && clip->ranks > 1) traffic += traffic_of(2, 1, ranks);
    if (!is_collective(node.op)) continue;
    std::size_t elements = 0;
    for (const std::span<float> piece : exchanged_pieces(update, node, memory)) elements += piece.size();
    traffic += traffic_of(node.op == Op::all_reduce ? 2 : 1, elements, ranks);
  }
  return traffic;
}

}  // namespace epochbench
