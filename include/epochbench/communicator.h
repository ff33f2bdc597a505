// Exchange between processes or threads that train together. All ranks make the same calls in the same order; each call blocks
// until it has its result. Sums are added in rank order, so they are identical to the bit on every rank and in every run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace epochbench {

// A rank is gone or did not respond in time.
class CommunicationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int kMaxRanks = 1024;

struct Share {
  std::size_t first = 0, count = 0;
};
// The share of `values` elements that `rank` of `ranks` sums or owns: whole cache lines, so that no two ranks write to the same
// one. Rank 0 has the largest share.
inline Share share_of(std::size_t values, int rank, int ranks) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  const auto count = static_cast<std::size_t>(ranks), index = static_cast<std::size_t>(rank);
  const std::size_t lines = (values + kLine - 1) / kLine, each = (lines + count - 1) / count * kLine;
  const std::size_t first = std::min(index * each, values);
  return {first, std::min(each, values - first)};
}

struct Traffic {
  double seconds = 0;    // including waits for other ranks
  double rounds = 0;     // of messages between all ranks: 2 for an all-reduce, 1 for a reduce-scatter or an all-gather
  double bus_bytes = 0;  // that a rank sends in them: 2 n (size - 1) / size for an all-reduce of n bytes, as nccl-tests counts

  Traffic& operator+=(const Traffic& other) {
    seconds += other.seconds;
    rounds += other.rounds;
    bus_bytes += other.bus_bytes;
    return *this;
  }
};
// Traffic of `rounds` in which each of `size` ranks sends a share of these elements to every other rank; without seconds.
inline Traffic traffic_of(int rounds, std::size_t elements, int size) {
  const double bytes = static_cast<double>(rounds) * static_cast<double>(elements * sizeof(float));
  return {0, static_cast<double>(rounds), bytes * (size - 1) / size};
}

using Pieces = std::span<const std::span<float>>;  // of memory: the same number and sizes on every rank

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;        // from 0
  virtual int size() const = 0;        // number of ranks
  virtual int local_size() const = 0;  // number of ranks on this machine
  virtual int local_rank() const = 0;  // among them, from 0

  // Errors of all: CommunicationError; std::invalid_argument for sizes that do not agree with the number of ranks.
  // `values` has the same size on every rank; becomes values of rank 0 + values of rank 1 + …, added in this order.
  virtual void all_reduce(std::span<float> values) = 0;
  // In each piece, this rank's share becomes the sum of those elements over all ranks; the rest is unchanged.
  virtual void reduce_scatter(Pieces pieces) = 0;
  // In each piece, the share of every other rank becomes what that rank has there.
  virtual void all_gather(Pieces pieces) = 0;
  // all [size, n]: row i becomes `own` [n] of rank i.
  virtual void all_gather(std::span<std::byte> all, std::span<const std::byte> own) = 0;
  virtual void broadcast(std::span<std::byte> values, int root) = 0;
  virtual void barrier() = 0;

  const Traffic& traffic() const { return traffic_; }          // of reductions and gathers so far, plus what count() added
  void count(const Traffic& traffic) { traffic_ += traffic; }  // for devices that exchange by themselves

 protected:
  void count(int rounds, std::size_t elements) { count(traffic_of(rounds, elements, size())); }

  Traffic traffic_;
};

}  // namespace epochbench
