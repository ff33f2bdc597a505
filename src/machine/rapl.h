// The energy counters of CPU packages: RAPL, as Linux shows it in files for Intel and AMD alike.
//
// Source: Documentation/power/powercap/powercap.rst of Linux. A package's counter holds its cores and what else is on it, and
// not the memory beside it. Sub-domains ("core", "dram": intel-rapl:0:0) are not added, so that both makers' CPUs count the
// same; nor is "psys", the whole platform, which contains the packages; nor a second way to the same package
// (intel-rapl-mmio).
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
  std::optional<double> range_joules;  // after which the counter begins at 0 again
};

struct RaplDomains {
  std::vector<RaplPackage> packages;    // by name
  std::optional<std::string> obstacle;  // why they cannot be read, and how to fix that
};

RaplDomains find_rapl(const std::string& folder = kPowercapFolder);

// The sum of all packages. A counter that cannot be read any more is an obstacle.
std::unique_ptr<EnergyMeter> make_rapl_meter(const std::vector<RaplPackage>& packages);

}  // namespace epochbench
