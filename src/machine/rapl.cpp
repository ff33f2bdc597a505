#include "src/machine/rapl.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "src/base/errors.h"
#include "src/machine/system_files.h"

namespace epochbench {
namespace {

constexpr double kJoulesPerCount = 1e-6;

// "intel-rapl:0", but neither "intel-rapl" nor the sub-domain "intel-rapl:0:1".
bool is_top_domain(const std::string& entry) {
  const auto colon = entry.find(':');
  return colon != std::string::npos && entry.find(':', colon + 1) == std::string::npos;
}

std::optional<double> read_joules(const std::string& path) {
  const auto count = read_number(path);
  if (!count || *count < 0) return std::nullopt;
  return static_cast<double>(*count) * kJoulesPerCount;
}

// Why a package's counter in `folder` cannot be read, and how to fix that.
std::optional<std::string> obstacle_of(const std::string& counter, const std::string& folder) {
  const int file = ::open(counter.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && (errno == EACCES || errno == EPERM))
    return counter + " may be read by root alone: sudo chmod a+r " + folder + "/*/energy_uj";
  if (file < 0) return counter + " cannot be opened: " + error_text(errno);
  ::close(file);
  if (!read_joules(counter)) return counter + " contains no number";
  return std::nullopt;
}

class RaplMeter final : public EnergyMeter {
 public:
  explicit RaplMeter(const RaplDomains& domains) {
    for (const auto* packages : {&domains.packages, &domains.memory})
      for (const RaplPackage& package : *packages) domains_.push_back({package, CounterSum(package.range_joules)});
  }

  void begin(double now) override {
    for (Domain& domain : domains_)
      if (const auto joules = read(domain)) domain.sum.begin(now, *joules);
  }
  void advance(double now) override {
    for (Domain& domain : domains_)
      if (const auto joules = read(domain)) domain.sum.advance(now, *joules);
  }
  Drawn drawn() const override {
    Drawn all;
    for (const Domain& domain : domains_) {
      all.joules += domain.sum.drawn().joules;
      if (const auto& obstacle = domain.sum.drawn().obstacle; obstacle && !all.obstacle)
        all.obstacle = domain.package.name + ": " + *obstacle;
    }
    return all;
  }

 private:
  struct Domain {
    RaplPackage package;
    CounterSum sum;
  };
  static std::optional<double> read(Domain& domain) {
    const auto joules = read_joules(domain.package.counter);
    if (!joules) domain.sum.fail(domain.package.counter + " can no longer be read");
    return joules;
  }
  std::vector<Domain> domains_;
};

RaplPackage package_at(const std::string& name, const std::string& path) {
  return {name, path + "/energy_uj", read_joules(path + "/max_energy_range_uj")};
}

// The counter of the memory beside a package: the sub-domain "dram", a folder in the package's own.
std::optional<RaplPackage> find_memory(const std::string& name, const std::string& path) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (read_line(entry.path().string() + "/name") == "dram") return package_at(name + " dram", entry.path().string());
  return std::nullopt;
}

// "package-0" of "package-0-die-1".
std::string whole_package(const std::string& name) { return name.substr(0, name.find("-die-")); }

// Whether two counters are one: the second, read in between, lies within two readings of the first. AMD's dies may be copied
// at different milliseconds.
bool repeats(const std::string& counter, const std::string& first) {
  constexpr double kCopyJoules = 1;
  const auto before = read_joules(first), between = read_joules(counter), after = read_joules(first);
  return before && between && after && *between > 0 && *between >= *before - kCopyJoules && *between <= *after + kCopyJoules;
}

}  // namespace

RaplDomains find_rapl(const std::string& folder) {
  RaplDomains found;
  std::map<std::string, std::string> paths;  // by the package's name
  bool hidden = false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!is_top_domain(entry.path().filename().string())) continue;
    const auto name = read_line(entry.path().string() + "/name");
    hidden |= !name;
    if (!name || !name->starts_with("package")) continue;
    std::string& path = paths[*name];  // if a package has two entries, the one with the shorter name: intel-rapl
    if (path.empty() || entry.path().string().size() < path.size()) path = entry.path().string();
  }
  for (const auto& [name, path] : paths) {
    const std::string package = whole_package(name);
    const auto whole = std::ranges::find_if(found.packages, [&](const RaplPackage& each) {
      return package != name && whole_package(each.name) == package && repeats(path + "/energy_uj", each.counter);
    });
    if (whole != found.packages.end()) {
      whole->name = package;
      continue;
    }
    found.packages.push_back(package_at(name, path));
    if (!found.obstacle) found.obstacle = obstacle_of(found.packages.back().counter, folder);
    if (const auto memory = find_memory(name, path); memory && !obstacle_of(memory->counter, folder))
      found.memory.push_back(*memory);
  }
  if (found.memory.size() < found.packages.size()) found.memory.clear();
  if (found.packages.empty() && hidden)
    found.obstacle = "the counters in " + folder +
                     " are hidden, as containers do: mount the host's /sys/devices/virtual/powercap/intel-rapl "
                     "into it and name that folder in EPOCHBENCH_POWERCAP";
  else if (found.packages.empty())
    found.obstacle = folder + " has no energy counter of a CPU package: a virtual machine, or a CPU or kernel without RAPL";
  return found;
}

std::unique_ptr<EnergyMeter> make_rapl_meter(const RaplDomains& domains) { return std::make_unique<RaplMeter>(domains); }

}  // namespace epochbench
