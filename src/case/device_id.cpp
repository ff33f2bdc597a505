#include "src/case/device_id.h"

#include "src/base/numbers.h"

namespace epochbench {

std::string to_string(DeviceId device) {
  const std::string kind = name(device.kind);
  return device.kind == DeviceKind::cuda ? kind + ":" + std::to_string(device.index) : kind;
}

DeviceId parse_device(const std::string& text) {
  constexpr int kMaxIndex = 255;
  const std::size_t colon = text.find(':');
  const auto kind = from_name<DeviceKind>(text.substr(0, colon));
  if (!kind || (colon != std::string::npos && kind != DeviceKind::cuda))
    throw CallError("'" + text + "' is unknown; choose from cpu, cuda:0, cuda:1, ..., reference");
  if (colon == std::string::npos) return {*kind};
  return cuda_device(static_cast<int>(parse_integer(text.substr(colon + 1), 0, kMaxIndex)));
}

}  // namespace epochbench
