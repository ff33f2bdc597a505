// What the page shows, part by part. GPU identifiers stay in the result: a page is sent to others.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/compare/comparison.h"
#include "src/analysis/compare/history.h"
#include "src/analysis/speedup/speedup.h"
#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/html/html_page.h"
#include "src/report/html/page_head.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxPairs = 500;  // in a table for people; `epochbench speedup` has all
constexpr std::size_t kMinDates = 2, kMaxSeries = 200;

bool same_gpus(const std::vector<GpuInfo>& a, const std::vector<GpuInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const GpuInfo& x, const GpuInfo& y) { return x.name == y.name && x.uuid == y.uuid; });
}

// Without a host name two machines of one kind cannot be distinguished, so each file gets its own.
bool same_machine(const Context& a, const Context& b) {
  return a.host_name && a.host_name == b.host_name && a.cpu.model == b.cpu.model && a.cpu.cores == b.cpu.cores &&
         same_gpus(a.gpus, b.gpus);
}

Json machine_json(const Context& context, const std::string& path) {
  Json gpus = Json::array();
  for (const GpuInfo& gpu : context.gpus) {
    gpus.push_back(json_of(gpu));
    gpus.back().erase("uuid");
    gpus.back().erase("pci_bus_id");
  }
  return {{"host", json_of(context.host_name)}, {"cpu", json_of(context.cpu)}, {"gpus", gpus}, {"measured_in", path}};
}

// The command lines of the calls that made the result, oldest first; those that the file does not name are left out.
Json commands_json(const Context& context) {
  Json commands = Json::array();
  const auto add = [&](const auto& call) {
    if (call.command_line) commands.push_back(joined(*call.command_line, shell_word, " "));
  };
  for (const EarlierCall& call : context.earlier_calls) add(call);
  add(context);
  return commands;
}

Json file_json(const NamedResult& named, std::ptrdiff_t machine) {
  const Context& context = named.result.context;
  const auto count = [&](RunStatus status) { return std::ranges::count(named.result.runs, status, &Run::status); };
  const auto skipped = count(RunStatus::skipped);
  return {{"file", named.path},
          {"machine", machine},
          {"date", context.date},
          {"version", context.version},
          {"git_sha", json_of(context.git_sha)},
          {"git_dirty", json_of(context.git_dirty)},
          {"build_type", context.build_type},
          {"compiler", context.compiler},
          {"commands", commands_json(context)},
          {"runs", std::ssize(named.result.runs) - skipped},
          {"ok", count(RunStatus::ok)},
          {"skipped", skipped}};
}

// Where it was measured: machines[], each once; files[], the results, each with the number of its machine; and turns[], so far
// with file, date and machine only.
void add_places(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns) {
  for (const char* list : {"machines", "files", "turns"}) data[list] = Json::array();
  std::vector<const Context*> machines;
  const auto machine_of = [&](const Context& context, const std::string& path) {
    const auto same = [&](const Context* other) { return same_machine(*other, context); };
    const auto number = std::find_if(machines.begin(), machines.end(), same) - machines.begin();
    if (number == std::ssize(machines)) {
      machines.push_back(&context);
      data["machines"].push_back(machine_json(context, path));
    }
    return number;
  };
  for (const NamedResult& named : results)
    data["files"].push_back(file_json(named, machine_of(named.result.context, named.path)));
  for (const auto& [path, document] : turns)
    data["turns"].push_back({{"file", path}, {"date", document.context.date}, {"machine", machine_of(document.context, path)}});
}

Json side_json(const SpeedupSide& side) {
  return {{"backend", side.device.backend},
          {"on_gpu", side.on_gpu},
          {"precision", side.precision},
          {"settings", settings_text(further_settings(side.settings))}};
}

// null without a pair.
Json speedup_part(Speedup speedup) {
  if (speedup.pairs.empty()) return nullptr;
  const std::size_t pairs = speedup.pairs.size();
  if (pairs > kMaxPairs) speedup.pairs.resize(kMaxPairs);
  speedup.unpaired.clear();
  Json json = speedup_json(speedup);
  for (std::size_t i = 0; i < speedup.pairs.size(); ++i) {
    json["pairs"][i]["baseline_side"] = side_json(speedup.pairs[i].baseline);
    json["pairs"][i]["contender_side"] = side_json(speedup.pairs[i].contender);
    json["pairs"][i]["doubts"] = doubt_texts(speedup.pairs[i].warnings);
  }
  json["all_pairs"] = pairs;
  return json;
}

// The verdict on two binaries that took turns, with the outcome of each pair.
Json turns_part(const TurnsDocument& document) {
  const Comparison comparison = compare_turns(document, rule_of(document));
  Json json = compare_json(comparison);
  json.erase("next");  // a page is sent to others, and the command has the paths of the binaries
  json["suite"] = std::filesystem::path(document.suite).filename().string();
  json["baseline"] = build_text(comparison.sides[kBaseline]);
  json["new"] = build_text(comparison.sides[kContender]);
  for (std::size_t i = 0; i < comparison.cases.size(); ++i) {
    const ComparedCase& compared = comparison.cases[i];
    const auto turns = std::find_if(document.cases.begin(), document.cases.end(),
                                    [&](const TurnsCase& each) { return each.name == compared.name; });
    Json& one = json["cases"][i];
    one["precision"] = turns->precision;
    one["notes"] = text_or_null(notes_text(compared));
    one["loaded"] = is_loaded(compared.foreign_cores);
    one["pairs"] = Json::array();
    for (const TurnsPair& pair : turns->pairs)
      one["pairs"].push_back({{"ratio", pair.log_ratio ? Json(std::exp(*pair.log_ratio)) : Json(nullptr)},
                              {"foreign_cpu_cores", json_of(pair.foreign_cpu_cores)}});
  }
  return json;
}

void add_history(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns) {
  History history = history_of(results, turns);
  std::erase_if(history.series, [](const HistorySeries& series) { return series.points.size() < kMinDates; });
  const std::size_t dated = history.series.size();
  history.series.resize(std::min(dated, kMaxSeries));
  data["history"] = history_json(history)["series"];
  data["history_left_out"] = dated - history.series.size();
}

// Claims are shown if requested, or if this suite was measured.
constexpr const char* kClaimsSuite = "claims";

std::size_t count_measured(const std::vector<ClaimAnswer>& answers) {
  std::size_t count = 0;
  for (const ClaimAnswer& answer : answers) count += answer.measured.has_value() + count_measured(answer.parts);
  return count;
}

// null if the results do not answer any claim: arithmetic, which holds for any result, does not justify a section.
Json claims_part(const std::vector<NamedResult>& results, const ClaimCatalog& catalog, const ClaimFacts& facts) {
  const std::vector<ClaimAnswer> answers = judge(catalog.claims, results, facts);
  if (count_measured(answers) == count_measured(judge(catalog.claims, {}, facts))) return nullptr;
  return claims_json(catalog, answers);
}

// For each article its claims, which contain their quotes, with every class of evidence.
Json articles_part(const std::vector<NamedResult>& results, const ClaimCatalog& catalog, const ClaimFacts& facts) {
  Json part = claims_json(catalog, judge(catalog.claims, results, facts));
  part["articles"] = json_list(catalog.articles, [](const Article& article) { return Json{{"file", article.file}}; });
  return part;
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

bool shows_claims(const std::vector<NamedResult>& results, const PageOptions& options) {
  return options.claims || options.articles || suite_of(results) == kClaimsSuite;
}

Json page_data(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns, const ClaimCatalog& catalog,
               const PageOptions& options) {
  const AllSeries all = series_of(results);
  Json data = Json::object();
  add_places(data, results, turns);
  add_rows(data, all);
  const Speedup speedup = speedup_of(results, SpeedupOf::same_batch);
  data["speedup"] = speedup_part(speedup);
  add_sweeps(data, results);
  for (std::size_t i = 0; i < turns.size(); ++i) data["turns"][i].update(turns_part(turns[i].document));
  add_history(data, results, turns);
  add_steps(data, all);
  add_profiles(data, all);
  const bool with_claims = options.claims || (!options.articles && shows_claims(results, options));
  data["claims"] = with_claims ? claims_part(results, catalog, options.facts) : Json(nullptr);
  data["articles"] = options.articles ? articles_part(results, catalog, options.facts) : Json(nullptr);
  add_head(data, all, speedup, turns, options.title);
  // The page rounds figures again, and must then agree with the commands; a step of a chart needs no more than a pixel shows.
  constexpr int kFigureDigits = 12, kStepDigits = 6;
  for (const auto& [name, part] : data.items())
    round_numbers(part, name == "steps" || name == "losses" ? kStepDigits : kFigureDigits);
  return data;
}

}  // namespace epochbench
