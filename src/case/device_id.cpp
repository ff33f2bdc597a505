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
  if (kind && colon == std::string::npos) return {*kind};
  if (kind == DeviceKind::cuda) try {
      return cuda_device(static_cast<int>(parse_integer(text.substr(colon + 1), 0, kMaxIndex)));
    } catch (const CallError&) {  // not an index, so the whole word is unknown
    }
  throw CallError(Unknown::device, text);
}

}  // namespace epochbench
