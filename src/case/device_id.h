// Which device of this machine a case runs on.
#pragma once

#include <cstdint>
#include <string>

#include "src/case/choices.h"

namespace epochbench {

enum class DeviceKind : std::uint8_t { cpu, cuda, reference };
constexpr auto texts_of(DeviceKind) { return std::array{"cpu", "cuda", "reference"}; }

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;  // of a GPU among this machine's
  bool operator==(const DeviceId&) const = default;
};

inline constexpr DeviceId cuda_device(int index) { return {DeviceKind::cuda, index}; }

std::string to_string(DeviceId device);  // "cpu", "cuda:0", "reference"

// Accepts "cuda" for "cuda:0". Errors: CallError.
DeviceId parse_device(const std::string& text);

}  // namespace epochbench
