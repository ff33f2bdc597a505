#include "src/analysis/compare/comparability.h"

namespace epochbench {
namespace {

std::string difference(const std::string& what, const std::string& a, const std::string& b) {
  return what + " " + a + " and " + b;
}

std::string threads_of(const Device& device) { return device.threads ? std::to_string(*device.threads) : "unknown"; }

std::string driver_of(const RecordedRun& recorded) {
  if (recorded.run->device.backend == "cpu") return "";
  for (const GpuInfo& gpu : recorded.context().gpus)
    if (gpu.name == recorded.run->device.name) return gpu.driver;
  return "";
}

}  // namespace

std::string workload_difference(const Workload& a, const Workload& b) {
  if (a.mode != b.mode) return difference("mode", a.mode, b.mode);
  if (a.dataset != b.dataset) return difference("data set", a.dataset, b.dataset);
  if (a.seed != b.seed) return difference("seed", std::to_string(a.seed), std::to_string(b.seed));
  if (a.fingerprint == b.fingerprint) return "";
  if (a.batch != b.batch) return difference("batch", std::to_string(a.batch), std::to_string(b.batch));
  if (a.parameters != b.parameters) return difference("parameters", std::to_string(a.parameters), std::to_string(b.parameters));
  if (a.optimizer != b.optimizer) return difference("optimizer", a.optimizer, b.optimizer);
  constexpr std::size_t kShownDigits = 12;
  return difference("fingerprint", a.fingerprint.substr(0, kShownDigits), b.fingerprint.substr(0, kShownDigits));
}

std::string device_difference(const RecordedRun& a, const RecordedRun& b) {
  const Device &x = a.run->device, &y = b.run->device;
  if (x.name != y.name) return difference("different devices:", x.name, y.name);
  if (x.threads != y.threads) return difference("different threads:", threads_of(x), threads_of(y));
  return "";
}

std::string setting_difference(const RecordedRun& a, const RecordedRun& b) {
  const Context &x = a.context(), &y = b.context();
  if (!x.host_name || !y.host_name)
    return "it is unknown whether it was one machine: " + (x.host_name ? b : a).source->path + " has no host_name";
  if (*x.host_name != *y.host_name) return difference("different machines:", *x.host_name, *y.host_name);
  if (x.cpu.model != y.cpu.model) return difference("different machines:", x.cpu.model, y.cpu.model);
  if (std::string text = device_difference(a, b); !text.empty()) return text;
  if (driver_of(a) != driver_of(b)) return difference("different GPU drivers:", driver_of(a), driver_of(b));
  if (x.compiler != y.compiler) return difference("different compilers:", x.compiler, y.compiler);
  if (x.build_type != y.build_type) return difference("different build types:", x.build_type, y.build_type);
  return "";
}

}  // namespace epochbench
