#include "src/machine/meters.h"

#include <chrono>
#include <thread>
#include <utility>

#include "src/base/clock.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr double kIdlePeriodSeconds = 0.1;
constexpr int kCpu = -1;  // key in idle_watts_
constexpr const char* kNoMemoryCounter = "energy of the CPU's memory: RAPL has no counter named dram";

}  // namespace

MachineMeters::MachineMeters(const MeterSources& sources, const std::vector<GpuInfo>& gpus)
    : sources_(sources), rapl_(find_rapl(sources.powercap)) {
  if (gpus.empty()) return;
  std::shared_ptr<const NvmlLibrary> library;
  std::string no_library;
  try {
    library = std::make_shared<NvmlLibrary>(sources.nvml);
  } catch (const MeterError& error) {
    no_library = error.what();
  }
  for (const GpuInfo& gpu : gpus) {
    Card& card = cards_.emplace_back();
    card.obstacle = no_library;
    if (!library) continue;
    if (gpu.pci_bus_id.empty()) {
      card.obstacle = "cuda:" + std::to_string(cards_.size() - 1) + " has no PCI bus id to find its card by";
      continue;
    }
    try {
      card.card = std::make_shared<NvmlCard>(library, gpu.pci_bus_id);
    } catch (const MeterError& error) {
      card.obstacle = error.what();
    }
  }
}

std::vector<MeterInfo> MachineMeters::list() const {
  const std::string packages = joined(rapl_.packages, &RaplPackage::name);
  std::vector<MeterInfo> all = {{"rapl", packages.empty() ? "CPU energy" : "CPU energy of " + packages, rapl_.obstacle}};
  if (!rapl_.obstacle && !includes_memory()) all.front().missing.emplace_back(kNoMemoryCounter);
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    const Card& card = cards_[i];
    MeterInfo info{"nvml cuda:" + std::to_string(i), "GPU energy, utilization, clock, temperature, throttling, memory", {}};
    if (!card.card) {
      info.obstacle = card.obstacle;
    } else {
      info.missing = card.card->obstacles();
      if (card.card->energy_source() == NvmlCard::EnergySource::power)
        info.missing.push_back("energy counter: the card's power is integrated in its place");
    }
    all.push_back(info);
  }
  return all;
}

MachineMeters::Meter MachineMeters::cpu() const {
  if (rapl_.obstacle) return {nullptr, *rapl_.obstacle};
  return {make_rapl_meter(rapl_), ""};
}

MachineMeters::Meter MachineMeters::gpu(int index) const {
  const Card* const entry = find(index);
  if (!entry) return {nullptr, "no card is known for cuda:" + std::to_string(index)};
  const auto& card = entry->card;
  if (!card) return {nullptr, entry->obstacle};
  if (card->energy_source() == NvmlCard::EnergySource::none) return {nullptr, card->obstacles().front()};
  return {make_gpu_meter(card), ""};
}

const MachineMeters::Card* MachineMeters::find(int index) const {
  return index >= 0 && static_cast<std::size_t>(index) < cards_.size() ? &cards_[static_cast<std::size_t>(index)] : nullptr;
}

std::shared_ptr<const NvmlCard> MachineMeters::card(int index) const {
  const Card* const entry = find(index);
  return entry ? entry->card : nullptr;
}

std::vector<std::string> MachineMeters::remarks(int gpu_index) const {
  std::vector<std::string> remarks;
  if (!rapl_.obstacle && sources_.powercap != kPowercapFolder)
    remarks.emplace_back("the CPU's counters were read in the folder that EPOCHBENCH_POWERCAP names");
  if (!rapl_.obstacle)
    remarks.emplace_back(includes_memory() ? "the CPU's energy includes that of its memory"
                                           : "the CPU's energy leaves out that of its memory, which has no counter here");
  const auto card = this->card(gpu_index);
  if (!card) return remarks;
  if (sources_.nvml != kNvmlLibrary) remarks.emplace_back("the GPU was read by the library that EPOCHBENCH_NVML names");
  if (card->energy_source() == NvmlCard::EnergySource::power)
    remarks.emplace_back("the GPU's energy is its power, read ten times per second and integrated: it has no energy counter");
  if (card->is_divided())
    remarks.emplace_back("the GPU's energy is that of the whole card, and this run used one instance (MIG)");
  return remarks;
}

void MachineMeters::measure_idle(const std::vector<int>& gpu_indices, double seconds,
                                 const std::function<bool()>& interrupted) {
  std::map<int, std::unique_ptr<EnergyMeter>> meters;
  if (Meter meter = cpu(); meter.energy) meters[kCpu] = std::move(meter.energy);
  for (const int index : gpu_indices)
    if (Meter meter = gpu(index); meter.energy) meters[index] = std::move(meter.energy);
  if (meters.empty()) return;
  const double began = steady_seconds();
  for (auto& [part, meter] : meters) meter->begin(steady_seconds());
  double elapsed = 0;
  while (elapsed < seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(kIdlePeriodSeconds));
    if (interrupted && interrupted()) return;
    for (auto& [part, meter] : meters) meter->advance(steady_seconds());
    elapsed = steady_seconds() - began;
  }
  for (const auto& [part, meter] : meters)
    if (const Drawn drawn = meter->drawn(); !drawn.obstacle && drawn.joules > 0) idle_watts_[part] = drawn.joules / elapsed;
}

std::optional<double> MachineMeters::idle_watts(int gpu_index) const {
  const auto found = idle_watts_.find(gpu_index < 0 ? kCpu : gpu_index);
  return found == idle_watts_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace epochbench
