#include "bench/measured_steps.h"

#include <array>
#include <map>
#include <set>

#include "src/analysis/case_settings.h"
#include "src/analysis/predict/published_steps.h"
#include "src/analysis/series.h"
#include "src/base/files.h"
#include "src/base/hash.h"
#include "src/base/statistics.h"
#include "src/case/case_spec.h"
#include "src/result/result_json.h"
#include "src/session/prices.h"
#include "src/workload/lower_bound.h"

namespace epochbench::bench {
namespace {

constexpr const char* kThroughputs = "bench/throughputs.json";

// One of our results, and the catalog's instance with its CPU.
struct OwnResult {
  const char *file, *instance;
};
constexpr std::array kOwnResults{
    OwnResult{"zen4-2cores-quick.json", "c7a.4xlarge"}, OwnResult{"zen4-2cores-hour.json", "c7a.4xlarge"},
    OwnResult{"zen5-2cores-quick.json", "c8a.4xlarge"}, OwnResult{"xeon-amx-2cores-quick.json", "c8i.4xlarge"}};

// Each has its cases once, in single processes.
constexpr std::array kOwnGpuResults{"h200-record.json", "h200-peers.json"};

PredictionTarget target_of(const std::string& name) { return find_target(embedded_devices(), embedded_prices().prices, name); }

MeasuredStep measured(const CaseSpec& spec, const PredictionTarget& target, double seconds) {
  std::vector<NodeDemand> nodes;
  for (const NodeWork& node : min_work(workload_spec(spec), spec.mode, spec.precision))
    nodes.push_back({node.flops, node.bytes, node.winograd, node.work_class});
  MeasuredStep step;
  step.device = target.device->id;
  step.model = spec.model.name + " " + name(spec.precision) + " b" + std::to_string(spec.batch.value());
  step.demands = demands_of(nodes, target, spec.precision);
  step.bound_seconds = time_bound(nodes, limits_of(target, spec.precision)).seconds;
  step.seconds = seconds;
  step.cores = target.instance ? target.instance->cores : 0;
  return step;
}

CaseSpec case_of(const std::string& model, std::int64_t batch, Precision precision) {
  CaseSpec spec;
  spec.model = find_model(model);
  spec.batch = batch;
  spec.precision = precision;
  return spec;
}

// Empty unless own_steps() uses this kind of run.
std::optional<CaseSpec> fitted_case(const Run& run) {
  if (!run.timing || run.timing->step_seconds.empty() || run.workload.mode != Mode::train ||
      run.device.backend != BackendKind::cpu)
    return {};
  for (const auto& [key, value] : further_settings(speed_settings(run)))
    if (key != "data") return {};
  CaseSpec spec = case_of(run.workload.model, run.workload.batch, run.precision);
  spec.data = run.workload.dataset;
  return spec;
}

void add_steps(std::vector<MeasuredStep>& steps, const Result& result, const CatalogDevice& device) {
  const CpuInstance cores{"its cores", result.context.cpu.threads_available, 1, 1};
  std::map<std::string, std::pair<CaseSpec, std::vector<double>>> by_case;
  for (const Run& run : result.runs)
    if (const std::optional<CaseSpec> spec = fitted_case(run)) {
      auto& [kept, seconds] = by_case[label_of(speed_settings(run))];
      kept = *spec;
      seconds.push_back(median(run.timing->step_seconds));
    }
  for (auto& [label, one] : by_case)
    steps.push_back(measured(one.first, {&device, &cores, nullptr}, median(std::move(one.second))));
}

std::string count_text(const std::vector<MeasuredStep>& steps, const char* of, const char* devices) {
  std::set<std::string> ids;
  for (const MeasuredStep& step : steps) ids.insert(step.device);
  return std::to_string(steps.size()) + " " + of + " of " + std::to_string(ids.size()) + " " + devices;
}

}  // namespace

std::vector<MeasuredStep> published_steps(const std::string& path, bool tuned) {
  std::vector<MeasuredStep> steps;
  for (const PublishedStep& step : parse_published_steps(read_text_file(path), path).steps)
    if (step.tuned == tuned) {
      steps.push_back(measured(case_of(step.model, step.batch, step.precision), target_of(step.device), step.seconds));
      steps.back().source = step.setting;
    }
  return steps;
}

std::vector<MeasuredStep> own_steps(const std::string& folder) {
  std::vector<MeasuredStep> steps;
  for (const OwnResult& own : kOwnResults) {
    add_steps(steps, read_result(folder + "/" + own.file), *target_of(own.instance).device);
    for (MeasuredStep& step : steps)
      if (step.source.empty()) step.source = own.file;
  }
  return steps;
}

std::vector<OwnStep> own_gpu_steps(const std::string& folder) {
  std::vector<OwnStep> steps;
  for (const char* file : kOwnGpuResults)
    for (const Run& run : read_result(folder + "/" + file).runs) {
      if (!runs_on_gpu(run) || !run.timing || run.timing->step_seconds.empty() || run.workload.mode != Mode::train) continue;
      steps.push_back({target_of(run.device.name).device->id,
                       is_ours(run) ? name(Framework::epochbench) : name(run.device.backend), run.workload.model, run.precision,
                       run.workload.batch, median(run.timing->step_seconds), std::string("results/") + file});
    }
  return steps;
}

FittedTimes fit_times(const std::vector<MeasuredStep>& gpu, const std::vector<MeasuredStep>& tuned_gpu,
                      const std::vector<MeasuredStep>& cpu, std::vector<OwnStep> own) {
  return {fit_with_left_out(gpu, true, count_text(gpu, "published training steps", "GPUs"), "PyTorch"),
          fit_with_left_out(tuned_gpu, true, count_text(tuned_gpu, "published training steps of tuned programs", "GPUs"),
                            "PyTorch or TensorFlow, tuned"),
          fit_with_left_out(cpu, false, count_text(cpu, "measured training steps", "CPUs, two cores each"), "epochbench"),
          std::move(own)};
}

Json time_model_json(const FittedTimes& times, const std::string& root) {
  Json inputs = Json::object();
  const auto add = [&](const std::string& path) { inputs[path] = text_hash(read_text_file(root + "/" + path)); };
  add(kThroughputs);
  for (const OwnResult& own : kOwnResults) add(std::string("results/") + own.file);
  for (const char* file : kOwnGpuResults) add(std::string("results/") + file);
  return {{"note",
           "Made by epochbench_fit from the inputs named here, with their hashes (XXH3, 128 bits); docs/predictions.md "
           "explains it."},
          {"inputs", inputs},
          {"gpu", json_of(times.gpu.kind)},
          {"tuned_gpu", json_of(times.tuned_gpu.kind)},
          {"cpu", json_of(times.cpu.kind)},
          {"own", json_of(times.own)}};
}

}  // namespace epochbench::bench
