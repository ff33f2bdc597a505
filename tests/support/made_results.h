// Results as tests make them up: complete, and clean enough that a pair of them has no warning.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "src/result/turns.h"
#include "support/made_settings.h"

namespace epochbench {

struct MadeRun {
  std::string backend = "cpu", precision = "fp32";
  double rate = 100;  // samples per second, of every repetition
  std::int64_t batch = 16;
  std::string settings = "", model = "resnet50";  // settings: "/threads=1"
  int repetitions = 5;
};

inline Run made_run(const MadeRun& made, int repetition) {
  const bool gpu = made.backend == "cuda", reference = made.backend == "cpu" && made.precision == "fp32";
  const auto threads_at = made.settings.find("/threads=");
  const int threads = threads_at == std::string::npos ? 8 : std::stoi(made.settings.substr(threads_at + 9));
  const double step = static_cast<double>(made.batch) / made.rate, epoch = 12'800 / made.rate;
  Run run;
  rename(run, made.model + "/" + made.backend + "/" + made.precision + "/b" + std::to_string(made.batch) + made.settings);
  run.repetition = repetition;
  run.workload = {made.model, Mode::train,
                  1000,       made.model + " of batch " + std::to_string(made.batch),
                  made.batch, "synthetic",
                  12'800,     "sgd lr=" + std::to_string(0.1 * static_cast<double>(made.batch) / 256) + " momentum=0.9",
                  0,          1e9,
                  {}};
  run.device = {from_name<BackendKind>(made.backend).value(), gpu ? "Some GPU" : "Some CPU",
                gpu ? std::nullopt : std::optional(threads),
                gpu ? std::nullopt : std::optional<std::string>(made.precision == "bf16" ? "amx_bf16" : "avx512")};
  run.precision = from_name<Precision>(made.precision).value();
  Timing& timing = run.timing.emplace();
  timing.step_seconds.assign(20, step);
  timing.step_seconds_median = step;
  timing.step_seconds_ci95 = {step, step};
  timing.steps_total_seconds = 20 * step;
  timing.epoch_seconds = epoch;
  timing.epoch_kind = EpochKind::projected;
  timing.wall_seconds = 30 * step;
  timing.stopped_by = StopReason::noise;
  run.throughput = Throughput{made.rate, std::nullopt};
  run.efficiency = Efficiency{1e9 * made.rate, 0.8, 0.0, std::nullopt};
  run.interference = Interference{0.01};
  if (gpu) run.gpu.emplace().throttled_steps = 0;
  run.quality.emplace().loss = {7.0, 6.9, 6.8};
  if (!reference) run.quality->parity_max_relative_difference = 1e-6;
  run.energy = Energy{
      gpu ? EnergySource::rapl_and_nvml : EnergySource::rapl, epoch * (gpu ? 700 : 300), {}, {}, gpu ? 700.0 : 300.0, {}};
  run.energy->cpu_includes_memory = true;
  run.cost = Cost{gpu ? 4.0 : 1.0, epoch / 3600 * (gpu ? 4 : 1), {}, "user"};
  return run;
}

inline NamedResult made_result(const std::string& path, const std::string& host, const std::vector<MadeRun>& runs) {
  NamedResult named{path, {}};
  Context& context = named.result.context;
  if (!host.empty()) context.host_name = host;
  context.date = "2026-01-02T03:04:05Z";
  context.version = "0.1.0";
  context.git_sha = "abc";
  context.cpu.model = "Some CPU";
  context.cpu.cores = 8;
  context.cpu.threads_available = 16;
  context.cpu.isa = {"fma", "avx2", "avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl", "avx512_bf16", "amx_bf16"};
  for (int repetition = 0; repetition < 10; ++repetition)
    for (const MadeRun& run : runs)
      if (repetition < run.repetitions) named.result.runs.push_back(made_run(run, repetition));
  return named;
}

}  // namespace epochbench
