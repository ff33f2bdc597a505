#include "src/session/capabilities.h"

#include <iterator>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "epochbench/precision.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// A small model whose nodes every device has in every precision that it computes in.
CaseSpec probe(DeviceId device, Mode mode) {
  CaseSpec spec;
  spec.model = find_model("mlp");
  spec.device = device;
  spec.mode = mode;
  return spec;
}

}  // namespace

std::optional<std::string> device_obstacle(DeviceId device) {
  if (device.kind != DeviceKind::cuda) return std::nullopt;
  try {
    make_cuda_backend(device.index);
    return std::nullopt;
  } catch (const DeviceError& error) {
    return error.what();
  }
}

std::vector<DeviceId> usable_devices() {
  std::vector<DeviceId> devices{{DeviceKind::cpu}};
  for (int index = 0; index < static_cast<int>(list_gpus().size()); ++index)
    if (!device_obstacle(cuda_device(index))) devices.push_back(cuda_device(index));
  devices.push_back({DeviceKind::reference});
  return devices;
}

std::vector<Precision> usable_precisions(DeviceId device, Mode mode) {
  const WorkloadSpec workload = workload_spec(probe(device, mode));
  const auto backend = make_backend(device, 1);
  std::vector<Precision> precisions(std::begin(kPrecisions), std::end(kPrecisions));
  if (mode == Mode::forward) precisions.push_back(Precision::int8);
  std::erase_if(precisions, [&](Precision precision) {
    return unsupported(workload, *backend, entries_of_mode(mode), precision).has_value();
  });
  return precisions;
}

bool plans_for_gpus() {
  try {
    make_cuda_planner();
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

std::string options_to_compare() {
  std::string options;
  for (const DeviceId device : usable_devices())
    if (device.kind == DeviceKind::cuda && options.empty()) options = "--device cpu," + to_string(device);
  CaseSpec in_bf16 = probe({}, Mode::train);
  in_bf16.precision = Precision::bf16;
  if (product_precision(in_bf16) == Precision::bf16)
    append(options, std::string("--precision ") + name(Precision::fp32) + "," + name(Precision::bf16), " ");
  return options.empty() ? "--kernels best,portable" : options;
}

}  // namespace epochbench
