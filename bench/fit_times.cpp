// epochbench_fit [--root=DIR] [--steps]
//
// Makes bench/time_model.json from bench/throughputs.json and results/, and prints how well the other devices predict each
// device; with --steps also every step. Exits with 2 for arguments that it does not understand.
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "bench/measured_steps.h"

namespace epochbench::bench {
namespace {

void print_steps(const std::vector<MeasuredStep>& steps, const std::vector<LeftOutStep>& left_out) {
  std::printf("| device | step | measured ms | expected / measured | in the interval |\n|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < steps.size(); ++i)
    std::printf("| %s | %s | %.3g | %.2f | %s |\n", steps[i].device.c_str(), steps[i].model.c_str(), 1e3 * steps[i].seconds,
                std::exp(left_out[i].log_ratio), left_out[i].within ? "yes" : "no");
}

void print_devices(const TimeFactors& kind) {
  std::printf("%s: median error %.1f %%, %.1f %% within intervals of %.2f to %.2f\n", kind.evidence.c_str(),
              100 * kind.error.median, 100 * kind.within, kind.low, kind.high);
  for (std::size_t i = 0; i < kDemands; ++i) std::printf("  %s %.4g\n", texts_of(Demand{})[i], kind.factors[i]);
  std::printf("\n| left out | steps | median error |\n|---|---|---|\n");
  for (const auto& [device, error] : kind.devices)
    std::printf("| %s | %d | %.0f %% |\n", device.c_str(), error.pairs, 100 * error.median);
  std::printf("\n");
}

int fit(const std::string& root, bool with_steps) {
  const std::vector<MeasuredStep> gpu = published_steps(root + "/bench/throughputs.json"), cpu = own_steps(root + "/results");
  const FittedTimes times = fit_times(gpu, cpu);
  print_devices(times.gpu.kind);
  print_devices(times.cpu.kind);
  if (with_steps) {
    print_steps(gpu, times.gpu.left_out);
    print_steps(cpu, times.cpu.left_out);
  }
  const std::string path = root + "/bench/time_model.json";
  std::ofstream out(path);
  out << time_model_json(times, root).dump(1) << "\n";
  if (!out.flush()) throw std::runtime_error(path + ": cannot be written");
  return 0;
}

}  // namespace
}  // namespace epochbench::bench

int main(int argc, char** argv) {
  CLI::App app("Fits the model of expected times");
  std::string root = EPOCHBENCH_ROOT;
  bool with_steps = false;
  app.add_option("--root", root, "the repository");
  app.add_flag("--steps", with_steps, "every step, too");
  try {
    app.parse(argc, argv);
    return epochbench::bench::fit(root, with_steps);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "epochbench_fit: " << error.what() << "\n";
    return 2;
  }
}
