// A result in which everything that can be known is, and a run that is not ok.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "src/result/result.h"

namespace epochbench {

inline SweepAnswers complete_answers() {
  const Crossing crossing{"a", "b", CrossingIn::time, 3.5, {{2, 4}}, {{2.5, 4.0}}, "b", std::nullopt};
  const Crossing none{"a", "b", CrossingIn::cost, {}, {}, {}, {}, "a is cheaper everywhere"};
  return {Axis::threads,
          "samples_per_second",
          {{"a", "cpu", Precision::fp32, 2, 3.0, {{1, 4}}, std::nullopt}},
          {{"a", "cpu", Precision::fp32, 1, {{1, 2}}, std::nullopt}},
          {crossing},
          {none},
          {{"a",
            4,
            8,
            {{ScalingLaw::usl, 1.0, 0.1, 0.01, 0.02, 3.0, 9.0}},
            {{ScalingLaw::usl, "b", 9.0, 20.0, {15, std::nullopt}, "the upper end is open"}},
            std::nullopt}},
          {{"a",
            {{2, 16, 100.0, 0.95, {{0.9, 0.97}}, 0.16, 0.01, 1.05, 2e9, 3e9}},
            NetworkFit{1e-5, 2e9, 0.01},
            {{"25 GbE", 8, 64, 390.0, 0.93, 0.17, 0.02}},
            "b"}}};
}

inline Context complete_context() {
  Context c;
  c.date = "2026-01-02T03:04:05Z";
  c.host_name = "box";
  c.version = "0.1.0";
  c.git_sha = "abc";
  c.git_dirty = true;
  c.build_type = "Release";
  c.compiler = "gcc 12.2.0";
  c.os = "Debian GNU/Linux 12 (bookworm)";
  c.kernel = "Linux 6.1.0";
  c.command_line = {{"epochbench", "run"}};
  c.earlier_calls = {{{"0.1.0", "abd", false, "Release", "gcc 12.2.0"}, "2026-01-01T03:04:05Z", {{"epochbench", "run"}}}};
  c.load_average = {0.5, 0.25, 0.125};
  c.environment = {{"OMP_PROC_BIND", "true"}, {"LD_PRELOAD", "libtcmalloc.so"}};
  c.nice = 5;
  c.cpu.model = "Some CPU";
  c.cpu.sockets = 1;
  c.cpu.cores = 2;
  c.cpu.fast_cores = 1;
  c.cpu.threads_available = 4;
  c.cpu.isa = {"avx2"};
  c.cpu.l1d_bytes = 32768;
  c.cpu.memory_bytes = std::int64_t{1} << 40;
  c.cpu.peak_flops_per_second = {{"fp32", 1e11}, {"bf16", std::nullopt}};
  c.cpu.peak_instruction = {{"fp32", "vfmadd (avx2)"}, {"bf16", std::nullopt}};
  c.cpu.peak_threads = 2;
  c.cpu.peak_bursts_flops_per_second = {{"fp32", {0.75e11, 1e11}}};
  c.cpu.peak_foreign_cpu_cores = 0.125;
  GpuInfo gpu;
  gpu.name = "Some GPU";
  gpu.uuid = "GPU-1";
  gpu.pci_bus_id = "0000:65:00.0";
  gpu.memory_bytes = 8;
  gpu.peak_flops_per_second = {{"fp32", 1.0}, {"tf32", 2.0}, {"bf16", 3.0}, {"fp16", std::nullopt}};
  c.gpus = {gpu};
  return c;
}

inline Run complete_run() {
  Run ok;
  ok.name = "mlp:depth=3/cpu/fp32/b64";
  ok.repetition = 2;
  ok.workload = {"mlp:depth=3",
                 Mode::train,
                 10,
                 std::string(32, 'a'),
                 64,
                 "digits",
                 1408,
                 "adamw lr=0.001",
                 std::numeric_limits<std::uint64_t>::max(),
                 123.5,
                 7,
                 41};
  ok.workload.tokenizer = "gpt2, 600 tokens, " + std::string(32, 'b');
  ok.workload.nominal_dataset = "MNIST";
  ok.device = {BackendKind::cpu, "Some CPU", 2, "avx2", Precision::fp32, true, {0, 2}, "winograd", "fusion+prefetch"};
  ok.precision = Precision::fp32;
  ok.settings = {{"model", "mlp"}, {"model_options", std::map<std::string, std::int64_t>{{"depth", 3}}}};
  ok.input = Input{3, false, 0.002, Cache::decoded, "u8", 2};
  ok.input->files = ImageFiles{10, 300, 40, 224, 224};
  ok.timing = Timing{3,
                     {0.1, 1.0 / 3, 1e-9},
                     0.1,
                     {{0.05, 0.2}},
                     0.433333334,
                     12.5,
                     EpochKind::projected,
                     0.01,
                     20,
                     StopReason::noise,
                     1e-6,
                     0.003,
                     7,
                     {1},
                     true};
  ok.throughput = Throughput{640, std::nullopt};
  ok.latency = Latency{3, 0.25, std::nullopt, std::nullopt, 0.5, {0.25, 1.0 / 3, 0.5}, 5};
  ok.efficiency = Efficiency{1e10, 0.25, 0.01, std::nullopt};
  ok.memory = Memory{100, 200, 0.5, 64};
  ok.interference = Interference{0.75};
  ok.gpu = GpuState{0.5, 1e9, 60, 3, 0, {"sw_power_cap"}, {{{0, 1}, {2, 2}}}, 12345, "memory: Not Supported"};
  ok.quality = Quality{{2.5, 2.25}, 2.25, EvalMetric::accuracy, 0.9, {0.8, 0.9}, "mlp/cpu/fp32/b64", 1e-7, "library", 8};
  ok.energy = Energy{EnergySource::rapl, 1.0,       2.0, std::nullopt, 4.0, 5.0, 4.0, std::nullopt, 5.0, std::nullopt, 0.25,
                     "GPU: no card",     {"whole"}, true};
  ok.cost = Cost{0.34, 0.001, 0.002, "user", "EUR"};
  ok.profile = Profile{7,
                       0.75,
                       std::nullopt,
                       std::nullopt,
                       {{"matmul", 1, 0.5, 2.0 / 3, 200, 20, std::nullopt, 100, 10, std::nullopt},
                        {"relu", 1, 0.25, 1.0 / 3, std::nullopt, 80, 0.5, 0, 20, 0.125}},
                       {{"fc1", "matmul", "avx2 matmul", 0.5, 100, 10, std::nullopt, std::nullopt, std::nullopt},
                        {"relu1", "relu", "avx2 relu", 0.25, 0, 20, 0.125, NodeLimit::memory, 0.5}}};
  return ok;
}

inline Result complete_result() {
  const Run ok = complete_run();
  Run failed;
  failed.name = "mlp/cpu/fp32/b64";
  failed.status = RunStatus::out_of_memory;
  failed.message = "needs 5 GB";
  failed.workload = ok.workload;
  failed.device = ok.device;
  failed.precision = Precision::fp32;
  failed.settings = {{"model", "mlp"}};
  failed.timing = ok.timing;  // must not be written
  failed.latency = ok.latency;
  failed.profile = ok.profile;
  return {complete_context(), {ok, failed}, complete_answers()};
}

}  // namespace epochbench
