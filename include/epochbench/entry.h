// The entry points of a program: each runs one of its graphs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace epochbench {

// Prepare computes derived variables from weights set from outside: packed bytes for int8, 16-bit copies for training.
// Calibrate, for int8, runs before it: forward in float, it widens the ranges of activations. Both run before the entries that
// measure or evaluate. Update, the optimizer, ends a training step whose batch is divided into parts.
enum class Entry : std::uint8_t { train, evaluate, forward, calibrate, prepare, update };
inline constexpr std::size_t kEntryCount = 6;
const char* name(Entry entry);

}  // namespace epochbench
