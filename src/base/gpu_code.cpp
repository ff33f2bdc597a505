#include "src/base/gpu_code.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/base/text.h"

namespace epochbench {
namespace {

struct GpuCode {
  int capability = 0;
  bool machine_code = true, ptx = true;
  bool exact = false;  // for no other minor version
};

std::optional<GpuCode> parse_architecture(std::string_view name) {
  GpuCode code;
  const char* const end = name.data() + name.size();
  const auto [number_end, error] = std::from_chars(name.data(), end, code.capability);
  if (error != std::errc()) return std::nullopt;
  std::string_view rest(number_end, static_cast<std::size_t>(end - number_end));
  code.exact = rest.starts_with("a");
  code.ptx = !rest.ends_with("-real");
  code.machine_code = !rest.ends_with("-virtual");
  return code;
}

bool runs_on(const GpuCode& code, int capability) {
  if (code.exact) return capability == code.capability;
  const bool same_major = capability / 10 == code.capability / 10;
  return capability >= code.capability && (code.ptx || (code.machine_code && same_major));
}

}  // namespace

bool has_gpu_code(const std::vector<std::string>& architectures, int compute_capability) {
  return std::ranges::any_of(architectures, [&](const std::string& name) {
    const std::optional<GpuCode> code = parse_architecture(name);
    return !code || runs_on(*code, compute_capability);
  });
}

std::string gpu_code_text(const std::vector<std::string>& architectures) {
  if (architectures.empty()) return "none, since it has no CUDA backend";
  std::vector<std::string> capabilities;
  bool later = false;
  for (const std::string& name : architectures) {
    const std::optional<GpuCode> code = parse_architecture(name);
    const std::string text = code ? capability_text(code->capability) : name;
    if (capabilities.empty() || capabilities.back() != text) capabilities.push_back(text);
    later = later || (code && code->ptx && !code->exact);
  }
  return "compute capability " + joined(capabilities) + (later ? " and later" : "");
}

std::string capability_text(int compute_capability) {
  return std::to_string(compute_capability / 10) + "." + std::to_string(compute_capability % 10);
}

}  // namespace epochbench
