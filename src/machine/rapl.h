// Energy counters of CPU packages: RAPL, which Linux exposes in files for both Intel and AMD.
//
// Source: Documentation/power/powercap/powercap.rst of Linux. A package's counter covers its cores and everything else on it,
// but not the memory beside it, which many Intel servers count in a sub-domain "dram" of the package (intel-rapl:0:0), and
// AMD's CPUs do not count. It is added if every package has one. The sub-domain "core" is part of the package, "psys", the
// whole platform, contains it, and a second entry of the same package (intel-rapl-mmio) repeats it. On AMD's Zen 1 and 2 each
// die of a package ("package-0-die-1") may have an entry that shows the counter of the whole package; it counts once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/machine/energy.h"

namespace epochbench {

inline constexpr const char* kPowercapFolder = "/sys/class/powercap";

struct RaplPackage {
  std::string name, counter;           // "package-0", and the path of its energy_uj
  std::optional<double> range_joules;  // after which the counter wraps around to 0
};

struct RaplDomains {
  std::vector<RaplPackage> packages;    // by name
  std::vector<RaplPackage> memory;      // "package-0 dram": one for each package; empty unless all of them have one
  std::optional<std::string> obstacle;  // why they cannot be read, and how to fix that
};

RaplDomains find_rapl(const std::string& folder = kPowercapFolder);

// The sum of all packages and of their memory. A counter that can no longer be read is an obstacle.
std::unique_ptr<EnergyMeter> make_rapl_meter(const RaplDomains& domains);

}  // namespace epochbench
