// Whether this machine has an NVIDIA device at all, which decides what a missing driver means. Does not need CUDA.
#pragma once

#include <string>

namespace epochbench {

// Checks the device files that a driver creates (/dev/nvidia*; /dev/dxg on WSL2, whose GPU may be another's; /dev/nvhost* and
// /dev/nvmap on Jetson) and the vendors of PCI devices (/sys/bus/pci/devices). `root`: for tests.
bool has_nvidia_device(const std::string& root = "");

// Why no CUDA device is usable if has_nvidia_device() is false; installing anything would not help.
inline constexpr const char* kNoNvidiaDevice =
    "this machine has no NVIDIA GPU (no /dev/nvidia*, no PCI device of vendor 0x10de)";

}  // namespace epochbench
