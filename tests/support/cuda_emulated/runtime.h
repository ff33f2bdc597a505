// Streams, events and graphs of the emulated CUDA runtime. Work runs on the CPU as soon as it is enqueued, or is collected
// while a step is captured; what depends on asynchrony is tested with cuda_fake_device.h.
#pragma once

#include <functional>
#include <vector>

#include "tests/support/cuda_emulated/machine.h"

struct CUgraph_st {
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
  std::int64_t launches = 0;
};
struct CUstream_st {
  epochbench::test::EmulatedCard* card;
  CUgraph_st* captured = nullptr;  // not null during a capture that it takes part in
};
struct CUevent_st {
  double seconds = 0;
  CUgraph_st* captured = nullptr;  // the capture in which it was recorded last
};

namespace epochbench::test {

// Work of this size is not carried out, and takes kSecondsOfHugeWork of the card's clock: no model that a test trains has it,
// only the measurement of peaks.
inline constexpr double kHugeFlops = 1e11;
inline constexpr std::size_t kHugeBytes = std::size_t{16} << 20;
inline constexpr double kSecondsOfHugeWork = 2e-3;

EmulatedCard* current_card();                    // of this thread; null: there is none
cudaError_t state_of(const EmulatedCard* card);  // its error once it is lost
cudaError_t state();                             // of the current card
// For calls that a capture forbids, and that invalidate it: waiting for a stream or the device, allocating and freeing.
cudaError_t state_outside_captures();
// Errors: that of a lost card.
cudaError_t perform(cudaStream_t stream, std::function<void()> work);
void pass_seconds(double seconds);  // of the cards' clock, in addition to real time

}  // namespace epochbench::test
