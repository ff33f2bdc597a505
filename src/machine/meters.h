// The meters of this machine: which there are, why the others are not, and what it draws idle.
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
  std::vector<std::string> missing = {};  // of a meter that can be read, what it does not tell
};

class MachineMeters {
 public:
  // `gpus` as list_gpus() has them, by the index of their device.
  MachineMeters(const MeterSources& sources, const std::vector<GpuInfo>& gpus);

  std::vector<MeterInfo> list() const;

  // A meter that begins at 0, or the reason why there is none.
  struct Meter {
    std::unique_ptr<EnergyMeter> energy;
    std::string obstacle;
  };
  Meter cpu() const;
  Meter gpu(int index) const;
  std::shared_ptr<const NvmlCard> card(int index) const;  // null: see gpu().obstacle
  std::vector<std::string> remarks(int gpu_index) const;  // on how they count; of no GPU below 0

  // Lets the machine rest for so long and notes what it draws: the CPU, and the GPUs of these indices. Ends early, and notes
  // nothing, once `interrupted`. Without any meter it does nothing.
  void measure_idle(const std::vector<int>& gpu_indices, double seconds, const std::function<bool()>& interrupted);
  std::optional<double> idle_watts(int gpu_index) const;  // of the CPU below 0

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
