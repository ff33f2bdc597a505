// What disturbs measurements on this machine, each with its state and the command that changes it. Reads, and changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace epochbench {

enum class Disturbance : std::uint8_t { none, disturbs, unknown };

struct SystemCheck {
  std::string name;  // "governor"
  Disturbance state = Disturbance::unknown;
  std::string found;  // "powersave on 8 of 8 CPUs"; where the state is not known, why
  std::string why;    // it matters
  std::string fix;    // a command
};

// `cpus`: that this process may use. `foreign_cores`: CPUs that other processes take; empty where it is not known. `root` holds
// /proc and /sys, "" but in tests.
std::vector<SystemCheck> system_checks(const std::vector<int>& cpus, std::optional<double> foreign_cores,
                                       const std::string& root = "");

// CPUs that other processes take during so many seconds from now on; empty where the kernel does not tell.
std::optional<double> foreign_cores_now(double seconds, const std::string& root = "");

}  // namespace epochbench
