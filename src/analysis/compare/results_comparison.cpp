// The comparison of result files: which cases of two sides are the same work, and what was recorded of them.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/compare/comparison.h"
#include "src/analysis/compare/peer_ratios.h"
#include "src/analysis/series.h"
#include "src/base/cpu_name.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

struct RecordedRun {  // points into results, which must outlive it
  const Run* run = nullptr;
  const NamedResult* source = nullptr;

  const Context& context() const { return source->result.context; }
};

struct TwoTexts {
  const char* what;
  std::string a, b;
};

// The first difference: "batch 64 and 128"; "" if there is none.
std::string difference(std::initializer_list<TwoTexts> texts) {
  for (const auto& [what, a, b] : texts)
    if (a != b) return std::string(what) + " " + a + " and " + b;
  return "";
}

// What makes the work different: mode, data set, and what the fingerprint covers.
std::string workload_difference(const RecordedRun& x, const RecordedRun& y) {
  const Workload &a = x.run->workload, &b = y.run->workload;
  const std::string other = difference({{"mode", name(a.mode), name(b.mode)}, {"data set", a.dataset, b.dataset}});
  if (!other.empty() || a.fingerprint == b.fingerprint) return other;
  const std::string setting = difference({{"batch", std::to_string(a.batch), std::to_string(b.batch)},
                                          {"parameters", std::to_string(a.parameters), std::to_string(b.parameters)},
                                          {"optimizer", a.optimizer, b.optimizer}});
  constexpr std::size_t kShownDigits = 12;
  return !setting.empty()
             ? setting
             : "fingerprint " + a.fingerprint.substr(0, kShownDigits) + " and " + b.fingerprint.substr(0, kShownDigits);
}

// "": one kind, or not known to be another.
std::string cpu_difference(const char* what, const std::string& a, const std::string& b) {
  return match_cpus(a, b) == CpuMatch::different ? difference({{what, a, b}}) : "";
}

std::string device_difference(const RecordedRun& a, const RecordedRun& b) {
  const Device &x = a.run->device, &y = b.run->device;
  const char* const what = "different devices:";
  const bool cpus = x.backend == BackendKind::cpu && y.backend == BackendKind::cpu;
  const std::string other = cpus ? cpu_difference(what, x.name, y.name) : difference({{what, x.name, y.name}});
  if (!other.empty()) return other;
  const auto threads = [](const Device& device) { return device.threads ? std::to_string(*device.threads) : "unknown"; };
  return difference({{"different threads:", threads(x), threads(y)}});
}

// What makes memory incomparable: the device, its threads and the CPU, whose caches and instruction set decide how much scratch
// memory kernels take. A provider's machines may report one name for different CPUs.
std::string memory_difference(const RecordedRun& a, const RecordedRun& b) {
  const CpuInfo &x = a.context().cpu, &y = b.context().cpu;
  if (const std::string other = cpu_difference("different CPUs:", x.model, y.model); !other.empty()) return other;
  const auto caches = [](const CpuInfo& cpu) { return std::tie(cpu.l1d_bytes, cpu.l2_bytes, cpu.l3_bytes); };
  if (x.isa != y.isa || caches(x) != caches(y)) return "different CPUs with the same name: " + x.model;
  return device_difference(a, b);
}

std::string driver_of(const RecordedRun& recorded) {
  if (recorded.run->device.backend == BackendKind::cpu) return "";
  for (const GpuInfo& gpu : recorded.context().gpus)
    if (gpu.name == recorded.run->device.name) return gpu.driver;
  return "";
}

// What else makes times incomparable: the machine (and whether it is known), the device and its threads ...
std::string machine_difference(const RecordedRun& a, const RecordedRun& b) {
  const Context &x = a.context(), &y = b.context();
  if (!x.host_name || !y.host_name)
    return "it is unknown whether it was one machine: " + (x.host_name ? b : a).source->path + " has no host_name";
  const char* const what = "different machines:";
  std::string machine = difference({{what, *x.host_name, *y.host_name}});
  if (machine.empty()) machine = cpu_difference(what, x.cpu.model, y.cpu.model);
  return !machine.empty() ? machine : device_difference(a, b);
}
// ... its driver ...
std::string driver_difference(const RecordedRun& a, const RecordedRun& b) {
  return difference({{"different GPU drivers:", driver_of(a), driver_of(b)}});
}
// ... and how the binary was built.
std::string build_difference(const RecordedRun& a, const RecordedRun& b) {
  const Context &x = a.context(), &y = b.context();
  return difference({{"different compilers:", x.compiler, y.compiler}, {"different build types:", x.build_type, y.build_type}});
}

// If whole epochs are timed, warm-up has its own batches, so a step trains on different ones than if epochs are projected.
std::string batches_difference(const RecordedRun& a, const RecordedRun& b) {
  const Timing &x = *a.run->timing, &y = *b.run->timing;
  const std::string epochs = difference({{"epochs", name(x.epoch_kind), name(y.epoch_kind)}});
  if (!epochs.empty() || x.epoch_kind != EpochKind::measured) return epochs;
  return difference({{"warm-up steps", std::to_string(x.warmup_steps), std::to_string(y.warmup_steps)}});
}

using Runs = std::vector<RecordedRun>;  // of one case, at least one

std::string name_of(const Runs& runs) {
  std::vector<const Run*> repetitions;
  for (const RecordedRun& each : runs) repetitions.push_back(each.run);
  return name_of(repetitions);
}

// Cases of two sides match by their settings, except for the seed and the measurement's settings, and by what their products
// multiply in. If only the measurement's settings distinguish cases of one side, they count too.
class Matching {
 public:
  Matching(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender) {
    for (const auto* side : {&baseline, &contender}) {
      std::map<std::string, std::set<std::string>> cases;  // the side's cases, by what matches
      for (const NamedResult& source : *side)
        for (const Run& run : source.result.runs) cases[without_measurement(run)].insert(label_of(speed_settings(run)));
      for (const auto& [key, labels] : cases)
        if (labels.size() > 1) ambiguous_.insert(key);
    }
  }

  std::string key_of(const Run& run) const {
    const std::string key = without_measurement(run);
    return ambiguous_.contains(key) ? label_of(speed_settings(run)) : key;
  }

 private:
  static std::string without_measurement(const Run& run) {
    Settings settings = of_classes(case_settings(run), {SettingClass::workload, SettingClass::placement, SettingClass::rounding,
                                                        SettingClass::ablation, SettingClass::input});
    if (!run.settings.contains("batch")) settings.erase("batch");  // another default on the other side is a changed workload
    if (run.device.products) settings["products"] = std::string(name(*run.device.products));
    return label_of(settings);
  }

  std::set<std::string> ambiguous_;
};

struct CaseRuns {
  std::string key;
  Runs before, after;  // the baseline's and the contender's; one may be empty
};

// In the order in which they first ran, the baseline's before those that only the new side has.
std::vector<CaseRuns> cases_of(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender) {
  const Matching matching(baseline, contender);
  ListByKey<&CaseRuns::key> cases;
  for (const auto& [results, side] : {std::pair(&baseline, &CaseRuns::before), std::pair(&contender, &CaseRuns::after)})
    for (const NamedResult& source : *results)
      for (const Run& run : source.result.runs) (cases[matching.key_of(run)].*side).push_back({&run, &source});
  return cases.take();
}

Runs ok_ones(const Runs& runs) {
  Runs ok;
  std::ranges::copy_if(runs, std::back_inserter(ok), [](const RecordedRun& each) { return has_median_step(*each.run); });
  return ok;
}

std::string status_text(const Run& run) {
  if (run.status == RunStatus::ok) return "ok, but without a median step above 0";
  return describe(run.status, run.message);
}

// The first repetition that failed by itself, not for lack of a device or of time.
const Run* broken(const Runs& runs) {
  for (const RecordedRun& each : runs)
    if (is_failure(each.run->status)) return each.run;
  return nullptr;
}

// Between the baseline's first run and any run of both sides; `difference` compares two runs and returns text or "".
template <typename Difference>
std::string first_difference(const Runs& baseline, const Runs& contender, const Difference& difference) {
  for (const Runs* side : {&baseline, &contender})
    for (const RecordedRun& each : *side)
      if (std::string text = difference(baseline.front(), each); !text.empty()) return text;
  return "";
}

// Why the recorded times say nothing, and what would; the first text is empty if they do.
std::pair<std::string, Remedy> obstacle(const Runs& baseline, const Runs& contender) {
  if (std::string text = first_difference(baseline, contender, machine_difference); !text.empty())
    return {text, Remedy::speedup};
  if (std::string text = first_difference(baseline, contender, driver_difference); !text.empty())
    return {text, Remedy::measure_baseline};
  return {first_difference(baseline, contender, build_difference), Remedy::interleave};
}

std::optional<double> foreign_cores(const RecordedRun& each) {
  return member_of(each.run->interference, &Interference::foreign_cpu_cores);
}

std::vector<Repetition> repetitions_of(const Runs& ok) {
  std::vector<Repetition> repetitions;
  for (const RecordedRun& each : ok) repetitions.push_back({each.run->timing->step_seconds_median, foreign_cores(each)});
  return repetitions;
}

Repetitions runs_of(const Runs& recorded) {
  Repetitions runs;
  for (const RecordedRun& each : recorded) runs.push_back(each.run);
  return runs;
}

// By seed. A different library version may draw different dropout masks, so such losses are not compared.
std::map<std::uint64_t, std::vector<std::vector<double>>> losses(const Runs& ok) {
  std::map<std::uint64_t, std::vector<std::vector<double>>> all;
  for (const RecordedRun& each : ok)
    if (each.run->quality && !each.run->quality->dropout_masks) all[each.run->workload.seed].push_back(each.run->quality->loss);
  return all;
}

// For the first seed whose losses differ; trainings of different seeds are not compared.
std::optional<Issue> loss_issue_of(const Runs& before, const Runs& after) {
  const auto ours = losses(before), theirs = losses(after);
  for (const auto& [seed, of_seed] : ours)
    if (const auto twin = theirs.find(seed); twin != theirs.end())
      if (auto issue = final_loss_issue(of_seed, twin->second, before.front().run->precision)) return issue;
  return std::nullopt;
}

std::optional<Issue> not_ok_issue(const Runs& baseline, const Runs& contender) {
  const std::size_t ok = ok_ones(contender).size();
  if (ok == 0) return Issue{IssueCode::not_ok, 0, 0, 0, status_text(*contender.front().run)};
  const Run* run = broken(contender);
  if (!run || broken(baseline)) return std::nullopt;
  const std::string count = std::to_string(contender.size() - ok) + " of " + std::to_string(contender.size());
  return Issue{IssueCode::not_ok, 0, 0, 0, count + " repetitions; " + status_text(*run)};
}

std::optional<double> median_step(const Runs& ok) {
  return median_if_any(
      known_values(ok, [](const RecordedRun& each) { return std::optional(each.run->timing->step_seconds_median); }));
}

// Over all these runs; empty if one does not know it.
std::optional<double> max_foreign_cores(Runs runs, const Runs& others) {
  runs.insert(runs.end(), others.begin(), others.end());
  const auto cores = known_values(runs, foreign_cores);
  return cores.size() == runs.size() ? std::optional(std::ranges::max(cores)) : std::nullopt;
}

class Comparing {
 public:
  Comparison answer(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender, double threshold) {
    answer_.threshold = threshold;
    for (const auto& [key, before, after] : cases_of(baseline, contender)) {
      if (before.empty())
        sort_in_new(after);
      else
        sort_in(before, after);
    }
    decide();
    return std::move(answer_);
  }

 private:
  void sort_in(const Runs& before, const Runs& after) {
    const std::string name = name_of(before);
    const Runs ok_before = ok_ones(before), ok_after = ok_ones(after);
    if (ok_before.empty()) {
      const std::string reason = "in the baseline: " + status_text(*before.front().run);
      (ok_after.empty() ? answer_.not_measured : answer_.baseline_not_ok).push_back({name, reason});
      return;
    }
    if (after.empty()) {
      answer_.missing.push_back({name, "no run with these settings on the new side"});
      return;
    }
    if (ok_after.empty() && after.front().run->status == RunStatus::contradicts_itself) return sort_in_new(after);
    const std::string other_work = first_difference(ok_before, ok_after, workload_difference);
    if (other_work.empty())
      compare(name, before, after);
    else
      answer_.changed.push_back({name, other_work});
  }

  void sort_in_new(const Runs& after) {
    const std::string name = name_of(after);
    if (ok_ones(after).empty())
      answer_.not_measured.push_back({name, "on the new side: " + status_text(*after.front().run)});
    else
      answer_.added.push_back({name, "no run with these settings in the baseline"});
  }

  void compare(const std::string& name, const Runs& all_before, const Runs& all_after) {
    const Runs before = ok_ones(all_before), after = ok_ones(all_after);
    const auto [undecidable, remedy] = obstacle(before, after);
    const RecordedCase& recorded = recorded_.emplace_back(RecordedCase{
        repetitions_of(before), repetitions_of(after), undecidable, remedy, turn_log_ratios(runs_of(before), runs_of(after))});
    runs_.push_back({before, after});
    ComparedCase& compared = answer_.cases.emplace_back();
    compared.name = name;
    compared.processes = {before.size(), after.size()};
    const auto keep = [&](const std::optional<Issue>& issue) {
      if (issue) compared.issues.push_back(*issue);
    };
    keep(not_ok_issue(all_before, all_after));
    if (after.empty()) return;
    const auto peak_bytes = [](const RecordedRun& each) { return member_of(each.run->memory, &Memory::peak_bytes); };
    const auto compile_seconds = [](const RecordedRun& each) { return std::optional(each.run->timing->compile_seconds); };
    if (first_difference(before, after, memory_difference).empty())
      keep(peak_memory_issue(known_values(before, peak_bytes), known_values(after, peak_bytes)));
    if (first_difference(before, after, batches_difference).empty()) keep(loss_issue_of(before, after));
    if (recorded.undecidable.empty())
      keep(compile_time_issue(known_values(before, compile_seconds), known_values(after, compile_seconds)));
  }

  // All cases together, since they share the probability of a false alarm; a case that became not ok has no time to decide by.
  void decide() {
    const std::vector<Decision> decisions = decide_recorded(recorded_, answer_.threshold);
    for (std::size_t i = 0; i < recorded_.size(); ++i) {
      ComparedCase& compared = answer_.cases[i];
      Decision& decision = compared.decision = decisions[i];
      std::array<Runs, 2>& used = runs_[i];
      for (std::size_t side = 0; side < used.size(); ++side)
        if (const auto index = decision.left_out[side])
          used[side].erase(used[side].begin() + static_cast<std::ptrdiff_t>(*index));
      compared.step_seconds = {median_step(used[0]), median_step(used[1])};
      compared.foreign_cores = used[1].empty() ? std::nullopt : max_foreign_cores(used[0], used[1]);
      if (!recorded_[i].contender.empty()) continue;
      decision.finding = Finding::regression;
      decision.remedy = Remedy::none;
      decision.note = "it was ok and is not any more";
    }
  }

  std::vector<RecordedCase> recorded_;     // one per case of the answer
  std::vector<std::array<Runs, 2>> runs_;  // the ok runs of each
  Comparison answer_;
};

ComparedSide side_of(const std::vector<NamedResult>& results) {
  if (results.empty()) return {};
  const Context& first = results.front().result.context;
  ComparedSide side{first, results.front().path, {}};
  for (const auto& [path, result] : results) {
    side.date = std::max(side.date, result.context.date);
    if (result.context.git_sha == first.git_sha && result.context.git_dirty == first.git_dirty) continue;
    side.git_sha.reset();
    side.git_dirty.reset();
  }
  return side;
}

}  // namespace

Comparison compare_results(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender,
                           double threshold) {
  Comparison comparison = Comparing().answer(baseline, contender, threshold);
  comparison.sides = {side_of(baseline), side_of(contender)};
  comparison.suite = suite_of(contender);
  return comparison;
}

}  // namespace epochbench
