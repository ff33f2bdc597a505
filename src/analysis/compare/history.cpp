#include "src/analysis/compare/history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/compare/comparison.h"
#include "src/analysis/compare/decision.h"
#include "src/analysis/series.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

std::string machine_of(const Context& context) {
  return joined({context.host_name.value_or("an unnamed machine"), context.cpu.model});
}

std::string threads_of(const std::optional<int>& threads) {
  return threads ? counted(static_cast<std::size_t>(*threads), "thread", "threads") : "";
}

std::string setting_of(const Context& context, const Run& run) {
  const std::string device = run.device.backend == BackendKind::cpu ? "" : run.device.name;
  return joined({machine_of(context), device, threads_of(run.device.threads), context.compiler, context.build_type});
}

std::string setting_of(const TurnsDocument& document, const TurnsCase& turns) {
  const BuildInfo& reference = document.builds[kBaseline];
  const std::string commit = reference.git_sha ? reference.git_sha->substr(0, 12) : "an unknown commit";
  const std::string device = turns.device == "cpu" ? "" : turns.device;
  return joined({machine_of(document.context), device, threads_of(turns.threads),
                 "against " + reference.version + " of " + commit + (reference.git_dirty.value_or(false) ? "-dirty" : "")});
}

std::string key_of(const Context& context, const Run& run) {
  const Workload& workload = run.workload;
  return label_of(speed_settings(run)) + "\n" + workload.fingerprint + "\n" + name(workload.mode) + "\n" + workload.dataset +
         "\n" + setting_of(context, run);
}

// Settings state the whole workload except what a default stands for, and the fingerprint states that.
std::string key_of(const TurnsDocument& document, const TurnsCase& turns) {
  std::string fingerprint;
  for (const TurnsPair& pair : turns.pairs)
    if (fingerprint.empty()) fingerprint = pair.sides[kBaseline].fingerprint.value_or("");
  return label_of(case_settings(turns)) + "\n" + fingerprint + "\n" + setting_of(document, turns);
}

class Building {
 public:
  void add(const NamedResult& source) {
    struct Repetitions {
      std::string key;
      std::vector<const Run*> runs;
    };
    ListByKey<&Repetitions::key> cases;
    for (const Run& run : source.result.runs)
      if (has_median_step(run)) cases[key_of(source.result.context, run)].runs.push_back(&run);
    for (const auto& [key, runs] : cases) add_point(source, key, runs);
  }

  void add(const NamedTurns& source) {
    for (const TurnsCase& turns : source.document.cases) {
      const auto log_ratios = known_values(turns.pairs, [](const TurnsPair& pair) { return pair.log_ratio; });
      const double ratio = std::exp(median_if_any(log_ratios).value_or(0));
      if (log_ratios.empty() || !std::isfinite(ratio) || ratio == 0) {
        history_.left_out.push_back(
            {turns.name, source.path,
             log_ratios.empty() ? "no pair of processes that is ok" : "its ratio is beyond the range of numbers"});
        continue;
      }
      const BuildInfo& build = source.document.builds[kContender];
      add_point(key_of(source.document, turns), turns.name, HistoryOf::ratio, setting_of(source.document, turns),
                {source.document.context.date, build.git_sha, build.git_dirty, source.path, ratio, log_ratios.size(),
                 std::ranges::any_of(turns.pairs, [](const TurnsPair& pair) { return is_loaded(pair.foreign_cpu_cores); })});
    }
  }

  History take() {
    for (HistorySeries& series : history_.series) {
      std::ranges::stable_sort(series.points, {}, [](const HistoryPoint& point) { return std::tie(point.date, point.path); });
      find_changes(series);
    }
    return std::move(history_);
  }

 private:
  void add_point(const NamedResult& source, const std::string& key, const std::vector<const Run*>& runs) {
    std::vector<double> medians;
    for (const Run* run : runs)
      if (member_of(run->interference, &Interference::foreign_cpu_cores).value_or(0) < kQuietForeignCores)
        medians.push_back(run->timing->step_seconds_median);
    const Run& first = *runs.front();
    if (medians.empty()) {
      history_.left_out.push_back({name_of(runs), source.path,
                                   "other processes took " + short_number(kQuietForeignCores, 2) +
                                       " cores or more in every repetition; measure again on a quiet machine, or interleave"});
      return;
    }
    const Context& context = source.result.context;
    add_point(key, name_of(runs), HistoryOf::step_seconds, setting_of(context, first),
              {context.date, context.git_sha, context.git_dirty, source.path, median(medians), medians.size()});
  }

  // A measurement that occurs twice, such as in a copy named `latest`, counts once.
  void add_point(const std::string& key, const std::string& name, HistoryOf of, const std::string& setting,
                 HistoryPoint point) {
    const auto [place, is_new] = series_by_key_.emplace(key, history_.series.size());
    if (is_new) history_.series.push_back({name, of, setting, {}, {}, ""});
    std::vector<HistoryPoint>& points = history_.series[place->second].points;
    const auto measured = [](const HistoryPoint& each) { return std::tie(each.date, each.value); };
    const auto twin = std::ranges::find(points, measured(point), measured);
    if (twin != points.end())
      history_.left_out.push_back({name, point.path, "the same measurement is in " + twin->path});
    else
      points.push_back(std::move(point));
  }

  static void find_changes(HistorySeries& series) {
    const std::size_t size = series.points.size();
    if (size < kMinPoints) {
      series.reason = counted(size, "point", "points") + ", and a change takes " + std::to_string(kMinPoints) + ": " +
                      std::to_string(kMinLevelPoints) + " on either side";
      return;
    }
    const std::size_t begin = size - std::min(size, kMaxPoints);
    if (begin > 0) series.reason = "looked for in the latest " + std::to_string(kMaxPoints) + " points alone";
    std::vector<double> logs;
    for (std::size_t i = begin; i < size; ++i) logs.push_back(std::log(series.points[i].value));
    series.changes = level_changes(logs);
    for (LevelChange& change : series.changes) {
      change.begin += begin;
      change.end += begin;
    }
  }

  History history_;
  std::map<std::string, std::size_t> series_by_key_;
};

}  // namespace

History history_of(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns) {
  Building building;
  for (const NamedResult& source : results) building.add(source);
  for (const NamedTurns& source : turns) building.add(source);
  return building.take();
}

}  // namespace epochbench
