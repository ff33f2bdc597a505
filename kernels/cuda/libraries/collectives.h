// What the GPUs of ranks exchange, behind an interface as narrow as NCCL's: floats, in place, enqueued on a stream. All ranks
// make the same calls in the same order. A call neither allocates nor waits once there was one like it, and can be captured.
// Which elements are whose is decided above.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/kernels.h"

namespace epochbench::cuda {

class Collectives {
 public:
  virtual ~Collectives() = default;
  // values [n]: on every rank the sum over the ranks, the same to the bit. The order of additions is the library's.
  virtual void all_reduce(float* values, std::size_t n, Stream stream) = 0;
  // values [ranks,each]: row `rank` becomes its sum over the ranks on that rank; the other rows may be overwritten.
  virtual void reduce_scatter(float* values, std::size_t each, Stream stream) = 0;
  // values [ranks,each]: every row becomes what its rank has there.
  virtual void all_gather(float* values, std::size_t each, Stream stream) = 0;
  // values [n]: on rank `root` the sum over the ranks; what that rank has.
  virtual void reduce(float* values, std::size_t n, int root, Stream stream) = 0;
  virtual void broadcast(float* values, std::size_t n, int root, Stream stream) = 0;
  // Calls between the two may run as one.
  virtual void begin_group() = 0;
  virtual void end_group() = 0;
};

using CollectivesId = std::array<char, 128>;  // of a group of ranks; one makes it, and all get it

// Why GPUs cannot exchange here, in one line that says how to change that; empty where they can. Loads the library.
std::optional<std::string> collectives_obstacle();
// NCCL. All ranks call the second, each with its device, and wait for each other. Errors: Error with the library's words.
CollectivesId make_collectives_id();
std::shared_ptr<Collectives> make_collectives(const CollectivesId& id, int rank, int ranks, int device);

}  // namespace epochbench::cuda
