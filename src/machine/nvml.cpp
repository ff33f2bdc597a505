#include "src/machine/nvml.h"

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
  int (*power_limit)(void*, unsigned*);             // the one in force
  int (*default_power_limit)(void*, unsigned*);
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
  find(library, all.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  find(library, all.default_power_limit, "nvmlDeviceGetPowerManagementDefaultLimit");
  find(library, all.utilization, "nvmlDeviceGetUtilizationRates");
  find(library, all.clock, "nvmlDeviceGetClockInfo");
  find(library, all.temperature, "nvmlDeviceGetTemperature");
  find(library, all.clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(library, all.memory, "nvmlDeviceGetMemoryInfo");
  find(library, all.mig_mode, "nvmlDeviceGetMigMode");
  return all;
}

constexpr const char* kNoFunction = "this driver's library has no function for it";

// The answer of one of the functions. Errors: MeterError that says why there is none.
template <class Value, class Function, class... Arguments>
Value ask(const NvmlLibrary& library, Function NvmlFunctions::*member, void* device, Arguments... arguments) {
  const Function function = library.functions().*member;
  if (!function) throw MeterError(kNoFunction);
  Value value{};
  const int code = function(device, arguments..., &value);
  if (code != kSuccess) throw MeterError(library.error_text(code));
  return value;
}

// What a sample asks for; `what` names it in an obstacle. Errors: MeterError.
struct Query {
  const char* what;
  void (*fill)(GpuSample& sample, const NvmlLibrary& library, void* device);
};
constexpr Query kQueries[] = {
    {"utilization",
     [](GpuSample& sample, const NvmlLibrary& library, void* device) {
       sample.utilization = ask<NvmlFunctions::Utilization>(library, &NvmlFunctions::utilization, device).gpu / 100.0;
     }},
    {"clock",
     [](GpuSample& sample, const NvmlLibrary& library, void* device) {
       sample.sm_clock_hertz = ask<unsigned>(library, &NvmlFunctions::clock, device, kSmClock) * 1e6;
     }},
    {"temperature",
     [](GpuSample& sample, const NvmlLibrary& library, void* device) {
       sample.temperature_celsius = ask<unsigned>(library, &NvmlFunctions::temperature, device, kDieTemperature);
     }},
    {"throttling",
     [](GpuSample& sample, const NvmlLibrary& library, void* device) {
       sample.clock_reasons = ask<unsigned long long>(library, &NvmlFunctions::clock_reasons, device);
     }},
    {"memory",
     [](GpuSample& sample, const NvmlLibrary& library, void* device) {
       const auto memory = ask<NvmlFunctions::MemoryInfo>(library, &NvmlFunctions::memory, device);
       sample.memory_used_bytes = static_cast<std::int64_t>(memory.used);
     }},
};

// Why a question has no answer; empty if it has one.
template <class Question>
std::optional<std::string> problem_of(const Question& question) {
  try {
    question();
    return std::nullopt;
  } catch (const MeterError& error) {
    return error.what();
  }
}

class GpuMeter final : public EnergyMeter {
 public:
  explicit GpuMeter(std::shared_ptr<const NvmlCard> card)
      : card_(std::move(card)), counts_(card_->energy_source() == NvmlCard::EnergySource::counter) {
    if (counts_)
      sum_ = std::make_unique<CounterSum>(std::nullopt);
    else
      sum_ = std::make_unique<PowerSum>();
  }

  void begin(double now) override {
    read([&](double reading) { sum_->begin(now, reading); });
  }
  void advance(double now) override {
    read([&](double reading) { sum_->advance(now, reading); });
  }
  Drawn drawn() const override { return sum_->drawn(); }

 private:
  template <class Take>
  void read(const Take& take) {
    if (const auto problem = problem_of([&] { take(counts_ ? card_->energy_joules() : card_->watts()); })) sum_->fail(*problem);
  }
  std::shared_ptr<const NvmlCard> card_;
  bool counts_;
  std::unique_ptr<EnergySum> sum_;
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
  if (!problem_of([&] { energy_joules(); }))
    energy_source_ = EnergySource::counter;
  else if (const auto problem = problem_of([&] { watts(); }); !problem)
    energy_source_ = EnergySource::power;
  else
    obstacles_.push_back("energy: " + *problem);
  const auto compare_power_limits = [&] {
    default_power_limit_ = ask<unsigned>(*library_, &NvmlFunctions::power_limit, device_) >=
                           ask<unsigned>(*library_, &NvmlFunctions::default_power_limit, device_);
  };
  if (const auto problem = problem_of(compare_power_limits)) obstacles_.push_back("power limit: " + *problem);
  GpuSample sample;
  for (const auto& [what, fill] : kQueries)
    if (const auto problem = problem_of([&, fill = fill] { fill(sample, *library_, device_); }))
      obstacles_.push_back(std::string(what) + ": " + *problem);
}

double NvmlCard::energy_joules() const {
  return static_cast<double>(ask<unsigned long long>(*library_, &NvmlFunctions::total_energy, device_)) * 1e-3;
}

double NvmlCard::watts() const { return ask<unsigned>(*library_, &NvmlFunctions::power, device_) * 1e-3; }

GpuSample NvmlCard::sample(double now) const {
  GpuSample sample;
  sample.seconds = now;
  for (const Query& query : kQueries) problem_of([&] { query.fill(sample, *library_, device_); });
  return sample;
}

std::unique_ptr<EnergyMeter> make_gpu_meter(std::shared_ptr<const NvmlCard> card) {
  return std::make_unique<GpuMeter>(std::move(card));
}

}  // namespace epochbench
