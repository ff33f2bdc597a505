#include "src/analysis/speedup/setting_pairs.h"

#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "src/case/choices.h"

namespace epochbench {
namespace {

// Machine and build, settings, work.
using Key = std::tuple<std::string, Settings, WorkKey>;

// The key that the series would have if these settings were the defaults.
Key key_without(const Series& series, std::initializer_list<const char*> settings) {
  Settings others = series.settings;
  for (const char* key : settings) others.erase(key);
  return {series.origin, std::move(others), work_key(series.first().workload)};
}

}  // namespace

std::vector<SettingPair> setting_pairs(const AllSeries& all) {
  std::map<Key, const Series*> complete, fewest_threads;
  const auto threads_of = [](const Series& series) { return cpu_threads(series.first()).value_or(0); };
  for (const Series& series : all.series) {
    complete.try_emplace(key_without(series, {}), &series);
    if (threads_of(series) < 1) continue;
    const Series*& fewest = fewest_threads[key_without(series, {"threads"})];
    if (!fewest || threads_of(series) < threads_of(*fewest)) fewest = &series;
  }
  std::vector<SettingPair> pairs;
  for (const Series& series : all.series) {
    const std::string kernels = setting_text(series.settings, "kernels");
    const bool fastest = kernels == name(Kernels::fastest);
    if (!series.settings.contains("without") && kernels.empty()) continue;
    const auto found = complete.find(fastest ? key_without(series, {"kernels"}) : key_without(series, {"without", "kernels"}));
    if (found == complete.end() || !multiply_alike(series.first(), found->second->first())) continue;
    pairs.push_back(fastest ? SettingPair{found->second, &series, Compares::parts}
                            : SettingPair{&series, found->second, Compares::parts});
  }
  for (const Series& series : all.series) {
    const auto found = fewest_threads.find(key_without(series, {"threads"}));
    if (found != fewest_threads.end() && threads_of(series) > threads_of(*found->second))
      pairs.push_back({found->second, &series, Compares::threads});
  }
  return pairs;
}

}  // namespace epochbench
