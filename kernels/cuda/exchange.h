// Kernels that only a step of several ranks needs, in addition to those of kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/kernels.h"

namespace epochbench::cuda {

// The time a stream has waited for other ranks since the last record_waiting, by a device clock. The wait is enqueued between
// begin_waiting and end_waiting, whose own launches, a microsecond or two, are included.
struct Waiting {
  std::uint64_t since, nanoseconds;
};
void begin_waiting(Waiting* waiting, Stream stream);
void end_waiting(Waiting* waiting, Stream stream);
// Writes the seconds to ring[*cursor % capacity] and restarts from 0. Must precede record_step, which advances the cursor. The
// ring may be pinned host memory.
void record_waiting(float* ring, const std::uint32_t* cursor, std::uint32_t capacity, Waiting* waiting, Stream stream);

// optimizer.cu: clip_factor in two steps, without a loss scale, so that ranks can add the sums [1] of their shares in between.
// workspace: clip_workspace_bytes(chunk_count)
void sum_of_squares(float* sum, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, void* workspace,
                    Stream stream);
void clip_factor(float* factor, const float* sum_of_squares, float largest_norm, Stream stream);

}  // namespace epochbench::cuda
