// Whether this machine has a device of NVIDIA's at all: what a missing driver means depends on it. Needs no CUDA.
#pragma once

#include <string>

namespace epochbench {

// By the devices that a driver makes (/dev/nvidia*) and the vendor of PCI devices (/sys/bus/pci/devices). `root`: of tests.
bool has_nvidia_device(const std::string& root = "");

// Why no CUDA device is usable where has_nvidia_device() is false; installing anything would not help.
inline constexpr const char* kNoNvidiaDevice =
    "this machine has no NVIDIA GPU (no /dev/nvidia*, no PCI device of vendor 0x10de)";

}  // namespace epochbench
