// The comparison of result files: which cases of two sides are the same work, and what was recorded of them.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "src/analysis/compare/comparability.h"
#include "src/analysis/compare/comparison.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

using Runs = std::vector<RecordedRun>;  // of one name, at least one

struct Cases {
  std::vector<std::string> names;  // in the order in which they first ran
  std::map<std::string, Runs> by_name;

  explicit Cases(const std::vector<NamedResult>& results) {
    for (const NamedResult& source : results)
      for (const Run& run : source.result.runs) {
        Runs& runs = by_name[run.name];
        if (runs.empty()) names.push_back(run.name);
        runs.push_back({&run, &source});
      }
  }

  const Runs* find(const std::string& name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : &found->second;
  }
};

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
  std::string status = name(run.status);
  std::replace(status.begin(), status.end(), '_', ' ');
  return status + (run.message ? ": " + *run.message : "");
}

// The first repetition that went wrong by itself, not for want of a device or of time.
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

// Masks that a library drew may be others in another version of it, so nothing is said of such losses.
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

std::optional<Concern> not_ok_concern(const Runs& baseline, const Runs& contender) {
  const std::size_t ok = ok_ones(contender).size();
  if (ok == 0) return Concern{ConcernCode::not_ok, 0, 0, 0, status_text(*contender.front().run)};
  const Run* run = broken(contender);
  if (!run || broken(baseline)) return std::nullopt;
  const std::string count = std::to_string(contender.size() - ok) + " of " + std::to_string(contender.size());
  return Concern{ConcernCode::not_ok, 0, 0, 0, count + " repetitions; " + status_text(*run)};
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
      : baseline_(baseline), contender_(contender) {
    answer_.threshold = threshold;
  }

  Comparison answer() {
    for (const std::string& name : baseline_.names) sort_in(name);
    for (const std::string& name : contender_.names)
      if (!baseline_.find(name)) sort_in_new(name);
    decide();
    return std::move(answer_);
  }

 private:
  void sort_in(const std::string& name) {
    const Runs &before = *baseline_.find(name), *after = contender_.find(name);
    const Runs ok_before = ok_ones(before), ok_after = after ? ok_ones(*after) : Runs{};
    if (ok_before.empty()) {
      const std::string reason = "in the baseline: " + status_text(*before.front().run);
      (ok_after.empty() ? answer_.not_measured : answer_.added).push_back({name, reason});
      return;
    }
    if (!after) {
      answer_.missing.push_back({name, "no run by this name on the new side"});
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

  void sort_in_new(const std::string& name) {
    const Runs& after = *contender_.find(name);
    if (ok_ones(after).empty())
      answer_.not_measured.push_back({name, "on the new side: " + status_text(*after.front().run)});
    else
      answer_.added.push_back({name, "no run by this name in the baseline"});
  }

  void compare(const std::string& name, const Runs& all_before, const Runs& all_after) {
    const Runs before = ok_ones(all_before), after = ok_ones(all_after);
    const RecordedCase& recorded = recorded_.emplace_back(
        RecordedCase{repetitions_of(before), repetitions_of(after), first_difference(before, after, setting_difference)});
    ComparedCase& compared = answer_.cases.emplace_back();
    compared.name = name;
    compared.processes = {before.size(), after.size()};
    compared.step_seconds = {median_step(recorded.baseline), median_step(recorded.contender)};
    const auto keep = [&](const std::optional<Concern>& concern) {
      if (concern) compared.concerns.push_back(*concern);
    };
    keep(not_ok_concern(all_before, all_after));
    if (after.empty()) return;
    compared.foreign_cores = most_foreign_cores(recorded);
    if (first_difference(before, after, device_difference).empty())
      keep(peak_memory_concern(peak_bytes(before), peak_bytes(after)));
    if (took_the_same_batches(before, after))
      keep(final_loss_concern(losses(before), losses(after), before.front().run->precision));
    if (recorded.undecidable.empty()) keep(compile_time_concern(compile_seconds(before), compile_seconds(after)));
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
        decision.note = "it was ok and is not";
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
    const std::vector<std::string> words = source.result.context.command_line.value_or(std::vector<std::string>{});
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == kOption && i + 1 < words.size()) return words[i + 1];
      if (words[i].starts_with(std::string(kOption) + "=")) return words[i].substr(kOption.size() + 1);
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
