#include "src/machine/nvml.h"

#include <functional>
#include <utility>

#include <dlfcn.h>

namespace epochbench {

namespace {

constexpr int kSuccess = 0;
constexpr int kSmClock = 1;         // NVML_CLOCK_SM
constexpr int kDieTemperature = 0;  // NVML_TEMPERATURE_GPU
constexpr unsigned kEnabled = 1;    // NVML_FEATURE_ENABLED, as NVML_DEVICE_MIG_ENABLE

}  // namespace

// Null: this driver's library has no such function. A device is an opaque pointer, a result 0 or an error's code.
struct NvmlFunctions {
  struct Utilization {
    unsigned gpu, memory;  // percent
  };
  struct MemoryInfo {
    unsigned long long total, free, used;  // bytes
  };
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*device_by_bus_id)(const char*, void**);
  int (*total_energy)(void*, unsigned long long*);  // millijoules
  int (*power)(void*, unsigned*);                   // milliwatts
  int (*utilization)(void*, Utilization*);
  int (*clock)(void*, int, unsigned*);  // megahertz
  int (*temperature)(void*, int, unsigned*);
  int (*clock_reasons)(void*, unsigned long long*);
  int (*memory)(void*, MemoryInfo*);
  int (*mig_mode)(void*, unsigned*, unsigned*);  // now, and after the next reset
};

namespace {

template <class Function>
void find(void* library, Function& function, const char* name, const char* older_name = nullptr) {
  void* symbol = dlsym(library, name);
  if (!symbol && older_name) symbol = dlsym(library, older_name);
  function = reinterpret_cast<Function>(symbol);
}

NvmlFunctions functions_of(void* library) {
  NvmlFunctions all{};
  find(library, all.init, "nvmlInit_v2");
  find(library, all.shutdown, "nvmlShutdown");
  find(library, all.error_string, "nvmlErrorString");
  find(library, all.device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  find(library, all.total_energy, "nvmlDeviceGetTotalEnergyConsumption");
  find(library, all.power, "nvmlDeviceGetPowerUsage");
  find(library, all.utilization, "nvmlDeviceGetUtilizationRates");
  find(library, all.clock, "nvmlDeviceGetClockInfo");
  find(library, all.temperature, "nvmlDeviceGetTemperature");
  find(library, all.clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(library, all.memory, "nvmlDeviceGetMemoryInfo");
  find(library, all.mig_mode, "nvmlDeviceGetMigMode");
  return all;
}

constexpr const char* kNoFunction = "this driver's library has no function for it";

// The answer of one of the functions. Errors: MeterError with why there is none.
template <class Value, class Function, class... Arguments>
Value ask(const NvmlLibrary& library, Function function, void* device, Arguments... arguments) {
  if (!function) throw MeterError(kNoFunction);
  Value value{};
  const int code = function(device, arguments..., &value);
  if (code != kSuccess) throw MeterError(library.error_text(code));
  return value;
}

template <class Query>
auto answer_of(const Query& query) -> std::optional<decltype(query())> {
  try {
    return query();
  } catch (const MeterError&) {
    return std::nullopt;
  }
}

class GpuMeter final : public EnergyMeter {
 public:
  explicit GpuMeter(std::shared_ptr<const NvmlCard> card)
      : card_(std::move(card)), counts_(card_->energy_source() == NvmlCard::EnergySource::counter) {}

  void begin(double now) override {
    read([&](double reading) { counts_ ? counter_.begin(now, reading) : power_.begin(now, reading); });
  }
  void advance(double now) override {
    read([&](double reading) { counts_ ? counter_.advance(now, reading) : power_.advance(now, reading); });
  }
  Drawn drawn() const override { return counts_ ? counter_.drawn() : power_.drawn(); }

 private:
  void read(const std::function<void(double)>& take) try {
    take(counts_ ? card_->energy_joules() : card_->watts());
  } catch (const MeterError& error) {
    counts_ ? counter_.fail(error.what()) : power_.fail(error.what());
  }
  std::shared_ptr<const NvmlCard> card_;
  bool counts_;
  CounterSum counter_{std::nullopt};
  PowerSum power_;
};

}  // namespace

NvmlLibrary::NvmlLibrary(const std::string& file) : library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_)
    throw MeterError(file +
                     " cannot be loaded: it comes with NVIDIA's driver, and a container needs "
                     "NVIDIA_DRIVER_CAPABILITIES=compute,utility to see it");
  functions_ = std::make_unique<NvmlFunctions>(functions_of(library_));
  std::string obstacle;
  if (!functions_->init || !functions_->shutdown || !functions_->device_by_bus_id)
    obstacle = file + " lacks nvmlInit_v2, nvmlShutdown or nvmlDeviceGetHandleByPciBusId_v2: it is not NVIDIA's library";
  else if (const int code = functions_->init(); code != kSuccess)
    obstacle = file + " does not start: " + error_text(code);
  if (obstacle.empty()) return;
  dlclose(library_);
  throw MeterError(obstacle);
}

NvmlLibrary::~NvmlLibrary() {
  functions_->shutdown();
  dlclose(library_);
}

std::string NvmlLibrary::error_text(int code) const {
  const char* text = functions_->error_string ? functions_->error_string(code) : nullptr;
  return text && *text ? text : "error " + std::to_string(code);
}

NvmlCard::NvmlCard(std::shared_ptr<const NvmlLibrary> library, const std::string& pci_bus_id) : library_(std::move(library)) {
  const int code = library_->functions().device_by_bus_id(pci_bus_id.c_str(), &device_);
  if (code != kSuccess) throw MeterError("the management library does not know the card: " + library_->error_text(code));
  const NvmlFunctions& nvml = library_->functions();
  unsigned mig = 0, pending = 0;
  divided_ = nvml.mig_mode && nvml.mig_mode(device_, &mig, &pending) == kSuccess && mig == kEnabled;
  if (answer_of([this] { return energy_joules(); }))
    energy_source_ = EnergySource::counter;
  else if (answer_of([this] { return watts(); }))
    energy_source_ = EnergySource::power;
  const auto probe = [this](const char* what, const std::function<void()>& query) {
    try {
      query();
    } catch (const MeterError& error) {
      obstacles_.push_back(std::string(what) + ": " + error.what());
    }
  };
  if (energy_source_ == EnergySource::none) probe("energy", [this] { watts(); });
  probe("utilization", [&] { ask<NvmlFunctions::Utilization>(*library_, nvml.utilization, device_); });
  probe("clock", [&] { ask<unsigned>(*library_, nvml.clock, device_, kSmClock); });
  probe("temperature", [&] { ask<unsigned>(*library_, nvml.temperature, device_, kDieTemperature); });
  probe("throttling", [&] { ask<unsigned long long>(*library_, nvml.clock_reasons, device_); });
  probe("memory", [&] { ask<NvmlFunctions::MemoryInfo>(*library_, nvml.memory, device_); });
}

double NvmlCard::energy_joules() const {
  return static_cast<double>(ask<unsigned long long>(*library_, library_->functions().total_energy, device_)) * 1e-3;
}

double NvmlCard::watts() const { return ask<unsigned>(*library_, library_->functions().power, device_) * 1e-3; }

GpuSample NvmlCard::sample(double now) const {
  const NvmlFunctions& nvml = library_->functions();
  GpuSample sample;
  sample.seconds = now;
  if (const auto rates = answer_of([&] { return ask<NvmlFunctions::Utilization>(*library_, nvml.utilization, device_); }))
    sample.utilization = rates->gpu / 100.0;
  if (const auto megahertz = answer_of([&] { return ask<unsigned>(*library_, nvml.clock, device_, kSmClock); }))
    sample.sm_clock_hertz = *megahertz * 1e6;
  if (const auto celsius = answer_of([&] { return ask<unsigned>(*library_, nvml.temperature, device_, kDieTemperature); }))
    sample.temperature_celsius = *celsius;
  if (const auto reasons = answer_of([&] { return ask<unsigned long long>(*library_, nvml.clock_reasons, device_); }))
    sample.clock_reasons = *reasons;
  if (const auto memory = answer_of([&] { return ask<NvmlFunctions::MemoryInfo>(*library_, nvml.memory, device_); }))
    sample.memory_used_bytes = static_cast<std::int64_t>(memory->used);
  return sample;
}

std::unique_ptr<EnergyMeter> make_gpu_meter(std::shared_ptr<const NvmlCard> card) {
  return std::make_unique<GpuMeter>(std::move(card));
}

}  // namespace epochbench
