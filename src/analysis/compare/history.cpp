#include "src/analysis/compare/history.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/compare/decision.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/base/units.h"

namespace epochbench {
namespace {

std::string joined_known(std::vector<std::string> parts) {
  std::erase(parts, "");
  return joined(parts);
}

std::string machine_of(const Context& context) {
  return joined_known({context.host_name.value_or("an unnamed machine"), context.cpu.model});
}

std::string threads_of(const std::optional<int>& threads) {
  return threads ? counted(static_cast<std::size_t>(*threads), "thread", "threads") : "";
}

std::string setting_of(const Context& context, const Run& run) {
  const std::string device = run.device.backend == "cpu" ? "" : run.device.name;
  return joined_known({machine_of(context), device, threads_of(run.device.threads), context.compiler, context.build_type});
}

std::string setting_of(const TurnsDocument& document, const TurnsCase& turns) {
  const BuildInfo& reference = document.builds[kBaseline];
  const std::string commit = reference.git_sha ? reference.git_sha->substr(0, 12) : "an unknown commit";
  const std::string device = turns.device == "cpu" ? "" : turns.device;
  return joined_known(
      {machine_of(document.context), device, threads_of(turns.threads),
       "against " + reference.version + " of " + commit + (reference.git_dirty.value_or(false) ? "-dirty" : "")});
}

std::string key_of(const Context& context, const Run& run) {
  const Workload& workload = run.workload;
  return label_of(case_settings(run)) + "\n" + workload.fingerprint + "\n" + workload.mode + "\n" + workload.dataset + "\n" +
         std::to_string(workload.seed) + "\n" + setting_of(context, run);
}

// Of a document of turns a name says all of the workload but what a default stands for, and the fingerprint says that.
std::string key_of(const TurnsDocument& document, const TurnsCase& turns) {
  std::string fingerprint;
  for (const TurnsPair& pair : turns.pairs)
    if (fingerprint.empty()) fingerprint = pair.sides[kBaseline].fingerprint.value_or("");
  return turns.name + "\n" + fingerprint + "\n" + setting_of(document, turns);
}

std::string cores_text(double cores) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", cores);
  return text;
}

bool quiet(const Run& run) {
  const auto cores = run.interference ? run.interference->foreign_cpu_cores : std::nullopt;
  return !cores || *cores < kQuietForeignCores;
}

class Building {
 public:
  void add(const NamedResult& source) {
    std::map<std::string, std::vector<const Run*>> repetitions;
    std::vector<std::string> keys;  // in the file's order
    for (const Run& run : source.result.runs) {
      if (!is_ok(run)) continue;
      std::vector<const Run*>& runs = repetitions[key_of(source.result.context, run)];
      if (runs.empty()) keys.push_back(key_of(source.result.context, run));
      runs.push_back(&run);
    }
    for (const std::string& key : keys) add_point(source, key, repetitions[key]);
  }

  void add(const NamedTurns& source) {
    for (const TurnsCase& turns : source.document.cases) {
      std::vector<double> log_ratios;
      for (const TurnsPair& pair : turns.pairs)
        if (pair.log_ratio && std::isfinite(*pair.log_ratio)) log_ratios.push_back(*pair.log_ratio);
      if (log_ratios.empty()) {
        history_.left_out.push_back({turns.name, source.path, "no pair of processes that is ok"});
        continue;
      }
      const double ratio = std::exp(median(log_ratios));
      if (!std::isfinite(ratio) || ratio == 0) {
        history_.left_out.push_back({turns.name, source.path, "its ratio is beyond the range of numbers"});
        continue;
      }
      const BuildInfo& build = source.document.builds[kNew];
      add_point(key_of(source.document, turns), turns.name, HistoryOf::ratio, setting_of(source.document, turns),
                {source.document.context.date, build.git_sha, build.git_dirty, source.path, ratio, log_ratios.size()});
    }
  }

  History take() {
    for (HistorySeries& series : history_.series) {
      std::stable_sort(series.points.begin(), series.points.end(), [](const HistoryPoint& a, const HistoryPoint& b) {
        return std::tie(a.date, a.path) < std::tie(b.date, b.path);
      });
      find_changes(series);
    }
    return std::move(history_);
  }

 private:
  static bool is_ok(const Run& run) {
    const double value = run.timing ? run.timing->step_seconds_median : 0;
    return run.status == RunStatus::ok && std::isfinite(value) && value > 0;
  }

  void add_point(const NamedResult& source, const std::string& key, const std::vector<const Run*>& runs) {
    std::vector<double> medians;
    for (const Run* run : runs)
      if (quiet(*run)) medians.push_back(run->timing->step_seconds_median);
    const Run& first = *runs.front();
    if (medians.empty()) {
      history_.left_out.push_back({first.name, source.path,
                                   "other processes took " + cores_text(kQuietForeignCores) +
                                       " cores or more in every repetition; measure again on a quiet machine, or interleave"});
      return;
    }
    const Context& context = source.result.context;
    add_point(key, first.name, HistoryOf::step_seconds, setting_of(context, first),
              {context.date, context.git_sha, context.git_dirty, source.path, median(medians), medians.size()});
  }

  // A measurement that is there twice, such as a copy named `latest`, counts once.
  void add_point(const std::string& key, const std::string& name, HistoryOf of, const std::string& setting,
                 HistoryPoint point) {
    const auto [place, is_new] = series_by_key_.emplace(key, history_.series.size());
    if (is_new) history_.series.push_back({name, of, setting, {}, {}, ""});
    std::vector<HistoryPoint>& points = history_.series[place->second].points;
    const auto twin = std::find_if(points.begin(), points.end(), [&](const HistoryPoint& other) {
      return other.date == point.date && other.value == point.value;
    });
    if (twin != points.end())
      history_.left_out.push_back({name, point.path, "the same measurement stands in " + twin->path});
    else
      points.push_back(std::move(point));
  }

  static void find_changes(HistorySeries& series) {
    const std::size_t size = series.points.size();
    if (size < kFewestPoints) {
      series.reason = counted(size, "point", "points") + ", and a change takes " + std::to_string(kFewestPoints) + ": " +
                      std::to_string(kFewestPointsOfLevel) + " on either side";
      return;
    }
    const std::size_t begin = size - std::min(size, kMostPoints);
    if (begin > 0) series.reason = "looked for in the latest " + std::to_string(kMostPoints) + " points alone";
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
