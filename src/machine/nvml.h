// NVIDIA's management library, which comes with the driver: loaded by name at run time, so the build does not need it. One
// card's energy, power, load, clock, temperature and why its clock is held down. Whatever is missing (the library, a function
// of a newer driver, the card, a right) is reported as a reason in words, never as a number.
//
// Source of names, units and layouts: NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/machine/energy.h"

namespace epochbench {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

class MeterError : public std::runtime_error {  // the reason why a meter is unavailable
 public:
  using std::runtime_error::runtime_error;
};

// Why a card's clock is lower than it could be: the bits that nvmlDeviceGetCurrentClocksEventReasons returns.
namespace clock_reason {
inline constexpr std::uint64_t kIdle = 0x1, kApplicationSetting = 0x2, kPowerCap = 0x4, kHardwareSlowdown = 0x8,
                               kSyncBoost = 0x10, kSoftwareThermal = 0x20, kHardwareThermal = 0x40, kPowerBrake = 0x80,
                               kDisplaySetting = 0x100;
}

// What a card was doing at one moment; a quantity that it does not report is empty.
struct GpuSample {
  double seconds = 0;                 // on the caller's clock
  std::optional<double> utilization;  // the part of the driver's last sample period (1/6 s to 1 s) in which a kernel ran
  std::optional<double> sm_clock_hertz, temperature_celsius;
  std::optional<std::int64_t> memory_used_bytes;  // of the card, by all processes
  std::optional<std::uint64_t> clock_reasons;
};

struct NvmlFunctions;

class NvmlLibrary {
 public:
  explicit NvmlLibrary(const std::string& file = kNvmlLibrary);  // errors: MeterError
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  const NvmlFunctions& functions() const { return *functions_; }
  std::string error_text(int code) const;

 private:
  void* library_ = nullptr;
  std::unique_ptr<NvmlFunctions> functions_;
};

class NvmlCard {
 public:
  // "0000:65:00.0", as CUDA names it too. Errors: MeterError.
  NvmlCard(std::shared_ptr<const NvmlLibrary> library, const std::string& pci_bus_id);

  enum class EnergySource : std::uint8_t { none, power, counter };
  EnergySource energy_source() const { return energy_source_; }
  // Its power limit is the default, so a clock held down by it is the card's usual one under load. Also false if the card does
  // not say.
  bool has_default_power_limit() const { return default_power_limit_; }
  bool is_divided() const { return divided_; }                              // into instances (MIG); a run uses one of them
  const std::vector<std::string>& obstacles() const { return obstacles_; }  // "temperature: Not Supported"

  // Errors of the first two: MeterError with the driver's message.
  double energy_joules() const;  // since the driver was loaded
  double watts() const;
  GpuSample sample(double now) const;

 private:
  std::shared_ptr<const NvmlLibrary> library_;
  void* device_ = nullptr;
  EnergySource energy_source_ = EnergySource::none;
  bool default_power_limit_ = false, divided_ = false;
  std::vector<std::string> obstacles_;
};

// From the card's counter, or from its power if there is none. The card must have one of the two.
std::unique_ptr<EnergyMeter> make_gpu_meter(std::shared_ptr<const NvmlCard> card);

}  // namespace epochbench
