#include "src/data/order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "epochbench/philox.h"

namespace epochbench {

void permute(std::span<std::uint32_t> permutation, std::uint64_t seed, std::uint64_t epoch) {
  std::iota(permutation.begin(), permutation.end(), 0u);
  PhiloxBlock numbers{};
  for (std::uint32_t drawn = 0, left = static_cast<std::uint32_t>(permutation.size()); left > 1; ++drawn, --left) {
    if (drawn % 4 == 0) {
      numbers = philox(seed, {drawn / 4, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32),
                              static_cast<std::uint32_t>(RandomStream::order)});
    }
    // Scaling instead of rejection: the bias is at most left / 2^32, and the number of draws is fixed.
    const auto chosen = static_cast<std::uint32_t>((std::uint64_t{numbers[drawn % 4]} * left) >> 32);
    std::swap(permutation[chosen], permutation[left - 1]);
  }
}

EpochOrder::EpochOrder(Order order, std::int64_t samples, std::uint64_t seed) : order_(order), seed_(seed) {
  if (order_ == Order::sequential) return;
  for (Cached& cached : cached_) cached.permutation.assign(static_cast<std::size_t>(samples), 0u);
}

void EpochOrder::indices(std::uint64_t epoch, std::int64_t first, std::span<std::uint32_t> indices) {
  if (order_ == Order::sequential) {
    std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(first));
    return;
  }
  const std::lock_guard lock(mutex_);
  Cached& cached = cached_[epoch % cached_.size()];
  if (cached.epoch != epoch) {
    permute(cached.permutation, seed_, epoch);
    cached.epoch = epoch;
  }
  std::copy_n(cached.permutation.begin() + first, indices.size(), indices.begin());
}

}  // namespace epochbench
