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
#include "src/base/numbers.h"

namespace epochbench::bench {
namespace {

std::string ratio_text(const LeftOutStep& step) {
  return step.predicted ? significant(std::exp(step.log_ratio), 3) + (step.within ? "" : " outside") : "none";
}

void print_steps(const std::vector<MeasuredStep>& steps, const FittedFactors& fitted) {
  std::printf(
      "| device | source | step | measured ms | expected / measured without the device | without the source |\n"
      "|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < steps.size(); ++i)
    std::printf("| %s | %s | %s | %.3g | %s | %s |\n", steps[i].device.c_str(), steps[i].source.c_str(), steps[i].model.c_str(),
                1e3 * steps[i].seconds, ratio_text(fitted.by_device[i]).c_str(), ratio_text(fitted.by_source[i]).c_str());
}

void print_devices(const TimeFactors& kind) {
  std::printf("%s: median error %.1f %%, %.1f %% within intervals of %.2f to %.2f\n", kind.evidence.c_str(),
              100 * kind.error.median, 100 * kind.within, kind.low, kind.high);
  for (std::size_t i = 0; i < kDemands; ++i) std::printf("  %s %.4g\n", texts_of(Demand{})[i], kind.factors[i]);
  std::printf("\n| left out | steps | median error |\n|---|---|---|\n");
  for (const auto& [device, error] : kind.devices)
    std::printf("| %s | %d | %.0f %% |\n", device.c_str(), error.pairs, 100 * error.median);
  std::printf("\n| source left out | steps | in the interval of the others |\n|---|---|---|\n");
  for (const auto& [source, share] : kind.sources)
    std::printf("| %s | %d | %.0f %% |\n", source.c_str(), share.pairs, 100 * share.within);
  std::printf("| all | | %.1f %% |\n", 100 * kind.within_sources);
  std::printf("\n");
}

int fit(const std::string& root, bool with_steps) {
  const std::string published = root + "/bench/throughputs.json";
  const std::vector<MeasuredStep> gpu = published_steps(published, false), tuned_gpu = published_steps(published, true),
                                  cpu = own_steps(root + "/results");
  const FittedTimes times = fit_times(gpu, tuned_gpu, cpu, own_gpu_steps(root + "/results"));
  for (const FittedFactors* fitted : {&times.gpu, &times.tuned_gpu, &times.cpu}) print_devices(fitted->kind);
  if (with_steps) {
    print_steps(gpu, times.gpu);
    print_steps(tuned_gpu, times.tuned_gpu);
    print_steps(cpu, times.cpu);
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
