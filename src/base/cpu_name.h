// The name of this machine's CPU.
#pragma once

#include <cstdint>
#include <string>

namespace epochbench {

// The name that an x86-64 CPU reports: "AMD EPYC 9R14 96-Core Processor". A hypervisor may report a general one, which CPUs of
// different speed share; such a name has no model number and gets the numbers of the kind, from eax of cpuid's leaf 1:
// "Intel(R) Xeon(R) CPU @ 2.20GHz (family 6, model 79, stepping 0)".
std::string x86_cpu_name(const std::string& reported, std::uint32_t signature);
// Such a name for titles, without marks, clock and number of cores: "AMD EPYC 9654" of "AMD EPYC 9654 96-Core Processor". The
// numbers of a kind of server become its generation: "AMD EPYC, Zen 3 (Milan)" of "AMD EPYC (family 25, model 1, stepping 1)".
// Numbers that are not in the table stay.
std::string short_cpu_name(std::string name);
// Whether two names are of one kind of CPU. A name without a model number or the numbers of its kind, as older results have it,
// is unknown beside any that has all its words: "AMD EPYC" beside "AMD EPYC (family 26, model 2, stepping 1)", and beside
// itself.
enum class CpuMatch : std::uint8_t { same, unknown, different };
CpuMatch match_cpus(const std::string& a, const std::string& b);
// An Arm core has no name of its own; from the main ID register (MIDR_EL1 in the Arm Architecture Reference Manual):
// "Arm Neoverse V1"; "Arm core 0x61:0x022" if it is not in the table.
std::string arm_core_name(std::uint64_t midr);
// The name of the CPU that this thread runs on. Empty if it does not report one, the kernel does not let a process read it, or
// the architecture is another one.
std::string this_cpu_name();

}  // namespace epochbench
