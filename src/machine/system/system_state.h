// What disturbs measurements on this machine, each with its state and the command that changes it. Only reads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace epochbench {

enum class Disturbance : std::uint8_t { none, disturbs, unknown };

struct SystemCheck {
  std::string name;  // "governor"
  Disturbance state = Disturbance::unknown;
  std::string found;  // "powersave on 8 of 8 CPUs"; if the state is unknown, why
  std::string why;    // why it matters
  std::string fix;    // a command
};

// `cpus`: those that this process may use. `foreign_cores`: CPUs that other processes use; empty if unknown. `root` holds /proc
// and /sys, empty except in tests.
std::vector<SystemCheck> system_checks(const std::vector<int>& cpus, std::optional<double> foreign_cores,
                                       const std::string& root = "");

// CPUs that other processes use while `work` runs, or during the next `seconds`; empty if the kernel does not say.
std::optional<double> foreign_cores_during(const std::function<void()>& work, const std::string& root = "");
std::optional<double> foreign_cores_now(double seconds, const std::string& root = "");

}  // namespace epochbench
