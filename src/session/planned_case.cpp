#include "src/session/planned_case.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/case/option_row.h"
#include "src/case/run_name.h"
#include "src/case/settings.h"
#include "src/machine/cgroup.h"
#include "src/machine/environment.h"
#include "src/machine/topology.h"
#include "src/worker/launcher.h"

namespace epochbench {
namespace {

constexpr std::int64_t kMaxRuns = 100'000;  // more than anyone waits for, and their list fits into memory

// "--augment, --cold": the flags of these options.
std::string flags_of(const std::vector<std::string>& keys) {
  return joined(keys, [](const std::string& key) { return flag(*find_case_option(key)); });
}

// Why these data cannot be read or kept as asked.
std::optional<Obstacle> input_obstacle(const CaseSpec& spec, const Settings& settings) {
  const auto wrong = [](const std::string& reason) { return Obstacle{reason, kExitCallIsWrong}; };
  const bool image_files = spec.data->starts_with(kImageFiles);
  if (!image_files && spec.images != ImageOptions{}) {
    std::vector<std::string> given{"augment", "normalize", "on_bad_image", "cold"};
    std::erase_if(given, [&](const std::string& key) { return !settings.contains(key); });
    return wrong(flags_of(given) + ": " + *spec.data + " is not made of image files, as --data images:PATH is; leave it out");
  }
  const SampleSpec sample = spec.model.family->sample({.options = spec.model.options});
  if (spec.cache != Cache::none && sample.text())
    return wrong("--cache decoded: the masks of a text are drawn again each epoch, so only images can be kept; leave it out");
  std::vector<std::string> asked;
  for (const auto& [key, value] : of_classes(settings, {SettingClass::input})) asked.push_back(key);
  if (!asked.empty() && *spec.data == "synthetic") {
    const std::string read = !sample.text() ? "digits" : sample.text_classes == 0 ? "founding-documents" : "";
    return wrong(flags_of(asked) +
                 ": synthetic data are prepared before the steps, so nothing is read or decoded; leave it out" +
                 (read.empty() ? "" : ", or use --data " + read));
  }
  if (spec.cache != Cache::none && spec.images.augmentation != Augmentation{})
    return wrong("--cache decoded: --augment changes the images again each epoch, so none can be kept; leave out one of them");
  return std::nullopt;
}

// What --only-with requires and the machine lacks.
std::optional<Obstacle> unmet_condition(const CaseSpec& spec) {
  const int cores = default_threads();
  if (spec.min_cores.value_or(0) > cores)
    return Obstacle{"--only-with cores:" + std::to_string(*spec.min_cores) + ": there are " + std::to_string(cores),
                    kExitDeviceMissing};
  if (!spec.beside_device) return std::nullopt;
  try {
    make_backend(*spec.beside_device, 1);
    return std::nullopt;
  } catch (const DeviceError& error) {
    return Obstacle{"--only-with " + to_string(*spec.beside_device) + ": " + error.what(), kExitDeviceMissing};
  }
}

// What keeps ranks from having a GPU each; another launcher has its own machines.
std::optional<Obstacle> gpu_ranks_obstacle_of(const CaseSpec& spec) {
  const int gpus = static_cast<int>(list_gpus().size());
  const std::string ranks = "--ranks " + std::to_string(spec.ranks) + " on " + to_string(spec.device);
  if (spec.launcher.empty() && spec.device.index + spec.ranks > gpus)
    return Obstacle{ranks + ": each rank has a GPU of its own, from that one on, and there " +
                        (gpus == 1 ? "is one" : "are " + std::to_string(gpus)) + "; ask for fewer --ranks",
                    kExitDeviceMissing};
  if (auto reason = gpu_ranks_obstacle()) return Obstacle{ranks + ": " + *reason, kExitCallIsWrong};
  return std::nullopt;
}

// What keeps processes from sharing the batch.
std::optional<Obstacle> ranks_obstacle(const CaseSpec& spec) {
  if (spec.ranks == 1) return std::nullopt;
  const std::string ranks = "--ranks " + std::to_string(spec.ranks);
  const auto wrong = [](const std::string& reason) { return Obstacle{reason, kExitCallIsWrong}; };
  if (spec.framework != Framework::epochbench) return wrong(ranks + ": peers run as one process; leave it out");
  if (auto reason = launch_obstacle(spec, default_threads())) return wrong(*reason);
  if (spec.device.kind == DeviceKind::reference)
    return wrong(ranks + ": " + to_string(spec.device) + " does not exchange gradients between ranks; use --device cpu");
  if (auto reason = shard_obstacle(spec)) return wrong(*reason);
  if (!spec.trace.empty()) return wrong(ranks + ": --trace writes the batches of one process; leave out one of them");
  return spec.device.kind == DeviceKind::cuda ? gpu_ranks_obstacle_of(spec) : std::nullopt;
}

// What the device lacks: itself, the precision, or what the case leaves out.
std::optional<Obstacle> obstacle_of_device(const CaseSpec& spec) {
  const std::string precision = std::string("--precision ") + name(spec.precision);
  if (spec.device.kind == DeviceKind::cpu && spec.precision == Precision::tf32)
    return Obstacle{precision + ": a format of NVIDIA's tensor cores, which a CPU does not have; use " + name(Precision::fp32) +
                        " on the CPU",
                    kExitCallIsWrong};
  if (spec.framework != Framework::epochbench) return std::nullopt;
  try {
    BackendOptions options = backend_options(spec);
    options.winograd = options.packed_weights = true;
    const auto backend = make_backend(spec.device, 1, options);
    if (const auto reason = unsupported(workload_spec(spec), *backend, entries_of_mode(spec.mode), spec.precision))
      return Obstacle{precision + " on " + to_string(spec.device) + ": " + *reason, kExitCallIsWrong};
    if (const auto reason = nothing_to_leave_out(spec, *backend)) return Obstacle{*reason, kExitCallIsWrong};
    return std::nullopt;
  } catch (const DeviceError& error) {
    return Obstacle{error.what(), kExitDeviceMissing};
  }
}

// The device comes first, so that no advice on the rest is about a device or a precision that is missing.
std::optional<Obstacle> obstacle_of(const CaseSpec& spec, const Settings& settings) {
  if (auto obstacle = unmet_condition(spec)) return obstacle;
  if (auto obstacle = obstacle_of_device(spec)) return obstacle;
  if (auto obstacle = input_obstacle(spec, settings)) return obstacle;
  return ranks_obstacle(spec);
}

// What a call can ask for in place of what the machine lacks: "; use --device cpu". "" if the case would then be refused, too.
std::string instead_of_missing(const PlannedCase& planned) {
  if (planned.obstacle->exit_code != kExitDeviceMissing || planned.spec.needs_data) return "";
  CaseSpec spec = planned.spec;
  const bool conditional = spec.min_cores || spec.beside_device;
  spec.min_cores.reset();
  spec.beside_device.reset();
  if (!conditional) spec.device = {};
  if (obstacle_of(spec, planned.settings)) return "";
  return conditional ? "; leave out --only-with" : "; use --device cpu";
}

// Leaves out the name of a missing device, so that one cause is printed once for all devices and --only-with.
std::string without_device(const std::string& reason) {
  const std::size_t at = reason.find(kNotUsable);
  return at == std::string::npos ? reason : reason.substr(at);
}

// Notes on what is allowed but rarely intended; empty: nothing is noted.
std::string note_on_threads(const CaseSpec& spec) {
  const int cpus = logical_cpus_allowed(), threads = spec.threads.value_or(1);
  if (spec.device.kind != DeviceKind::cpu || spec.ranks > 1) return "";
  const std::string asked = threads > 1 ? "note: --threads " + std::to_string(threads) + ": " : "note: ";
  if (threads > cpus)
    return asked + "this machine has " + counted(static_cast<std::size_t>(cpus), "logical CPU", "logical CPUs") +
           ", so threads take turns, and steps are slower than with fewer";
  const auto quota = cgroup_cpu_quota();
  if (!quota || threads <= *quota) return "";
  return asked + "the quota of this control group is " + short_number(*quota) + (*quota == 1 ? " CPU" : " CPUs") +
         ", so threads stand still for part of each period; " +
         (threads > 1 ? "ask for fewer, or raise the quota" : "raise the quota");
}

std::string note_on_vocabulary(const CaseSpec& spec) {
  const WorkloadSpec workload = workload_spec(spec);
  const Model& model = workload.model;
  for (const ModelOption& option : model.family->options) {
    if (!option.of_byte_text || *spec.data == "synthetic") continue;
    const std::int64_t ids = workload.tokenizer ? workload.tokenizer->ids() : *option.of_byte_text;
    if (model.options.at(option.name) > ids)
      return std::string("note: text as ") + (workload.tokenizer ? "these tokens" : "bytes") + " has " + std::to_string(ids) +
             " of the " + format_count(model.options.at(option.name)) + " ids of " + model.name + "; without " + option.name +
             " the model has as many";
  }
  return "";
}

void check_pin(const CaseSpec& spec) {
  const int cpus = logical_cpus_allowed();
  if (spec.device.kind == DeviceKind::cpu && spec.pin == Pinning::cores && !may_pin())
    throw CallError(
        spec.name +
        ": --pin cores: this sandbox refuses sched_setaffinity; allow that call, or leave --pin out and let threads move");
  if (spec.device.kind == DeviceKind::cpu && spec.pin == Pinning::cores && spec.ranks * *spec.threads > cpus)
    throw CallError(spec.name + ": --pin cores: there are " + std::to_string(spec.ranks * *spec.threads) + " threads and " +
                    std::to_string(cpus) + " CPUs that may be used; ask for fewer --threads");
}

void check_data(const CaseSpec& spec, const DatasetSize& size) {
  if (size.train < *spec.batch)
    throw CallError(spec.name + ": a batch of " + format_count(*spec.batch) + " is larger than the " +
                    format_count(size.train) + " training samples of " + *spec.data + "; use a smaller --batch");
  scheduled_steps(spec, size.train / *spec.batch);  // refuses a warm-up that is too long
  if (spec.stop.until && size.test == 0)
    throw CallError(spec.name + ": --until needs a test split, and " + *spec.data +
                    " has none; use --epochs N in its place, or other --data");
}

// Each repetition of a training to a target has its own seed, the same on every device and in every precision.
void set_repetition(PlannedCase& planned, int repetition) {
  CaseSpec& spec = planned.spec;
  spec.repetition = repetition;
  if (!spec.stop.until || repetition == 0) return;
  spec.seed += static_cast<std::uint64_t>(repetition);
  planned.settings["seed"] = *to_setting(spec.seed);
  planned.workload.seed = spec.seed;
  spec.name = run_name(planned.settings);
}

// Each file and folder may be written by only one run.
void check_one_writer(const std::vector<PlannedCase>& cases) {
  std::set<std::string> paths;
  for (const PlannedCase& planned : cases)
    for (const std::string& path : {planned.spec.save, planned.spec.trace})
      if (!path.empty() && !paths.insert(path).second)
        throw CallError("--save, --trace: several runs would write " + path + "; ask for one run, once");
}

// The parameters are most of what --save writes.
void check_room_for_weights(const PlannedCase& planned) {
  if (planned.spec.save.empty()) return;
  std::error_code unknown;  // then the case finds out
  const std::filesystem::path folder = std::filesystem::absolute(planned.spec.save, unknown).parent_path();
  const std::filesystem::space_info room = std::filesystem::space(folder, unknown);
  const auto needed = static_cast<std::uintmax_t>(planned.workload.parameters) * sizeof(float);
  if (!unknown && room.available < needed)
    throw CallError("--save " + planned.spec.save + ": the weights take " + format_bytes(static_cast<double>(needed)) +
                    ", and " + folder.string() + " has room for " + format_bytes(static_cast<double>(room.available)) +
                    "; make room, or name a file elsewhere");
}

// Checked. If data that may be missing are missing, the size is one batch per split.
DatasetSize size_of_data(PlannedCase& planned, DatasetSizes& sizes) {
  const CaseSpec& spec = planned.spec;
  try {
    DatasetSize size = dataset_size(spec, sizes);
    check_data(spec, size);
    return size;
  } catch (const DataError& error) {
    if (!spec.needs_data) throw;
    if (!planned.obstacle) planned.obstacle = Obstacle{std::string("--only-with data: ") + error.what(), kExitDeviceMissing};
    return {.name = *spec.data, .train = *spec.batch, .test = *spec.batch};
  }
}

}  // namespace

int default_process_threads(const CaseSpec& spec) {
  return std::max(1, default_threads() / spec.ranks - exchange_threads(spec));
}

PlannedCase plan_case(const CaseSpec& asked, DatasetSizes& sizes) {
  const int threads = default_process_threads(asked);
  PlannedCase planned;
  CaseSpec& spec = planned.spec = finished(asked, threads);
  planned.settings = settings_of(asked, default_case(asked.model.family, threads));
  spec.name = run_name(planned.settings);
  planned.obstacle = obstacle_of(spec, planned.settings);
  check_pin(spec);
  const DatasetSize size = size_of_data(planned, sizes);
  check_files(spec);
  planned.workload = describe_workload(spec, size);
  planned.flops_per_sample =
      spec.mode == Mode::train ? planned.workload.train_flops_per_sample : *planned.workload.forward_flops_per_sample;
  return planned;
}

std::optional<std::string> shard_obstacle(const CaseSpec& spec) {
  if (spec.ranks == 1 || spec.shard != Shard::optimizer || spec.precision != Precision::fp16) return std::nullopt;
  return "--ranks " + std::to_string(spec.ranks) + ": --shard optimizer knows no loss scale, which " + name(spec.precision) +
         " needs; leave out --shard";
}

void check_rank_options(const std::vector<CaseSpec>& cases) {
  const auto any = [&](const auto& condition) { return std::ranges::any_of(cases, condition); };
  if (any([](const CaseSpec& spec) { return spec.communication_threads > 0; }) &&
      !any([](const CaseSpec& spec) { return exchange_threads(spec) > 0; }))
    throw CallError("--communication-threads needs several ranks on CPUs (--ranks); leave it out");
  if (any([](const CaseSpec& spec) { return spec.ranks > 1; })) return;
  if (any([](const CaseSpec& spec) { return !spec.launcher.empty() || spec.oversubscribe; }))
    throw CallError("--launcher, --oversubscribe need several ranks (--ranks); leave them out");
  if (any([](const CaseSpec& spec) { return spec.shard != Shard::none; }))
    throw CallError("--shard needs several ranks (--ranks); leave it out");
  if (any([](const CaseSpec& spec) { return spec.bucket_mib != kDefaultBucketMib; }))
    throw CallError("--bucket needs several ranks (--ranks); leave it out");
}

std::vector<PlannedCase> plan_cases(const std::vector<CaseSpec>& asked, int repetitions, DatasetSizes sizes) {
  check_rank_options(asked);
  std::vector<PlannedCase> once;
  std::vector<int> times;  // how often each of them runs
  for (const CaseSpec& one : asked) {
    PlannedCase planned = plan_case(one, sizes);
    const int wanted = one.repetitions.value_or(repetitions);
    const auto twin = std::ranges::find(once, identifying(planned.settings),
                                        [](const PlannedCase& other) { return identifying(other.settings); });
    if (twin == once.end()) {
      once.push_back(std::move(planned));
      times.push_back(wanted);
      continue;
    }
    int& most = times[static_cast<std::size_t>(twin - once.begin())];
    most = std::max(most, wanted);
    if (twin->spec.stop != planned.spec.stop)
      throw CallError(planned.spec.name +
                      ": asked for twice with different --steps, --epochs, --min-time or --until; keep one of them");
  }
  if (std::ranges::all_of(once, [](const PlannedCase& planned) { return planned.obstacle.has_value(); })) {
    // Several devices or precisions, none of them usable: a missing device weighs more than a wrong word in the call.
    const auto worst =
        std::ranges::max_element(once, {}, [](const PlannedCase& planned) { return planned.obstacle->exit_code; });
    throw CallError(worst->obstacle->reason + instead_of_missing(*worst), worst->obstacle->exit_code);
  }
  if (const std::int64_t runs = std::accumulate(times.begin(), times.end(), std::int64_t{0}); runs > kMaxRuns)
    throw CallError(std::to_string(runs) + " runs are asked for, more than " + std::to_string(kMaxRuns) +
                    "; ask for fewer --repetitions or cases");
  std::vector<PlannedCase> all;
  for (int repetition = 0; repetition < std::ranges::max(times); ++repetition)
    for (std::size_t i = 0; i < once.size(); ++i) {
      if (repetition >= times[i]) continue;
      all.push_back(once[i]);
      set_repetition(all.back(), repetition);
    }
  check_one_writer(all);
  std::ranges::for_each(all, check_room_for_weights);
  return all;
}

int exit_code_for_skipped(const std::vector<PlannedCase>& cases, const CaseBlock& call) {
  std::set<int> codes;
  for (const auto& [key, given] : call) {
    // By value (none: the default): whether a case can run, and the worst code of the others.
    std::map<std::optional<SettingValue>, std::pair<bool, int>> named;
    for (const PlannedCase& planned : cases) {
      if (planned.spec.min_cores || planned.spec.beside_device || planned.spec.needs_data) continue;
      const auto setting = planned.settings.find(key);
      auto& [runs, worst] = named[setting == planned.settings.end() ? std::nullopt : std::optional(setting->second)];
      runs |= !planned.obstacle;
      if (planned.obstacle) worst = std::max(worst, planned.obstacle->exit_code);
    }
    for (const auto& [value, state] : named)
      if (!state.first) codes.insert(state.second);
  }
  return codes.empty() ? kExitDone : *codes.begin();
}

void print_obstacles(const std::vector<PlannedCase>& cases) {
  std::set<std::string> printed;
  for (const PlannedCase& planned : cases)
    for (const std::string& note : {note_on_threads(planned.spec), note_on_vocabulary(planned.spec)})
      if (!note.empty() && printed.insert(note).second) print_error(note);
  for (const PlannedCase& planned : cases)
    if (planned.obstacle && printed.insert(without_device(planned.obstacle->reason)).second)
      print_error("skipped: " + planned.obstacle->reason);
}

}  // namespace epochbench
