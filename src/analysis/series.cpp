#include "src/analysis/series.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

std::string machine_of(const NamedResult& source) {
  const Context& context = source.result.context;
  return context.host_name ? *context.host_name + "\n" + context.cpu.model : source.path;
}

std::string origin_of(const NamedResult& source) {
  const Context& context = source.result.context;
  return machine_of(source) + "\n" + context.version + "\n" + context.git_sha.value_or("");
}

std::string why_useless(const Run& run) {
  if (run.status != RunStatus::ok) return describe(run.status, run.message);
  if (run.device.backend == BackendKind::reference)
    return "the reference backend is an oracle for tests, and its time says nothing";
  return kThroughput.value(run).value_or(0) > 0 ? "" : "it has no throughput above 0";
}

bool same_measurement(const Run& a, const Run& b) {
  return a.repetition == b.repetition && a.workload.seed == b.workload.seed && a.timing && b.timing &&
         !a.timing->step_seconds.empty() && a.timing->step_seconds == b.timing->step_seconds &&
         a.timing->wall_seconds == b.timing->wall_seconds;
}

using CaseKey = std::tuple<Settings, std::string, WorkKey>;  // settings but for the seed, device, work
CaseKey case_key(const Run& run) { return {speed_settings(run), run.device.name, work_key(run.workload)}; }

struct KeyedGroup {
  CaseKey key;
  Repetitions runs;
};

}  // namespace

std::vector<RunGroup> runs_by_case(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted) {
  ListByKey<&KeyedGroup::key> groups;
  for (const Run& run : runs)
    if (!wanted || wanted(run)) groups[case_key(run)].runs.push_back(&run);
  std::vector<RunGroup> list;
  for (KeyedGroup& group : groups) list.push_back({name_of(group.runs), std::move(group.runs)});
  return list;
}

std::vector<RunGroup> measured_cases(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted) {
  return runs_by_case(runs, [&](const Run& run) {
    return run.status == RunStatus::ok && run.timing && run.throughput && (!wanted || wanted(run));
  });
}

std::vector<RunGroup> runs_by_name(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted) {
  ListByKey<&RunGroup::name> groups;
  for (const Run& run : runs)
    if (!wanted || wanted(run)) groups[run.name].runs.push_back(&run);
  return groups.take();
}

std::string name_of(const Repetitions& repetitions) {
  const Run& first = *repetitions.front();
  const bool one_name = std::ranges::all_of(repetitions, [&](const Run* run) { return run->name == first.name; });
  return one_name ? first.name : label_of(speed_settings(first));
}

bool is_ours(const Run& run) { return run.device.backend != BackendKind::pytorch; }

bool runs_on_gpu(const Run& run) { return run.device.backend == BackendKind::cuda || (!is_ours(run) && !run.device.threads); }

std::vector<double> Series::rates() const { return values_of(runs, kThroughput); }

double Series::rate() const { return geometric_mean(rates()); }

FastestSeries choose_series(std::vector<const Series*> candidates) {
  std::vector<std::vector<double>> rates;
  for (const Series* series : candidates) rates.push_back(series->rates());
  FastestSeries fastest{choose_best(rates), std::move(candidates)};
  fastest.runs = estimating(fastest, [&](std::size_t place) { return fastest.candidates[place]->runs; });
  return fastest;
}

std::string FastestSeries::doubt() const {
  return choice_doubt(*this, candidates.size(), [&](std::size_t place) { return candidates[place]->name(); });
}

bool is_superseded(const Repetitions& runs, const std::vector<const void*>& sources, std::size_t at) {
  const Run& run = *runs[at];
  if (!is_loaded(run) || run.turns) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& other = *runs[i];
    const bool quiet = other.interference && other.interference->foreign_cpu_cores && !is_loaded(other) && !other.turns;
    if (quiet && sources[i] != sources[at] && other.workload.seed == run.workload.seed) return true;
  }
  return false;
}

namespace {

// `sources`: the file of each run of each series.
void leave_out_superseded(AllSeries& all, const std::vector<std::vector<const NamedResult*>>& sources) {
  for (std::size_t i = 0; i < all.series.size(); ++i) {
    Series& series = all.series[i];
    const std::vector<const void*> files(sources[i].begin(), sources[i].end());
    Repetitions kept;
    const NamedResult* first = nullptr;
    for (std::size_t at = 0; at < series.runs.size(); ++at) {
      if (is_superseded(series.runs, files, at)) {
        all.left_out.push_back(
            {series.runs[at], sources[i][at], "other processes took CPU time meanwhile, and another file has it without"});
        continue;
      }
      if (kept.empty()) first = sources[i][at];
      kept.push_back(series.runs[at]);
    }
    series.runs = std::move(kept);
    series.file += static_cast<std::size_t>(first - series.source);
    series.source = first;
  }
}

}  // namespace

AllSeries series_of(const std::vector<NamedResult>& results) {
  AllSeries all;
  std::vector<std::vector<const NamedResult*>> sources;
  std::map<std::pair<std::string, CaseKey>, std::size_t> places;  // by origin and case
  for (std::size_t file = 0; file < results.size(); ++file) {
    const NamedResult& source = results[file];
    const std::string origin = origin_of(source);
    for (const Run& run : source.result.runs) {
      if (const std::string reason = why_useless(run); !reason.empty()) {
        all.left_out.push_back({&run, &source, reason});
        continue;
      }
      const auto [place, is_new] = places.try_emplace({origin, case_key(run)}, all.series.size());
      if (is_new) {
        const bool machine_is_known = source.result.context.host_name.has_value();
        all.series.push_back({{&run},
                              &source,
                              file,
                              machine_is_known,
                              machine_of(source),
                              origin,
                              std::get<Settings>(place->first.second),
                              conditions_of(run)});
        sources.push_back({&source});
        continue;
      }
      Series& series = all.series[place->second];
      if (std::ranges::any_of(series.runs, [&](const Run* other) { return same_measurement(*other, run); })) {
        all.left_out.push_back({&run, &source, "the same measurement is in " + series.source->path});
      } else {
        series.runs.push_back(&run);
        sources[place->second].push_back(&source);
      }
    }
  }
  leave_out_superseded(all, sources);
  return all;
}

}  // namespace epochbench
