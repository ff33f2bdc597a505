// What processes, or threads, that train together exchange. All ranks make the same calls in the same order; each call blocks
// until its result is there. Sums are added in the order of the ranks, so they are the same to the bit on every rank and in
// every run.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace epochbench {

// A rank is gone, or did not take part in time.
class CommunicationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;        // from 0
  virtual int size() const = 0;        // number of ranks
  virtual int local_size() const = 0;  // of those on this machine

  // Errors of all: CommunicationError; std::invalid_argument for sizes that do not agree with the number of ranks.
  // values: on each rank as many; becomes values of rank 0 + those of rank 1 + …, added in this order.
  virtual void all_reduce(std::span<float> values) = 0;
  // values [size, n]: `part` [n] becomes the sum of row rank() over all ranks.
  virtual void reduce_scatter(std::span<float> part, std::span<const float> values) = 0;
  // all [size, n]: row i becomes `own` [n] of rank i.
  virtual void all_gather(std::span<std::byte> all, std::span<const std::byte> own) = 0;
  virtual void broadcast(std::span<std::byte> values, int root) = 0;
  virtual void barrier() = 0;

  double seconds() const { return seconds_; }  // spent in all_reduce so far, waiting for other ranks included

 protected:
  double seconds_ = 0;
};

}  // namespace epochbench
