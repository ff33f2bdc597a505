// Launches of the kernels that only a step of several ranks has, beside those of kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/kernels.h"

namespace epochbench::cuda {

// What a stream waited for others since record_waiting read it, by a clock of the device. The wait stands between the two
// calls, whose own launch, a microsecond or two, counts as well.
struct Waiting {
  std::uint64_t since, nanoseconds;
};
void begin_waiting(Waiting* waiting, Stream stream);
void end_waiting(Waiting* waiting, Stream stream);
// Writes the seconds to ring[*cursor % capacity] and begins again from 0. Goes before record_step, which moves the cursor on.
// The ring may be pinned host memory.
void record_waiting(float* ring, const std::uint32_t* cursor, std::uint32_t capacity, Waiting* waiting, Stream stream);

// optimizer.cu: clip_factor in two, without a loss scale, so that ranks can add up the sums [1] of their shares in between.
// workspace: clip_workspace_bytes(chunk_count)
void sum_of_squares(float* sum, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, void* workspace,
                    Stream stream);
void clip_factor(float* factor, const float* sum_of_squares, float largest_norm, Stream stream);

}  // namespace epochbench::cuda
