#include "src/report/html/page_data.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/claims_json.h"
#include "src/report/text/speedup_text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMostPairs = 500;  // of a table that a person reads; `epochbench speedup` has them all

// null without a pair.
Json speedup_part(const std::vector<NamedResult>& results) {
  Speedup speedup = speedup_of(results, SpeedupOf::same_batch);
  if (speedup.pairs.empty()) return nullptr;
  const std::size_t pairs = speedup.pairs.size();
  if (pairs > kMostPairs) speedup.pairs.resize(kMostPairs);
  speedup.unpaired.clear();
  Json json = speedup_json(speedup);
  for (std::size_t i = 0; i < speedup.pairs.size(); ++i) {
    json["pairs"][i]["contender_precision"] = speedup.pairs[i].contender.precision;
    json["pairs"][i]["contender_backend"] = speedup.pairs[i].contender.device.backend;
    json["pairs"][i]["across_devices"] = speedup.pairs[i].baseline.on_gpu != speedup.pairs[i].contender.on_gpu;
  }
  json["all_pairs"] = pairs;
  return json;
}

std::size_t count_measured(const std::vector<ClaimAnswer>& answers) {
  std::size_t count = 0;
  for (const ClaimAnswer& answer : answers) count += answer.measured.has_value() + count_measured(answer.parts);
  return count;
}

// null where the results answer no claim: what arithmetic alone says, of any result and of none, is no reason for a section.
Json claims_part(const std::vector<NamedResult>& results, const ClaimCatalogue& catalogue) {
  const std::vector<ClaimAnswer> answers = judge(catalogue.claims, results);
  if (count_measured(answers) == count_measured(judge(catalogue.claims, {}))) return nullptr;
  return claims_json(catalogue, answers);
}

}  // namespace

Json page_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::fabs(value) < 1e6) return static_cast<std::int64_t>(value);  // shorter: 12, not 12.0
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::strtod(text.data(), nullptr);
}

Json page_number(const std::optional<double>& value) { return value ? page_number(*value) : Json(nullptr); }

Json page_interval(const std::optional<std::pair<double, double>>& ends) {
  if (!ends || !std::isfinite(ends->first) || !std::isfinite(ends->second)) return nullptr;
  return Json::array({page_number(ends->first), page_number(ends->second)});
}

Json page_data(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns, const ClaimCatalogue& catalogue) {
  const AllSeries all = series_of(results);
  Json data = Json::object();
  add_places(data, results, turns);
  add_rows(data, all);
  data["speedup"] = speedup_part(results);
  add_sweeps(data, results);
  add_turns(data, turns);
  add_history(data, results, turns);
  add_steps(data, all);
  add_profiles(data, all);
  data["claims"] = claims_part(results, catalogue);
  return data;
}

}  // namespace epochbench
