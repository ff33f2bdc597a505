// Exchanges of a rank on a GPU with the other ranks, concurrent with its compute stream. They run on a separate stream, which
// is forked from the compute stream by one event and joined by another, so that both are one captured step. All library calls
// are made on this stream, in the order of the step, which is the same on all ranks.
//
// Two kernels that read the device's clock measure how long the compute stream waits at joins, as events in a captured step
// would be overwritten by its next launch before they are read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "epochbench/communicator.h"
#include "kernels/cuda/exchange.h"
#include "kernels/cuda/libraries/collectives.h"
#include "src/backend/cuda/cuda_handles.h"
#include "src/backend/host/program_layout.h"

namespace epochbench {

// The ranks that train together on GPUs; a single rank has neither.
struct CudaRanks {
  std::shared_ptr<cuda::Collectives> collectives;
  Communicator* communicator = nullptr;  // between their processes; must outlive the executables
};

class CudaExchange {
 public:
  // `exchange`: the stream for exchanges. The owner of the streams waits for both before this is destroyed.
  // `ring`: the number of steps that may be under way.
  CudaExchange(cuda::Device& device, CudaRanks ranks, cuda::Stream compute, cuda::Stream exchange, std::uint64_t ring);

  int rank() const { return ranks_.communicator->rank(); }
  int ranks() const { return ranks_.communicator->size(); }

  // Enqueue an exchange between ranks. Pieces as in communicator.h.
  void all_reduce(Pieces pieces, cuda::Stream stream) const;
  void reduce_scatter(Pieces pieces, cuda::Stream stream) const;
  void all_gather(Pieces pieces, cuda::Stream stream) const;

  // The exchange begins when the compute stream reaches this point.
  void begin(const std::function<void(cuda::Stream)>& exchange);
  void join();                                       // the compute stream waits for all exchanges that have begun
  void record_waiting(const std::uint32_t* cursor);  // the cursor of record_step; goes before it

  // What a training step exchanges, without the time.
  void set_traffic_of_step(const Traffic& traffic) { traffic_of_step_ = traffic; }
  void count_step(std::uint64_t step);  // a finished step, with its recorded time

 private:
  // Shares of equal size are one call; otherwise each rank's share is a separate call, with the same bytes in total.
  void in_shares(Pieces pieces, const std::function<void(std::span<float>, std::size_t each)>& even,
                 const std::function<void(std::span<float>, int owner)>& uneven) const;

  cuda::Waiting* waiting() const { return reinterpret_cast<cuda::Waiting*>(waiting_.data()); }
  float* waited_seconds() const { return reinterpret_cast<float*>(waited_seconds_.data()); }

  cuda::Device& device_;
  CudaRanks ranks_;
  cuda::Stream compute_, exchange_;
  std::uint64_t ring_;
  cuda::DeviceMemory waiting_;
  cuda::PinnedMemory waited_seconds_;  // f32 [ring]
  cuda::Owned<cuda::Event> forked_, joined_;
  Traffic traffic_of_step_;
};

// The traffic of the nodes of an update that exchange, without the time.
Traffic exchanged_by(const Graph& update, const ValueMemory& memory, int ranks);

}  // namespace epochbench
