// What the page shows, part by part.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/speedup/speedup.h"
#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/report/html/html_page.h"
#include "src/report/html/page_head.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxPairs = 500;  // in a table for people; `epochbench speedup` has all

Json side_json(const SpeedupSide& side, const std::string& letter) {
  return {{"backend", name(side.device.backend)},
          {"machine", letter},
          {"on_gpu", side.on_gpu},
          {"precision", name(side.precision)},
          {"settings", settings_text(further_settings(side.settings))}};
}

// null without a pair.
void add_speedup(Json& data, Speedup speedup) {
  const std::size_t pairs = speedup.pairs.size();
  data["speedup"] = nullptr;
  if (pairs == 0) return;
  if (pairs > kMaxPairs) speedup.pairs.resize(kMaxPairs);
  for (SpeedupPair& pair : speedup.pairs)
    for (SpeedupSide* side : {&pair.baseline, &pair.contender})
      if (const std::string letter = machine_letter(data, side->file); !letter.empty()) side->name = letter + ": " + side->name;
  data["tables"]["speedup"] = page_table(speedup_view(speedup));
  speedup.unpaired.clear();
  Json json = speedup_json(speedup);
  for (std::size_t i = 0; i < speedup.pairs.size(); ++i) {
    json["pairs"][i]["baseline_side"] =
        side_json(speedup.pairs[i].baseline, machine_letter(data, speedup.pairs[i].baseline.file));
    json["pairs"][i]["contender_side"] =
        side_json(speedup.pairs[i].contender, machine_letter(data, speedup.pairs[i].contender.file));
    json["pairs"][i]["doubts"] = doubt_texts(speedup.pairs[i].warnings);
    json["pairs"][i]["text"] = format_times(speedup.pairs[i].ratio.value);
  }
  json["more"] = pairs - speedup.pairs.size();
  data["speedup"] = std::move(json);
}

// Null if not a number.
Json page_number(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::fabs(value) < 1e6) return static_cast<std::int64_t>(value);  // shorter: 12, not 12.0
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return std::strtod(text.data(), nullptr);
}

void round_numbers(Json& data, int digits) {
  if (data.is_number_float()) data = page_number(data.get<double>(), digits);
  if (data.is_structured())
    for (Json& part : data) round_numbers(part, digits);
}

}  // namespace

Json page_interval(const std::optional<std::pair<double, double>>& ends) {
  const bool known = ends && std::isfinite(ends->first) && std::isfinite(ends->second);
  return known ? Json(*ends) : Json(nullptr);
}

Json page_data(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns, const ClaimCatalog& catalog,
               const PageOptions& options) {
  const AllSeries all = series_of(results);
  const bool several_files = results.size() > 1;
  Json data = Json::object();
  add_places(data, results, turns);
  add_rows(data, all, several_files);
  const Speedup speedup = speedup_of(results, SpeedupOf::same_batch);
  add_speedup(data, speedup);
  for (std::size_t i = 0; i < options.elsewhere.size(); ++i)
    data["tables"]["elsewhere" + std::to_string(i)] = page_table(elsewhere_view(options.elsewhere[i]));
  add_sweeps(data, results);
  add_interleaved(data, turns);
  add_history(data, results, turns);
  add_steps(data, all, several_files);
  add_profiles(data, all, several_files);
  add_claims(data, results, catalog, options);
  add_head(data, all, speedup, turns, options.title);
  // The page rounds figures again, and must then agree with the commands; a step of a chart needs no more than a pixel shows.
  constexpr int kFigureDigits = 12, kStepDigits = 6;
  for (const auto& [name, part] : data.items())
    round_numbers(part, name == "steps" || name == "losses" ? kStepDigits : kFigureDigits);
  return data;
}

}  // namespace epochbench
