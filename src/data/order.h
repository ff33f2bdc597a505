// The order in which an epoch visits the samples of the training split.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace epochbench {

enum class Order : std::uint8_t { shuffled, sequential };

// Writes the permutation of 0 .. n - 1 that epoch `epoch` visits: Fisher-Yates (Durstenfeld 1964) over Philox numbers.
void permute(std::span<std::uint32_t> permutation, std::uint64_t seed, std::uint64_t epoch);

// The permutations of the epochs in use, each computed at its first use. Thread-safe.
class EpochOrder {
 public:
  // Allocates and touches all memory. Sequential order needs none.
  EpochOrder(Order order, std::int64_t samples, std::uint64_t seed);
  // Writes the samples at positions `first`, `first + 1`, ... of the epoch.
  void indices(std::uint64_t epoch, std::int64_t first, std::span<std::uint32_t> indices);

 private:
  struct Cached {
    std::optional<std::uint64_t> epoch;
    std::vector<std::uint32_t> permutation;
  };
  const Order order_;
  const std::uint64_t seed_;
  std::mutex mutex_;
  // Two, as prefetching reaches into the following epoch. A late thread that needs an older one computes it again.
  std::array<Cached, 2> cached_;
};

}  // namespace epochbench
