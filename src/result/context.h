// Where and by what a result was measured: the machine and the program.
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

namespace epochbench {

struct CpuInfo {
  std::string model;
  std::optional<int> sockets, cores;
  int threads_available = 1;
  std::vector<std::string> isa;  // "avx2", "avx512f", "avx512_bf16", "amx_bf16", …
  std::optional<std::int64_t> l1d_bytes, l2_bytes, l3_bytes;
  std::optional<std::int64_t> memory_bytes;
  std::string frequency_scaling = "unknown";                           // yes | no | unknown
  std::map<std::string, std::optional<double>> peak_flops_per_second;  // by precision; measured
  std::optional<double> memory_bandwidth_bytes_per_second;             // measured
  std::map<std::string, std::optional<std::string>> peak_instruction;  // which the peaks are measured with: "vfmadd (avx512)"
  std::optional<int> peak_threads;                                     // which they are measured with, whatever a run uses
};

// The precisions whose peaks a file always names.
inline constexpr std::array kCpuPeaks{name(Precision::fp32), name(Precision::bf16)};
inline constexpr std::array kGpuPeaks{name(Precision::fp32), name(Precision::tf32), name(Precision::bf16),
                                      name(Precision::fp16)};

void fields(auto& visit, Is<CpuInfo> auto& cpu) {
  visit("model", cpu.model);
  visit("sockets", cpu.sockets);
  visit("cores", cpu.cores);
  visit("threads_available", cpu.threads_available);
  visit("isa", cpu.isa);
  visit.group("cache_bytes", [&](auto& cache) {
    cache("l1d", cpu.l1d_bytes);
    cache("l2", cpu.l2_bytes);
    cache("l3", cpu.l3_bytes);
  });
  visit("memory_bytes", cpu.memory_bytes);
  visit("frequency_scaling", cpu.frequency_scaling);
  visit("peak_flops_per_second", with_keys(cpu.peak_flops_per_second, kCpuPeaks));
  visit("memory_bandwidth_bytes_per_second", cpu.memory_bandwidth_bytes_per_second);
  visit("peak_instruction", with_keys(cpu.peak_instruction, kCpuPeaks));
  visit("peak_threads", cpu.peak_threads);
}

void fields(auto& visit, Is<GpuInfo> auto& gpu) {
  visit("name", gpu.name);
  visit("uuid", null_if_empty(gpu.uuid));
  visit("compute_capability", null_if_empty(gpu.compute_capability));
  visit("memory_bytes", gpu.memory_bytes);
  visit("driver", null_if_empty(gpu.driver));
  visit("cuda", null_if_empty(gpu.cuda));
  visit("cublas", null_if_empty(gpu.cublas));
  visit("cudnn", null_if_empty(gpu.cudnn));
  visit("peak_flops_per_second", with_keys(gpu.peak_flops_per_second, kGpuPeaks));
  visit("memory_bandwidth_bytes_per_second", gpu.memory_bandwidth_bytes_per_second);
  visit("host_to_device_bytes_per_second", gpu.host_to_device_bytes_per_second);
  visit("pci_bus_id", null_if_empty(gpu.pci_bus_id));
}

struct Context {
  std::string date;  // RFC 3339
  std::optional<std::string> host_name;
  std::string epochbench_version;
  std::optional<std::string> git_sha;
  std::optional<bool> git_dirty;
  std::string build_type, compiler;
  std::optional<std::string> os = {}, kernel = {};  // "Debian GNU/Linux 12 (bookworm)", "Linux 6.1.0-18-amd64"
  std::optional<std::vector<std::string>> command_line;
  std::vector<double> load_average;
  CpuInfo cpu;
  std::vector<GpuInfo> gpus;
};

void fields(auto& visit, Is<Context> auto& context) {
  visit("date", context.date);
  visit("host_name", context.host_name);
  visit("epochbench_version", context.epochbench_version);
  visit("git_sha", context.git_sha);
  visit("git_dirty", context.git_dirty);
  visit("build_type", context.build_type);
  visit("compiler", context.compiler);
  visit("os", context.os);
  visit("kernel", context.kernel);
  visit("command_line", context.command_line);
  visit("load_average", context.load_average);
  visit("cpu", context.cpu);
  visit("gpus", context.gpus);
}

}  // namespace epochbench
