// The machine and the program that a result was measured with.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "epochbench/gpu.h"
#include "epochbench/precision.h"
#include "src/base/fields.h"
#include "src/base/lookup.h"

namespace epochbench {

// One of several processes that measured the CPU's peaks, spread over a run; intervals are over processes.
struct PeakProcess {
  double seconds = 0;  // since the first of them
  std::map<std::string, std::optional<double>> peak_flops_per_second;
  std::optional<double> memory_bandwidth_bytes_per_second;
};

void fields(auto& visit, Is<PeakProcess> auto& process) {
  VISIT(process, seconds, peak_flops_per_second, memory_bandwidth_bytes_per_second);
}

// What a process measured of the CPU.
struct MeasuredCpu {
  std::map<std::string, std::optional<double>> peak_flops_per_second;  // by precision
  std::optional<double> memory_bandwidth_bytes_per_second;
  std::map<std::string, std::optional<std::string>> peak_instruction;  // that the peaks are measured with: "vfmadd (avx512)"
  std::optional<int> peak_threads;                                     // used to measure the peaks, whatever a run uses
  std::map<std::string, std::vector<double>> peak_bursts_flops_per_second;  // by precision
  std::optional<double> peak_foreign_cpu_cores;                             // other processes took meanwhile
};

// Measured values are those of the first process, except that peaks and bandwidth are the best of all processes
// (src/analysis/peak_share.h).
struct CpuInfo : MeasuredCpu {
  std::string model;
  std::optional<int> sockets, cores, fast_cores;  // the last: where there are several kinds of cores, those of the fastest
  int threads_available = 1;
  std::vector<std::string> isa;  // "avx2", "avx512f", "avx512_bf16", "amx_bf16", …
  std::optional<std::int64_t> l1d_bytes, l2_bytes, l3_bytes;
  std::optional<std::int64_t> memory_bytes;
  std::string frequency_scaling = "unknown";  // yes | no | unknown
  std::vector<PeakProcess> peak_processes;
};

// The precisions whose peaks a file always names.
inline constexpr std::array kCpuPeaks{Precision::fp32, Precision::bf16, Precision::int8};
inline constexpr std::array kCpuPeakKeys{name(kCpuPeaks[0]), name(kCpuPeaks[1]), name(kCpuPeaks[2])};
inline constexpr std::array kGpuPeakKeys{name(Precision::fp32), name(Precision::tf32), name(Precision::bf16),
                                         name(Precision::fp16)};

// The peak of this precision; empty: not known.
inline std::optional<double> peak_in(const std::map<std::string, std::optional<double>>& peaks, Precision precision) {
  const auto* peak = find_value(peaks, name(precision));
  return peak ? *peak : std::nullopt;
}

void fields(auto& visit, Is<MeasuredCpu> auto& cpu) {
  visit("peak_flops_per_second", cpu.peak_flops_per_second, {.keys = kCpuPeakKeys});
  visit("memory_bandwidth_bytes_per_second", cpu.memory_bandwidth_bytes_per_second);
  visit("peak_instruction", cpu.peak_instruction, {.keys = kCpuPeakKeys});
  visit("peak_threads", cpu.peak_threads);
  visit("peak_bursts_flops_per_second", cpu.peak_bursts_flops_per_second, {.omitted_if_empty = true});
  visit("peak_foreign_cpu_cores", cpu.peak_foreign_cpu_cores, {.omitted_if_empty = true});
}

void fields(auto& visit, Is<CpuInfo> auto& cpu) {
  VISIT(cpu, model, sockets, cores);
  visit("fast_cores", cpu.fast_cores, {.omitted_if_empty = true});
  VISIT(cpu, threads_available, isa);
  visit.group("cache_bytes", [&](auto& cache) {
    cache("l1d", cpu.l1d_bytes);
    cache("l2", cpu.l2_bytes);
    cache("l3", cpu.l3_bytes);
  });
  VISIT(cpu, memory_bytes, frequency_scaling);
  fields(visit, part<MeasuredCpu>(cpu));
  visit("peak_processes", cpu.peak_processes, {.omitted_if_empty = true});
}

void fields(auto& visit, Is<MeasuredGpu> auto& gpu) {
  visit("peak_flops_per_second", gpu.peak_flops_per_second, {.keys = kGpuPeakKeys});
  VISIT(gpu, memory_bandwidth_bytes_per_second, host_to_device_bytes_per_second);
}

void fields(auto& visit, Is<GpuInfo> auto& gpu) {
  visit("name", gpu.name);
  visit("uuid", gpu.uuid, {.null_if_empty = true});
  visit("compute_capability", gpu.compute_capability, {.null_if_empty = true});
  visit("memory_bytes", gpu.memory_bytes);
  visit("driver", gpu.driver, {.null_if_empty = true});
  visit("cuda", gpu.cuda, {.null_if_empty = true});
  visit("cublas", gpu.cublas, {.null_if_empty = true});
  visit("cudnn", gpu.cudnn, {.null_if_empty = true});
  fields(visit, part<MeasuredGpu>(gpu));
  visit("pci_bus_id", gpu.pci_bus_id, {.null_if_empty = true});
}

// A binary, as it describes itself.
struct BuildInfo {
  std::string version;  // "0.1.0"
  std::optional<std::string> git_sha;
  std::optional<bool> git_dirty;
  std::string build_type, compiler;
  std::optional<std::vector<std::string>> cpu_kernels = {};  // instruction sets of its CPU kernels: "portable", "avx2", …
  std::optional<std::vector<std::string>> gpu_code = {};     // as CMake names architectures: "90-real"; empty: no CUDA backend
};

// `version_key`: a document and the protocol (src/worker/protocol.h) spell it differently.
void build_fields(auto& visit, auto& build, const char* version_key) {
  visit(version_key, build.version);
  VISIT(build, git_sha, git_dirty, build_type, compiler);
  visit("cpu_kernels", build.cpu_kernels, {.addition = true});
  visit("gpu_code", build.gpu_code, {.addition = true});
}

// A call whose runs a later one kept and added to (--resume).
struct EarlierCall : BuildInfo {
  std::string date;
  std::optional<std::vector<std::string>> command_line;
};

void fields(auto& visit, Is<EarlierCall> auto& call) {
  visit("date", call.date);
  build_fields(visit, call, "epochbench_version");
  visit("command_line", call.command_line);
}

struct Context : BuildInfo {  // the build is that of the binary that measured
  std::string date;           // RFC 3339
  std::optional<std::string> host_name;
  std::optional<std::string> os = {}, kernel = {};  // "Debian GNU/Linux 12 (bookworm)", "Linux 6.1.0-18-amd64"
  std::optional<std::vector<std::string>> command_line;
  std::vector<EarlierCall> earlier_calls;  // oldest first
  std::optional<std::string> suite;        // built-in suite whose cases were measured
  std::vector<double> load_average;
  // What the program was started with and that changes how one computes: variables of OpenMP's run-times, which were not
  // followed, LD_PRELOAD and GLIBC_TUNABLES.
  std::map<std::string, std::string> environment;
  std::optional<int> nice;  // other than 0
  CpuInfo cpu;
  std::vector<GpuInfo> gpus;
};

void fields(auto& visit, Is<Context> auto& context) {
  VISIT(context, date, host_name);
  build_fields(visit, context, "epochbench_version");
  VISIT(context, os, kernel, command_line);
  visit("earlier_calls", context.earlier_calls, {.omitted_if_empty = true});
  visit("suite", context.suite, {.addition = true});
  VISIT(context, load_average);
  visit("environment", context.environment, {.omitted_if_empty = true});
  visit("nice", context.nice, {.omitted_if_empty = true, .minimum = -20, .maximum = 19});
  VISIT(context, cpu, gpus);
}

}  // namespace epochbench
