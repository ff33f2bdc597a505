// The name of an Arm core. Linux names the model of a CPU on x86-64 only.
#pragma once

#include <cstdint>
#include <string>

namespace epochbench {

// From the main ID register (MIDR_EL1 in the Arm Architecture Reference Manual): "Arm Neoverse V1"; "Arm core 0x61:0x022" if it
// is not in the table.
std::string arm_core_name(std::uint64_t midr);
// For the core that this thread runs on; empty on other architectures, or if the kernel does not let a process read it.
std::string this_arm_core();

}  // namespace epochbench
