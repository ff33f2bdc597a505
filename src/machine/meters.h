// The meters of this machine: which exist, why the others do not, and what it draws when idle.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/machine/energy.h"
#include "src/machine/nvml.h"
#include "src/machine/rapl.h"
#include "src/result/result.h"

namespace epochbench {

struct MeterSources {
  std::string powercap = kPowercapFolder, nvml = kNvmlLibrary;
};

struct MeterInfo {
  std::string name, measures;             // "rapl", "energy of package-0, package-1"
  std::optional<std::string> obstacle;    // why it cannot be read
  std::vector<std::string> missing = {};  // what a readable meter does not report
};

class MachineMeters {
 public:
  // `gpus`: as list_gpus() returns them, by device index.
  MachineMeters(const MeterSources& sources, const std::vector<GpuInfo>& gpus);

  std::vector<MeterInfo> list() const;

  // A meter that begins at 0, or the reason why there is none.
  struct Meter {
    std::unique_ptr<EnergyMeter> energy;
    std::string obstacle;
  };
  Meter cpu() const;
  bool includes_memory() const { return !rapl_.memory.empty(); }  // whether cpu() counts the memory beside the packages
  Meter gpu(int index) const;
  std::shared_ptr<const NvmlCard> card(int index) const;  // null: see gpu().obstacle
  std::vector<std::string> remarks(int gpu_index) const;  // on how they count; below 0: without a GPU

  // Lets the machine rest for `seconds` and records what the CPU and the GPUs with these indices draw. Ends early and records
  // nothing once `interrupted`. Does nothing without meters.
  void measure_idle(const std::vector<int>& gpu_indices, double seconds, const std::function<bool()>& interrupted);
  std::optional<double> idle_watts(int gpu_index) const;  // below 0: of the CPU

 private:
  struct Card {
    std::shared_ptr<const NvmlCard> card;
    std::string obstacle;
  };
  const Card* find(int index) const;

  MeterSources sources_;
  RaplDomains rapl_;
  std::vector<Card> cards_;
  std::map<int, double> idle_watts_;
};

}  // namespace epochbench
