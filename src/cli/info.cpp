// epochbench info: this machine, with what can be measured on it.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "src/base/errors.h"
#include "src/base/gpu_code.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/machine/environment.h"
#include "src/machine/meters.h"
#include "src/report/text/result_text.h"
#include "src/result/result_json.h"
#include "src/session/machine.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

constexpr const char* kInfoExamples = R"(Examples:
  epochbench info
  epochbench info --json

Measures the CPU's peaks and memory bandwidth, which takes a few seconds.)";

struct InfoOptions {
  bool json = false;
};

// Without a GPU, one line says so in place of its meters.
std::vector<MeterInfo> meters(const std::vector<GpuInfo>& gpus, const std::optional<std::string>& no_gpu) {
  std::vector<MeterInfo> all = MachineMeters(meter_sources(), gpus).list();
  if (gpus.empty()) all.push_back({"nvml", "GPU energy, utilization, clock, temperature, throttling, memory", no_gpu});
  MeterInfo load{"proc-stat", "CPU time of other processes", std::nullopt};
  if (::access("/proc/stat", R_OK) != 0) load.obstacle = "/proc/stat cannot be read";
  all.push_back(load);
  return all;
}

std::optional<std::string> why_no_gpu() {
  try {
    make_backend(cuda_device(0), 1);
    return std::nullopt;
  } catch (const DeviceError& error) {
    return error.what();
  }
}

void print_gpu(int index, const GpuInfo& gpu) {
  const auto measured = [](const std::optional<double>& value, const char* unit) {
    return value ? format_si(*value, unit) + ", measured" : std::string("not known");
  };
  std::printf("cuda:%-12d %s, compute capability %s, %s, driver %s\n", index, gpu.name.c_str(), gpu.compute_capability.c_str(),
              format_bytes(static_cast<double>(gpu.memory_bytes)).c_str(), gpu.driver.c_str());
  std::printf("  libraries       CUDA %s, cuBLAS %s, cuDNN %s\n", gpu.cuda.c_str(), gpu.cublas.c_str(), gpu.cudnn.c_str());
  for (const auto& [precision, peak] : gpu.peak_flops_per_second)
    std::printf("  %s peak       %s\n", precision.c_str(), measured(peak, "FLOP/s").c_str());
  std::printf("  memory          %s\n", measured(gpu.memory_bandwidth_bytes_per_second, "B/s").c_str());
  std::printf("  host to device  %s\n", measured(gpu.host_to_device_bytes_per_second, "B/s").c_str());
}

// A name in its column and what is known of it, filled into lines within the second column.
void print_row(const std::string& name, const std::string& text) {
  constexpr std::size_t kName = 18;
  const std::string head = name + std::string(kName - std::min(kName - 1, name.size()), ' ');
  print_fitted(wrapped(head, std::string(kName, ' '), text));
}

void print_text(const BuildInfo& build, const CpuInfo& cpu, const std::vector<GpuInfo>& gpus,
                const std::optional<std::string>& no_gpu, const std::vector<MeterInfo>& all_meters) {
  const auto bytes = [](const std::optional<std::int64_t>& value) {
    return value ? format_bytes(static_cast<double>(*value)) : std::string("?");
  };
  std::printf("CPU               %s\n", cpu.model.c_str());
  std::printf("sockets, cores    %s, %s%s (threads that may be used: %d)\n",
              cpu.sockets ? std::to_string(*cpu.sockets).c_str() : "?", cpu.cores ? std::to_string(*cpu.cores).c_str() : "?",
              cpu.fast_cores ? (", " + std::to_string(*cpu.fast_cores) + " of them fast").c_str() : "", cpu.threads_available);
  print_row("instructions", joined(cpu.isa, " "));
  print_row("kernels", joined(*build.cpu_kernels));
  if (const std::vector<std::string> libraries = cpu_libraries(); !libraries.empty())
    print_row("libraries", joined(libraries) + " (--kernels fastest)");
  std::printf("caches            L1d %s, L2 %s, L3 %s\n", bytes(cpu.l1d_bytes).c_str(), bytes(cpu.l2_bytes).c_str(),
              bytes(cpu.l3_bytes).c_str());
  std::printf("memory            %s\n", bytes(cpu.memory_bytes).c_str());
  std::printf("frequency scaling %s\n", cpu.frequency_scaling.c_str());
  for (const Precision precision : kCpuPeaks) print_row(name(precision) + std::string(" peak"), cpu_peak_text(cpu, precision));
  std::printf("memory bandwidth  %s\n", cpu.memory_bandwidth_bytes_per_second
                                            ? (format_si(*cpu.memory_bandwidth_bytes_per_second, "B/s") + ", measured").c_str()
                                            : "not known");
  print_row("GPU code", gpu_code_text(*build.gpu_code));
  if (no_gpu) print_row("GPUs", "none: " + *no_gpu);
  for (std::size_t i = 0; i < gpus.size(); ++i) print_gpu(static_cast<int>(i), gpus[i]);
  for (const MeterInfo& meter : all_meters) {
    print_row("meter " + meter.name,
              meter.measures + ": " + (meter.obstacle ? "cannot be read: " + *meter.obstacle : "readable"));
    for (const std::string& missing : meter.missing) print_row("  without", missing);
  }
  if (const std::string doubts = cpu_peak_doubts(cpu); !doubts.empty()) print_fitted(wrapped("", "   ", doubts));
}

int info(const InfoOptions& options) {
  const Context context = describe_context({});
  CpuInfo cpu = context.cpu;
  static_cast<MeasuredCpu&>(cpu) = measured_cpu();
  std::vector<GpuInfo> all_gpus = list_gpus();
  for (int i = 0; i < static_cast<int>(all_gpus.size()); ++i) measure_peaks_of(all_gpus, i);
  const std::optional<std::string> no_gpu = why_no_gpu();
  const std::vector<MeterInfo> all_meters = meters(all_gpus, no_gpu);
  if (!options.json) {
    print_text(context, cpu, all_gpus, no_gpu, all_meters);
    if (const std::string remark = kernels_remark(context); !remark.empty()) print_error("warning: " + remark);
    return kExitDone;
  }
  Json gpus = Json::array(), meter_list = Json::array();
  for (const GpuInfo& gpu : all_gpus) gpus.push_back(json_of(gpu));
  for (const MeterInfo& meter : all_meters)
    meter_list.push_back({{"name", meter.name},
                          {"measures", meter.measures},
                          {"readable", !meter.obstacle.has_value()},
                          {"reason", json_of(meter.obstacle)},
                          {"missing", meter.missing}});
  const Json document = {{"cpu_kernels", json_of(context.cpu_kernels)},
                         {"cpu_libraries", cpu_libraries()},
                         {"gpu_code", json_of(context.gpu_code)},
                         {"cpu", json_of(cpu)},
                         {"gpus", gpus},
                         {"gpus_reason", json_of(no_gpu)},
                         {"meters", meter_list}};
  print(print_json(document));
  return kExitDone;
}

}  // namespace

void add_info(Commands& commands) {
  auto [command, options] = commands.add("info", "describe this machine, with its measured peaks", kInfoExamples, info);
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
