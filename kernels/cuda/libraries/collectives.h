// Exchanges between the GPUs of ranks, behind an interface as narrow as NCCL's: floats, in place, enqueued on a stream. All
// ranks make the same calls in the same order. After a first call like it, a call neither allocates nor waits, and it can be
// captured. The layer above decides which rank owns which elements.
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
  // values [n]: becomes the sum over the ranks, bit-identical on every rank. The library chooses the order of additions.
  virtual void all_reduce(float* values, std::size_t n, Stream stream) = 0;
  // values [ranks,each]: row `rank` becomes its sum over the ranks on that rank; the other rows may be overwritten.
  virtual void reduce_scatter(float* values, std::size_t each, Stream stream) = 0;
  // values [ranks,each]: on every rank, row r becomes row r of rank r.
  virtual void all_gather(float* values, std::size_t each, Stream stream) = 0;
  // values [n]: reduce leaves the sum over the ranks on rank `root`; broadcast copies the values of that rank to all.
  virtual void reduce(float* values, std::size_t n, int root, Stream stream) = 0;
  virtual void broadcast(float* values, std::size_t n, int root, Stream stream) = 0;
  // Calls between the two may run as one.
  virtual void begin_group() = 0;
  virtual void end_group() = 0;
};

using CollectivesId = std::array<char, 128>;  // identifies a group of ranks; one rank makes it, and all receive it

// Why GPUs cannot exchange here and how to change that, in one line; empty if they can. Loads the library.
std::optional<std::string> collectives_obstacle();
// NCCL. All ranks call make_collectives, each with its device, and wait for each other. Errors: Error with the library's
// message.
CollectivesId make_collectives_id();
std::shared_ptr<Collectives> make_collectives(const CollectivesId& id, int rank, int ranks, int device);

}  // namespace epochbench::cuda
