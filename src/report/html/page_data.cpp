#include "src/report/html/page_data.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "src/analysis/case_settings.h"
#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/claims_json.h"
#include "src/report/text/speedup_text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMostPairs = 500;  // of a table that a person reads; `epochbench speedup` has them all

Json side_json(const SpeedupSide& side) {
  return {{"backend", side.device.backend},
          {"on_gpu", side.on_gpu},
          {"precision", side.precision},
          {"settings", settings_text(further_settings(side.settings))}};
}

// null without a pair.
Json speedup_part(const std::vector<NamedResult>& results) {
  Speedup speedup = speedup_of(results, SpeedupOf::same_batch);
  if (speedup.pairs.empty()) return nullptr;
  const std::size_t pairs = speedup.pairs.size();
  if (pairs > kMostPairs) speedup.pairs.resize(kMostPairs);
  speedup.unpaired.clear();
  Json json = speedup_json(speedup);
  for (std::size_t i = 0; i < speedup.pairs.size(); ++i) {
    json["pairs"][i]["baseline_side"] = side_json(speedup.pairs[i].baseline);
    json["pairs"][i]["contender_side"] = side_json(speedup.pairs[i].contender);
  }
  json["all_pairs"] = pairs;
  return json;
}

std::size_t count_measured(const std::vector<ClaimAnswer>& answers) {
  std::size_t count = 0;
  for (const ClaimAnswer& answer : answers) count += answer.measured.has_value() + count_measured(answer.parts);
  return count;
}

// null where the results answer no claim: arithmetic alone, which holds for any result, does not justify a section.
Json claims_part(const std::vector<NamedResult>& results, const ClaimCatalog& catalog) {
  const std::vector<ClaimAnswer> answers = judge(catalog.claims, results);
  if (count_measured(answers) == count_measured(judge(catalog.claims, {}))) return nullptr;
  return claims_json(catalog, answers);
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

Json page_data(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns, const ClaimCatalog& catalog) {
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
  data["claims"] = claims_part(results, catalog);
  return data;
}

}  // namespace epochbench
