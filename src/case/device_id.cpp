#include "src/case/device_id.h"

#include <algorithm>
#include <cctype>

#include "src/base/numbers.h"

namespace epochbench {

namespace {

// "; did you mean cuda:1?", also for "gpu:1" and others.
std::string device_hint(const std::string& text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view other : {"gpu", "nvidia", "cuda"})
    if (lower.starts_with(other)) {
      const std::size_t digit = text.find_first_of("0123456789");
      const auto end = std::min(text.find_first_not_of("0123456789", digit), text.size());
      const bool has_index = digit != std::string::npos && end - digit <= 3;
      return "; did you mean cuda:" + (has_index ? text.substr(digit, end - digit) : "0") + "?";
    }
  return did_you_mean(text, {"cpu", "reference"});
}

}  // namespace

std::string to_string(DeviceId device) {
  const std::string kind = name(device.kind);
  return device.kind == DeviceKind::cuda ? kind + ":" + std::to_string(device.index) : kind;
}

DeviceId parse_device(const std::string& text) {
  constexpr int kMaxIndex = 255;
  const std::size_t colon = text.find(':');
  const auto kind = from_name<DeviceKind>(text.substr(0, colon));
  if (!kind || (colon != std::string::npos && kind != DeviceKind::cuda))
    throw CallError("'" + text + "' is unknown; choose from cpu, cuda, cuda:0, cuda:1, ..., reference" + device_hint(text));
  if (colon == std::string::npos) return {*kind};
  return cuda_device(static_cast<int>(parse_integer(text.substr(colon + 1), 0, kMaxIndex)));
}

}  // namespace epochbench
