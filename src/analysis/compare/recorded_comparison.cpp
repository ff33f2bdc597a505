// The comparison of result files: which cases of two sides are the same work, and what was recorded of them.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/compare/comparability.h"
#include "src/analysis/compare/comparison.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

using Runs = std::vector<RecordedRun>;  // of one case, at least one

// Cases of two sides match by their settings, except for the measurement's. Where these are all that distinguishes cases of
// one side, they count too.
class Matching {
 public:
  void add(const std::vector<NamedResult>& side) {
    std::map<std::string, std::set<std::string>> cases;  // of the side, by what matches
    for (const NamedResult& source : side)
      for (const Run& run : source.result.runs) cases[without_measurement(run)].insert(label_of(case_settings(run)));
    for (const auto& [key, labels] : cases)
      if (labels.size() > 1) ambiguous_.insert(key);
  }

  std::string key_of(const Run& run) const {
    const std::string key = without_measurement(run);
    return ambiguous_.contains(key) ? label_of(case_settings(run)) : key;
  }

 private:
  static std::string without_measurement(const Run& run) {
    Settings settings = of_classes(case_settings(run), {SettingClass::workload, SettingClass::placement, SettingClass::rounding,
                                                        SettingClass::sample, SettingClass::ablation, SettingClass::input});
    if (!run.settings.contains("batch")) settings.erase("batch");  // another default on the other side is a changed workload
    return label_of(settings);
  }

  std::set<std::string> ambiguous_;
};

struct Cases {
  std::vector<std::string> keys;  // in the order in which they first ran
  std::map<std::string, Runs> by_key;

  Cases(const std::vector<NamedResult>& results, const Matching& matching) {
    for (const NamedResult& source : results)
      for (const Run& run : source.result.runs) {
        const std::string key = matching.key_of(run);
        Runs& runs = by_key[key];
        if (runs.empty()) keys.push_back(key);
        runs.push_back({&run, &source});
      }
  }

  const Runs* find(const std::string& key) const {
    const auto found = by_key.find(key);
    return found == by_key.end() ? nullptr : &found->second;
  }
};

Matching matching_of(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender) {
  Matching matching;
  matching.add(baseline);
  matching.add(contender);
  return matching;
}

bool is_ok(const Run& run) {
  const double median = run.timing ? run.timing->step_seconds_median : 0;
  return run.status == RunStatus::ok && std::isfinite(median) && median > 0;
}

Runs ok_ones(const Runs& runs) {
  Runs ok;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(ok), [](const RecordedRun& each) { return is_ok(*each.run); });
  return ok;
}

std::string status_text(const Run& run) {
  if (run.status == RunStatus::ok) return "ok, but without a median step above 0";
  return describe(run.status, run.message);
}

// The first repetition that failed by itself, not for lack of a device or of time.
const Run* broken(const Runs& runs) {
  for (const RecordedRun& each : runs)
    if (each.run->status == RunStatus::failed || each.run->status == RunStatus::out_of_memory ||
        each.run->status == RunStatus::diverged)
      return each.run;
  return nullptr;
}

// Between the first run and any other of both sides; `difference` says what of two runs, or nothing.
template <typename Difference>
std::string first_difference(const Runs& baseline, const Runs& contender, const Difference& difference) {
  for (const Runs* side : {&baseline, &contender})
    for (const RecordedRun& each : *side)
      if (std::string text = difference(baseline.front(), each); !text.empty()) return text;
  return "";
}

std::vector<Repetition> repetitions_of(const Runs& ok) {
  std::vector<Repetition> repetitions;
  for (const RecordedRun& each : ok) {
    Repetition& repetition = repetitions.emplace_back();
    repetition.step_seconds = each.run->timing->step_seconds_median;
    if (each.run->interference) repetition.foreign_cores = each.run->interference->foreign_cpu_cores;
  }
  return repetitions;
}

std::vector<double> peak_bytes(const Runs& ok) {
  std::vector<double> bytes;
  for (const RecordedRun& each : ok)
    if (each.run->memory && each.run->memory->peak_bytes) bytes.push_back(static_cast<double>(*each.run->memory->peak_bytes));
  return bytes;
}

std::vector<double> compile_seconds(const Runs& ok) {
  std::vector<double> seconds;
  for (const RecordedRun& each : ok) seconds.push_back(each.run->timing->compile_seconds);
  return seconds;
}

// Another version of a library may draw other dropout masks, so such losses are not compared.
std::vector<std::vector<double>> losses(const Runs& ok) {
  std::vector<std::vector<double>> all;
  for (const RecordedRun& each : ok)
    if (each.run->quality && !each.run->quality->dropout_masks) all.push_back(each.run->quality->loss);
  return all;
}

// Where whole epochs are timed, warm-up has batches of its own, so the same step trains on others than where epochs are
// projected.
bool took_the_same_batches(const Runs& baseline, const Runs& contender) {
  const auto kind = [](const RecordedRun& each) {
    return each.run->timing->epoch_kind + std::to_string(each.run->timing->warmup_steps);
  };
  for (const Runs* side : {&baseline, &contender})
    for (const RecordedRun& each : *side)
      if (kind(each) != kind(baseline.front())) return false;
  return true;
}

std::optional<Issue> not_ok_issue(const Runs& baseline, const Runs& contender) {
  const std::size_t ok = ok_ones(contender).size();
  if (ok == 0) return Issue{IssueCode::not_ok, 0, 0, 0, status_text(*contender.front().run)};
  const Run* run = broken(contender);
  if (!run || broken(baseline)) return std::nullopt;
  const std::string count = std::to_string(contender.size() - ok) + " of " + std::to_string(contender.size());
  return Issue{IssueCode::not_ok, 0, 0, 0, count + " repetitions; " + status_text(*run)};
}

std::optional<double> median_step(const std::vector<Repetition>& repetitions) {
  if (repetitions.empty()) return std::nullopt;
  std::vector<double> seconds;
  for (const Repetition& repetition : repetitions) seconds.push_back(repetition.step_seconds);
  return median(std::move(seconds));
}

std::optional<double> most_foreign_cores(const RecordedCase& recorded) {
  double most = 0;
  for (const auto* side : {&recorded.baseline, &recorded.contender})
    for (const Repetition& repetition : *side) {
      if (!repetition.foreign_cores) return std::nullopt;
      most = std::max(most, *repetition.foreign_cores);
    }
  return most;
}

class Comparing {
 public:
  Comparing(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender, double threshold)
      : Comparing(baseline, contender, matching_of(baseline, contender), threshold) {}
  Comparing(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender, const Matching& matching,
            double threshold)
      : baseline_(baseline, matching), contender_(contender, matching) {
    answer_.threshold = threshold;
  }

  Comparison answer() {
    for (const std::string& key : baseline_.keys) sort_in(key);
    for (const std::string& key : contender_.keys)
      if (!baseline_.find(key)) sort_in_new(key);
    decide();
    return std::move(answer_);
  }

 private:
  void sort_in(const std::string& key) {
    const Runs &before = *baseline_.find(key), *after = contender_.find(key);
    const std::string& name = before.front().run->name;
    const Runs ok_before = ok_ones(before), ok_after = after ? ok_ones(*after) : Runs{};
    if (ok_before.empty()) {
      const std::string reason = "in the baseline: " + status_text(*before.front().run);
      (ok_after.empty() ? answer_.not_measured : answer_.added).push_back({name, reason});
      return;
    }
    if (!after) {
      answer_.missing.push_back({name, "no run with these settings on the new side"});
      return;
    }
    const std::string other_work = first_difference(ok_before, ok_after, [](const RecordedRun& a, const RecordedRun& b) {
      return workload_difference(a.run->workload, b.run->workload);
    });
    if (other_work.empty())
      compare(name, before, *after);
    else
      answer_.changed.push_back({name, other_work});
  }

  void sort_in_new(const std::string& key) {
    const Runs& after = *contender_.find(key);
    const std::string& name = after.front().run->name;
    if (ok_ones(after).empty())
      answer_.not_measured.push_back({name, "on the new side: " + status_text(*after.front().run)});
    else
      answer_.added.push_back({name, "no run with these settings in the baseline"});
  }

  void compare(const std::string& name, const Runs& all_before, const Runs& all_after) {
    const Runs before = ok_ones(all_before), after = ok_ones(all_after);
    const RecordedCase& recorded = recorded_.emplace_back(
        RecordedCase{repetitions_of(before), repetitions_of(after), first_difference(before, after, setting_difference)});
    ComparedCase& compared = answer_.cases.emplace_back();
    compared.name = name;
    compared.processes = {before.size(), after.size()};
    compared.step_seconds = {median_step(recorded.baseline), median_step(recorded.contender)};
    const auto keep = [&](const std::optional<Issue>& issue) {
      if (issue) compared.issues.push_back(*issue);
    };
    keep(not_ok_issue(all_before, all_after));
    if (after.empty()) return;
    compared.foreign_cores = most_foreign_cores(recorded);
    if (first_difference(before, after, device_difference).empty())
      keep(peak_memory_issue(peak_bytes(before), peak_bytes(after)));
    if (took_the_same_batches(before, after))
      keep(final_loss_issue(losses(before), losses(after), before.front().run->precision));
    if (recorded.undecidable.empty()) keep(compile_time_issue(compile_seconds(before), compile_seconds(after)));
  }

  // All cases together, since they share the probability of a false alarm; one that is not ok any more has no time to decide.
  void decide() {
    std::vector<RecordedCase> timed;
    std::copy_if(recorded_.begin(), recorded_.end(), std::back_inserter(timed),
                 [](const RecordedCase& each) { return !each.contender.empty(); });
    const std::vector<Decision> decisions = decide_recorded(timed, answer_.threshold);
    auto next = decisions.begin();
    for (std::size_t i = 0; i < recorded_.size(); ++i) {
      Decision& decision = answer_.cases[i].decision;
      if (recorded_[i].contender.empty()) {
        decision.finding = Finding::regression;
        decision.note = "it was ok and is not any more";
      } else {
        decision = *next++;
      }
    }
  }

  const Cases baseline_, contender_;
  std::vector<RecordedCase> recorded_;  // one a case of the answer
  Comparison answer_;
};

ComparedSide side_of(const std::vector<NamedResult>& results) {
  ComparedSide side;
  if (results.empty()) return side;
  const Context& first = results.front().result.context;
  side.label = results.front().path;
  side.version = first.epochbench_version;
  side.build_type = first.build_type;
  side.compiler = first.compiler;
  const bool one_commit = std::all_of(results.begin(), results.end(), [&](const NamedResult& each) {
    return each.result.context.git_sha == first.git_sha && each.result.context.git_dirty == first.git_dirty;
  });
  if (one_commit) {
    side.git_sha = first.git_sha;
    side.git_dirty = first.git_dirty;
  }
  for (const NamedResult& each : results) side.date = std::max(side.date, each.result.context.date);
  return side;
}

// After --suite in the call that measured it, where a result still has the call.
std::string suite_of(const std::vector<NamedResult>& results) {
  constexpr std::string_view kOption = "--suite";
  for (const NamedResult& source : results) {
    const std::vector<std::string> arguments = source.result.context.command_line.value_or(std::vector<std::string>{});
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == kOption && i + 1 < arguments.size()) return arguments[i + 1];
      if (arguments[i].starts_with(std::string(kOption) + "=")) return arguments[i].substr(kOption.size() + 1);
    }
  }
  return "";
}

}  // namespace

Comparison compare_results(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender,
                           double threshold) {
  Comparison comparison = Comparing(baseline, contender, threshold).answer();
  comparison.sides = {side_of(baseline), side_of(contender)};
  comparison.suite = suite_of(contender);
  return comparison;
}

}  // namespace epochbench
