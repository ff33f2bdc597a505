// What this machine runs with this build. Every message that suggests a device or a precision asks here, so that no suggestion
// is refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/case/case_spec.h"

namespace epochbench {

// Why no case can run on the device, without its name; empty if it can.
std::optional<std::string> device_obstacle(DeviceId device);

// The CPU, each GPU that is usable, and the reference.
std::vector<DeviceId> usable_devices();

// Those in which the device runs the mode, in the order of Precision. Precondition: it is usable.
std::vector<Precision> usable_precisions(DeviceId device, Mode mode = Mode::train);

// Whether `plan` knows what a GPU would need; the machine need not have one.
bool plans_for_gpus();

// Options that give one model several runs that `speedup` pairs: other devices and precisions, or other kernels.
std::string options_to_compare();

}  // namespace epochbench
