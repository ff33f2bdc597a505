// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): counter-based random numbers.
//
// key = seed; counter = (element / 4, step, ordinal or name hash, stream). The same key and counter
// give the same numbers on every thread and device, in any order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace epochbench {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox(std::uint64_t key, PhiloxBlock counter) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0], p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

// The purpose of the numbers; the last element of the counter.
enum class RandomStream : std::uint32_t {
  weights = 1,
  order = 2,
  synthetic = 3,
  dropout = 4,
  masking = 5,
  bootstrap = 6,
  turns = 7,
  augmentation = 8,
  mixup = 9
};

inline double uniform01(std::uint32_t bits) { return (bits + 0.5) * 0x1p-32; }  // in (0, 1)

// Two standard normal numbers from 64 random bits (Box-Muller).
std::array<double, 2> normal_pair(std::uint32_t a, std::uint32_t b);

// FNV-1a, 32 bits: the stream of a name.
constexpr std::uint32_t name_hash(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return hash;
}

}  // namespace epochbench
