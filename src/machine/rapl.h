// Energy counters of CPU packages: RAPL, which Linux exposes in files for both Intel and AMD.
//
// Source: Documentation/power/powercap/powercap.rst of Linux. A package's counter covers its cores and everything else on it,
// but not the memory beside it. Sub-domains ("core", "dram": intel-rapl:0:0) are not added, so that CPUs of both vendors count
// the same; nor are "psys", the whole platform, which contains the packages, and a second entry of the same package
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
  std::optional<double> range_joules;  // after which the counter wraps around to 0
};

struct RaplDomains {
  std::vector<RaplPackage> packages;    // by name
  std::optional<std::string> obstacle;  // why they cannot be read, and how to fix that
};

RaplDomains find_rapl(const std::string& folder = kPowercapFolder);

// The sum of all packages. A counter that can no longer be read is an obstacle.
std::unique_ptr<EnergyMeter> make_rapl_meter(const std::vector<RaplPackage>& packages);

}  // namespace epochbench
