// The page's series: step times as they were measured, losses by step and by time, and profiles.
//
// Of many runs there are too many steps for a page, so each run's are downsampled to its share of a fixed number.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/analysis/downsample.h"
#include "src/report/html/page_parts.h"

namespace epochbench {
namespace {

// All runs of the page together: 4 MB of step times, and 4 MB of losses with their times.
constexpr std::size_t kAllSteps = 400'000, kAllLosses = 150'000;
// One run: more than a chart has columns of pixels are not seen; with fewer a course is not.
constexpr std::size_t kMostOfARun = 2'000, kLeastOfARun = 20;
constexpr std::size_t kMostProfiles = 100;

std::size_t share(std::size_t all, std::size_t runs) {
  const std::size_t of_each = std::clamp(all / std::max<std::size_t>(runs, 1), kLeastOfARun, kMostOfARun);
  return of_each - of_each % 2;
}

// null where all are kept.
Json places(const Downsampled& kept) { return kept.every == 1 ? Json(nullptr) : Json(kept.indices); }

Json picked(const std::vector<double>& values, const Downsampled& kept) {
  Json json = Json::array();
  for (const std::size_t index : kept.indices) json.push_back(page_number(values[index]));
  return json;
}

// `number`: of the run among those of its row, which may be of several files.
Json steps_json(const Run& run, std::size_t row, std::size_t number, std::size_t most) {
  const Timing& timing = *run.timing;
  const Downsampled kept = downsample(timing.step_seconds, most);
  Json throttled = Json::array();
  if (run.gpu && run.gpu->throttled_step_ranges)
    for (const auto& [first, last] : *run.gpu->throttled_step_ranges) throttled.push_back({first, last});
  return {{"row", row},
          {"repetition", number},
          {"warmup", timing.warmup_steps},
          {"n", timing.step_seconds.size()},
          {"every", kept.every},
          {"at", places(kept)},
          {"seconds", picked(timing.step_seconds, kept)},
          {"median", page_number(timing.step_seconds_median)},
          {"ci95", page_interval(timing.step_seconds_ci95)},
          {"throttled", throttled}};
}

// For each loss the end of its step, from the beginning of the first timed one; not a number for warm-up steps, which are not
// timed. Empty where the losses are not those of warm-up and timed steps.
std::vector<double> times_of_losses(const Run& run) {
  const Timing& timing = *run.timing;
  const auto warmup = static_cast<std::size_t>(std::max(timing.warmup_steps, 0));
  if (run.quality->loss.size() != warmup + timing.step_seconds.size()) return {};
  std::vector<double> times(warmup, std::numeric_limits<double>::quiet_NaN());
  double now = 0;
  for (const double seconds : timing.step_seconds) times.push_back(now += seconds);
  return times;
}

Json losses_json(const Run& run, std::size_t row, std::size_t most) {
  const std::vector<double>& losses = run.quality->loss;
  const Downsampled kept = downsample(losses, most);
  const std::vector<double> times = times_of_losses(run);
  return {{"row", row},
          {"repetition", run.repetition},
          {"n", losses.size()},
          {"every", kept.every},
          {"at", places(kept)},
          {"loss", picked(losses, kept)},
          {"first", page_number(losses.front())},  // thinning keeps neither end for sure
          {"last", page_number(losses.back())},
          {"seconds", times.empty() ? Json(nullptr) : picked(times, kept)}};
}

Json profile_json(const Run& run, std::size_t row) {
  const Profile& profile = *run.profile;
  Json classes = Json::array();
  for (const ProfileClass& c : profile.classes)
    classes.push_back({{"op", c.op},
                       {"nodes", c.nodes},
                       {"seconds", page_number(c.seconds)},
                       {"share", page_number(c.share)},
                       {"limit_seconds", page_number(c.limit_seconds)},
                       {"limit_fraction", page_number(c.limit_fraction)},
                       {"flops_per_second", page_number(c.flops_per_second)},
                       {"bytes_per_second", page_number(c.bytes_per_second)}});
  return {{"row", row},
          {"repetition", run.repetition},
          {"seconds", page_number(profile.seconds)},
          {"limit_seconds", page_number(profile.limit_seconds)},
          {"classes", classes}};
}

}  // namespace

void add_steps(Json& data, const AllSeries& all) {
  data["steps"] = Json::array();
  data["losses"] = Json::array();
  std::size_t runs = 0;
  for (const Series& series : all.series) runs += series.runs.size();
  for (std::size_t row = 0; row < all.series.size(); ++row) {
    for (std::size_t number = 0; number < all.series[row].runs.size(); ++number) {
      const Run& run = *all.series[row].runs[number];
      if (run.timing && !run.timing->step_seconds.empty())
        data["steps"].push_back(steps_json(run, row, number, share(kAllSteps, runs)));
    }
    const Run& first = all.series[row].first();
    if (first.timing && first.quality && first.quality->loss.size() > 1)
      data["losses"].push_back(losses_json(first, row, share(kAllLosses, all.series.size())));
  }
}

void add_profiles(Json& data, const AllSeries& all) {
  data["profiles"] = Json::array();
  std::size_t with_profile = 0;
  for (std::size_t row = 0; row < all.series.size(); ++row) {
    const auto& runs = all.series[row].runs;
    const auto found =
        std::find_if(runs.begin(), runs.end(), [](const Run* run) { return run->profile && !run->profile->classes.empty(); });
    if (found != runs.end() && ++with_profile <= kMostProfiles) data["profiles"].push_back(profile_json(**found, row));
  }
  data["profiles_left_out"] = with_profile - data["profiles"].size();
}

}  // namespace epochbench
