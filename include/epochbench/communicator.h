// What processes, or threads, that train together exchange. All ranks make the same calls in the same order; each call blocks
// until its result is there. Sums are added in the order of the ranks, so they are the same to the bit on every rank and in
// every run.
#pragma once

#include <algorithm>
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

inline constexpr int kMostRanks = 1024;

struct Share {
  std::size_t first = 0, count = 0;
};
// Of `values` elements, those that `rank` of `ranks` sums or owns; whole cache lines, so that no two ranks write to one. Rank 0
// has the most.
inline Share share_of(std::size_t values, int rank, int ranks) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  const auto count = static_cast<std::size_t>(ranks), index = static_cast<std::size_t>(rank);
  const std::size_t lines = (values + kLine - 1) / kLine, each = (lines + count - 1) / count * kLine;
  const std::size_t first = std::min(index * each, values);
  return {first, std::min(each, values - first)};
}

struct Traffic {
  double seconds = 0;    // waiting for other ranks included
  double rounds = 0;     // of messages between all ranks: 2 of a sum that all get, 1 of a sum of shares or of gathering
  double bus_bytes = 0;  // that a rank sends in them: of a sum of n bytes 2 n (size - 1) / size, as nccl-tests counts

  Traffic& operator+=(const Traffic& other) {
    seconds += other.seconds;
    rounds += other.rounds;
    bus_bytes += other.bus_bytes;
    return *this;
  }
};
// Of `rounds` in which each of `size` ranks sends a share of these elements to every other one; without the seconds.
inline Traffic traffic_of(int rounds, std::size_t elements, int size) {
  const double bytes = static_cast<double>(rounds) * static_cast<double>(elements * sizeof(float));
  return {0, static_cast<double>(rounds), bytes * (size - 1) / size};
}

using Pieces = std::span<const std::span<float>>;  // of memory: as many on each rank, each of the same size

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;        // from 0
  virtual int size() const = 0;        // number of ranks
  virtual int local_size() const = 0;  // of those on this machine
  virtual int local_rank() const = 0;  // among those, from 0

  // Errors of all: CommunicationError; std::invalid_argument for sizes that do not agree with the number of ranks.
  // values: on each rank as many; becomes values of rank 0 + those of rank 1 + …, added in this order.
  virtual void all_reduce(std::span<float> values) = 0;
  // Of each piece, this rank's share becomes the sum of the same elements of all ranks; the rest stays what it is.
  virtual void reduce_scatter(Pieces pieces) = 0;
  // Of each piece, the share of every other rank becomes what that rank has there.
  virtual void all_gather(Pieces pieces) = 0;
  // all [size, n]: row i becomes `own` [n] of rank i.
  virtual void all_gather(std::span<std::byte> all, std::span<const std::byte> own) = 0;
  virtual void broadcast(std::span<std::byte> values, int root) = 0;
  virtual void barrier() = 0;

  const Traffic& traffic() const { return traffic_; }          // of the four, so far, and of what was counted besides
  void count(const Traffic& traffic) { traffic_ += traffic; }  // of devices that exchange by themselves

 protected:
  void count(int rounds, std::size_t elements) { count(traffic_of(rounds, elements, size())); }

  Traffic traffic_;
};

}  // namespace epochbench
