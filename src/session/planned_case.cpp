#include "src/session/planned_case.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "epochbench/backend.h"
#include "epochbench/dataset.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/units.h"
#include "src/machine/environment.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

constexpr std::int64_t kMaxRuns = 100'000;  // nobody waits for as many, and their list fits into memory

std::string data_of(const CaseDraft& draft) { return draft.data.value_or(draft.model.family->default_data); }
std::int64_t batch_of(const CaseDraft& draft) { return draft.batch.value_or(draft.model.family->default_batch); }

CaseSpec to_spec(const CaseDraft& draft, int threads_by_default) {
  CaseSpec spec;
  spec.name = run_name(draft, threads_by_default);
  spec.model = draft.model.name;
  spec.device = draft.device;
  spec.precision = draft.precision;
  spec.mode = draft.mode;
  spec.order = draft.order;
  spec.data = data_of(draft);
  spec.batch = batch_of(draft);
  spec.threads = draft.threads.value_or(threads_by_default);
  spec.pin = draft.pin;
  spec.meters = draft.meters;
  spec.warmup = draft.warmup;
  spec.seed = draft.seed;
  spec.learning_rate = draft.learning_rate;
  spec.dropout = draft.dropout;
  spec.epoch_samples = draft.epoch_samples;
  spec.loader_threads = draft.loader_threads;
  spec.decode_cost_seconds = draft.decode_cost_seconds;
  spec.cache = draft.cache;
  spec.init = draft.init;
  spec.save = draft.save;
  spec.trace = draft.trace;
  spec.without = draft.without;
  spec.gemm = draft.gemm;
  spec.stop = draft.stop;
  return spec;
}

// Where data are read or kept otherwise than these can be.
std::optional<Obstacle> input_obstacle(const CaseDraft& draft) {
  const CaseDraft usual;
  const bool asked =
      draft.loader_threads != usual.loader_threads || draft.decode_cost_seconds > 0 || draft.cache != usual.cache;
  if (asked && data_of(draft) == "synthetic")
    return Obstacle{
        "--loader-threads, --decode-cost, --cache: synthetic data are prepared before the steps, so nothing is read "
        "or decoded; choose other --data, such as digits",
        kExitCallIsWrong};
  if (draft.cache != usual.cache && draft.model.family->sample({.options = draft.model.options}).text())
    return Obstacle{"--cache decoded: the masks of a text are drawn anew each epoch, so only images can be kept; leave it out",
                    kExitCallIsWrong};
  return std::nullopt;
}

// What --only-with asks of the machine.
std::optional<Obstacle> unmet_condition(const CaseDraft& draft) {
  const int cores = default_threads();
  if (draft.least_cores.value_or(0) > cores)
    return Obstacle{"--only-with cores:" + std::to_string(*draft.least_cores) + ": there are " + std::to_string(cores),
                    kExitDeviceMissing};
  if (!draft.beside_device) return std::nullopt;
  try {
    make_backend(*draft.beside_device, 1);
    return std::nullopt;
  } catch (const DeviceError& error) {
    return Obstacle{"--only-with " + *draft.beside_device + ": " + error.what(), kExitDeviceMissing};
  }
}

std::optional<Obstacle> obstacle_of(const CaseDraft& draft) {
  if (auto obstacle = unmet_condition(draft)) return obstacle;
  if (auto obstacle = input_obstacle(draft)) return obstacle;
  if (draft.device == "cpu" && draft.precision == "tf32")
    return Obstacle{"--precision tf32: a format of NVIDIA's tensor cores, which a CPU does not have; use fp32 on the CPU",
                    kExitCallIsWrong};
  try {
    const CaseSpec spec = to_spec(draft, 1);
    const Precision precision = *precision_from_name(draft.precision);
    BackendOptions options = backend_options(spec);
    options.winograd = true;
    const auto backend = make_backend(draft.device, 1, options);
    if (const auto reason = unsupported(workload_spec(spec), *backend, entries_of_mode(draft.mode), precision))
      return Obstacle{"--precision " + draft.precision + " on " + draft.device + ": " + *reason, kExitCallIsWrong};
    if (const auto reason = nothing_to_leave_out(spec, *backend)) return Obstacle{*reason, kExitCallIsWrong};
    return std::nullopt;
  } catch (const DeviceError& error) {
    return Obstacle{error.what(), kExitDeviceMissing};
  }
}

bool same_stop(const StopSpec& a, const StopSpec& b) {
  const bool same_until = a.until.has_value() == b.until.has_value() &&
                          (!a.until || (a.until->metric == b.until->metric && a.until->value == b.until->value));
  return a.steps == b.steps && a.epochs == b.epochs && a.min_time_seconds == b.min_time_seconds && same_until;
}

void check_pin(const CaseSpec& spec) {
  const int cpus = logical_cpus_allowed();
  if (spec.device == "cpu" && spec.pin == "cores" && spec.threads > cpus)
    throw CallError(spec.name + ": --pin cores: there are " + std::to_string(spec.threads) + " threads and " +
                    std::to_string(cpus) + " CPUs that may be used; ask for fewer --threads");
}

void check_data(const PlannedCase& planned, const Model& model) {
  const CaseSpec& spec = planned.spec;
  const WorkloadSpec workload = workload_spec(spec);
  const auto dataset = open_dataset(spec.data, model.family->sample(workload.config),
                                    spec.epoch_samples.value_or(model.family->nominal_samples_per_epoch), spec.seed);
  const std::int64_t samples = dataset->samples(Split::train);
  if (samples < spec.batch)
    throw CallError(spec.name + ": a batch of " + format_count(spec.batch) + " is larger than the " + format_count(samples) +
                    " training samples of " + spec.data + "; use a smaller --batch");
  if (spec.stop.until && dataset->samples(Split::test) == 0)
    throw CallError(spec.name + ": --until needs a test split, and " + spec.data +
                    " has none; choose other --data or --epochs");
}

PlannedCase plan_one(const CaseDraft& draft, int threads_by_default) {
  PlannedCase planned;
  planned.spec = to_spec(draft, threads_by_default);
  planned.obstacle = obstacle_of(draft);
  check_pin(planned.spec);
  check_data(planned, draft.model);
  check_files(planned.spec);
  planned.workload = describe_workload(planned.spec);
  planned.flops_per_sample = draft.mode == "train" ? planned.workload.train_flops_per_sample
                                                   : count(workload_spec(planned.spec)).forward_flops_per_sample;
  return planned;
}

// Each file and folder is written by one run.
void check_one_writer(const std::vector<PlannedCase>& cases) {
  std::set<std::string> paths;
  for (const PlannedCase& planned : cases)
    for (const std::string& path : {planned.spec.save, planned.spec.trace})
      if (!path.empty() && !paths.insert(path).second)
        throw CallError("--save, --trace: several runs would write " + path + "; ask for one run, once");
}

}  // namespace

std::string run_name(const CaseDraft& draft, int default_threads) {
  const std::string backend = draft.device.substr(0, draft.device.find(':'));
  std::map<std::string, std::string> settings;  // sorted by key
  if (draft.cache != "none") settings["cache"] = draft.cache;
  if (data_of(draft) != draft.model.family->default_data) settings["data"] = data_of(draft);
  if (draft.decode_cost_seconds > 0) settings["decode-cost"] = shortest(draft.decode_cost_seconds);
  if (draft.dropout && draft.model.family->has_dropout) settings["dropout"] = shortest(*draft.dropout);
  if (draft.gemm != "best") settings["gemm"] = draft.gemm;
  if (!draft.init.empty()) settings["init"] = std::filesystem::path(draft.init).filename().string();  // paths stay private
  if (backend == "cuda" && draft.device != "cuda:0") settings["device"] = draft.device;
  if (draft.epoch_samples) settings["epoch-samples"] = std::to_string(*draft.epoch_samples);
  if (draft.learning_rate) settings["learning-rate"] = shortest(*draft.learning_rate);
  if (draft.loader_threads != CaseDraft{}.loader_threads) settings["loader-threads"] = std::to_string(draft.loader_threads);
  if (!draft.meters) settings["meters"] = "off";
  if (draft.mode != "train") settings["mode"] = draft.mode;
  if (draft.order != "shuffled") settings["order"] = draft.order;
  if (backend == "cpu" && draft.pin != "auto") settings["pin"] = draft.pin;
  if (draft.seed != 0) settings["seed"] = std::to_string(draft.seed);
  if (backend == "cpu" && draft.threads.value_or(default_threads) != default_threads)
    settings["threads"] = std::to_string(*draft.threads);
  if (draft.warmup != CaseDraft{}.warmup) settings["warmup"] = std::to_string(draft.warmup);
  if (draft.without != Without{}) settings["without"] = to_string(draft.without);
  std::string name = draft.model.name + "/" + backend + "/" + draft.precision + "/b" + std::to_string(batch_of(draft));
  for (const auto& [key, value] : settings) name += "/" + key + "=" + value;
  return name;
}

std::vector<PlannedCase> plan_cases(const std::vector<CaseDraft>& drafts, int repetitions) {
  const int threads = default_threads();
  std::vector<PlannedCase> once;
  std::vector<int> times;  // that each of them runs
  for (const CaseDraft& draft : drafts) {
    const std::string name = run_name(draft, threads);
    const auto twin = std::find_if(once.begin(), once.end(), [&](const PlannedCase& other) { return other.spec.name == name; });
    const int wanted = draft.repetitions.value_or(repetitions);
    if (twin == once.end()) {
      once.push_back(plan_one(draft, threads));
      times.push_back(wanted);
      continue;
    }
    int& most = times[static_cast<std::size_t>(twin - once.begin())];
    most = std::max(most, wanted);
    if (!same_stop(twin->spec.stop, draft.stop))
      throw CallError(name + ": asked for twice with different --steps, --epochs, --min-time or --until; keep one of them");
  }
  if (std::all_of(once.begin(), once.end(), [](const PlannedCase& planned) { return planned.obstacle.has_value(); })) {
    // Several devices or precisions, none of them usable: a missing device weighs more than a wrong word in the call.
    const auto worst = std::max_element(once.begin(), once.end(), [](const PlannedCase& a, const PlannedCase& b) {
      return a.obstacle->exit_code < b.obstacle->exit_code;
    });
    throw CallError(worst->obstacle->reason, worst->obstacle->exit_code);
  }
  if (const std::int64_t runs = std::accumulate(times.begin(), times.end(), std::int64_t{0}); runs > kMaxRuns)
    throw CallError(std::to_string(runs) + " runs are asked for, more than " + std::to_string(kMaxRuns) +
                    "; ask for fewer --repetitions or cases");
  std::vector<PlannedCase> all;
  for (int repetition = 0; repetition < *std::max_element(times.begin(), times.end()); ++repetition)
    for (std::size_t i = 0; i < once.size(); ++i) {
      if (repetition >= times[i]) continue;
      all.push_back(once[i]);
      all.back().spec.repetition = repetition;
    }
  check_one_writer(all);
  return all;
}

}  // namespace epochbench
