// epochbench list: what there is to choose from.
#include "src/cli/list.h"

#include <algorithm>
#include <cctype>

#include "epochbench/backend.h"
#include "epochbench/dataset.h"
#include "epochbench/gpu.h"
#include "epochbench/model.h"
#include "src/analysis/claims/claims.h"
#include "src/analysis/predict/device_catalog.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/recipe.h"
#include "src/case/suite.h"
#include "src/cli/commands.h"
#include "src/cli/list_published.h"
#include "src/machine/environment.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/session/capabilities.h"
#include "src/session/prices.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

constexpr const char* kListExamples = R"(Examples:
  epochbench list models
  epochbench list prices --match h100
  epochbench list devices --catalog --match rtx    rated figures of GPUs and CPUs, for plan --on
  epochbench list prices --json)";

struct ListOptions {
  std::string what;      // empty: an index of all kinds
  std::string match;     // empty: all rows
  bool catalog = false;  // devices: all known ones instead of this machine's
  bool json = false;
};

constexpr double kFlopsPerMultiplyAdd = 2;

using Kept = std::vector<std::size_t>;  // indices of the rows that are shown

struct Section {
  const char* name;
  const char* key;  // of a row's name
  Json (*json)();
  std::string (*text)(const Json& rows, const Kept& kept);  // of the rows that are shown, which `kept` names among all
};

Json models_json() {
  Json list = Json::array();
  DatasetSizes sizes;
  for (const ModelFamily& family : model_registry()) {
    CaseSpec asked;
    asked.model = find_model(family.name);
    const CaseSpec spec = finished(asked, default_threads());
    const Counts counts = count(workload_spec(spec));
    Json options = Json::array();
    for (const ModelOption& option : family.options)
      options.push_back(
          {{"name", option.name}, {"default", option.value}, {"minimum", option.minimum}, {"maximum", option.maximum}});
    list.push_back({{"name", family.name},
                    {"description", family.description},
                    {"forward_multiply_adds", counts.forward_flops_per_sample / kFlopsPerMultiplyAdd},
                    {"train_flops_per_sample", counts.train_flops_per_sample},
                    {"parameters", counts.parameters},
                    {"memory_bytes", planned_bytes(spec, sizes)},
                    {"default_data", family.default_data},
                    {"default_batch", family.default_batch},
                    {"options", options}});
  }
  return list;
}

std::string models_text(const Json& models, const Kept&) {
  Table table(
      {"model", ">multiply-adds", ">training FLOPs", ">parameters", ">memory", ">batch", "-what", "--data", "---options"});
  for (const Json& model : models) {
    const auto with_default = [](const Json& option) {
      return option["name"].get<std::string>() + "=" + option["default"].dump();
    };
    const auto counted_as = [&](const char* key) { return format_si(model[key].get<double>(), ""); };
    table.add({model["name"], counted_as("forward_multiply_adds"), counted_as("train_flops_per_sample"),
               counted_as("parameters"), format_bytes(model["memory_bytes"].get<double>()), model["default_batch"].dump(),
               model["description"], model["default_data"], joined(model["options"], with_default, ",")});
  }
  return table.to_string() +
         "multiply-adds: of a forward pass of one sample, as papers count them; training FLOPs: of one sample, two per "
         "multiply-add; memory: planned, to train at this batch in fp32 on the CPU\n";
}

Json devices_json() {
  const DeviceInfo cpu = make_backend({}, default_threads())->device();
  Json list = Json::array();
  list.push_back({{"name", "cpu"},
                  {"model", cpu.name},
                  {"threads", cpu.threads},
                  {"isa", cpu.isa},
                  {"memory_bytes", cpu_info().memory_bytes.value_or(0)},
                  {"usable", true},
                  {"reason", nullptr}});
  // Every visible GPU; if there is none, the first with the reason.
  const std::vector<GpuInfo> gpus = list_gpus();
  for (std::size_t i = 0; i < std::max<std::size_t>(1, gpus.size()); ++i) {
    const DeviceId gpu = cuda_device(static_cast<int>(i));
    const auto obstacle = device_obstacle(gpu);
    Json device = {{"name", to_string(gpu)}, {"usable", !obstacle}, {"reason", obstacle ? Json(*obstacle) : Json(nullptr)}};
    if (i < gpus.size()) {
      device["model"] = gpus[i].name;
      device["compute_capability"] = gpus[i].compute_capability;
      device["memory_bytes"] = gpus[i].memory_bytes;
    }
    list.push_back(std::move(device));
  }
  return list;
}

std::string devices_text(const Json& devices, const Kept&) {
  std::string text;
  for (const Json& device : devices) {
    text += device["name"].get<std::string>() + ": ";
    if (device.contains("model")) text += device["model"].get<std::string>() + ", ";
    if (device.contains("threads")) text += device["threads"].dump() + " threads, " + device["isa"].get<std::string>() + ", ";
    if (device.contains("memory_bytes")) text += format_bytes(device["memory_bytes"].get<double>());
    if (!device["usable"].get<bool>())
      text += (device.contains("model") ? ", not usable: " : "not usable: ") + device["reason"].get<std::string>();
    text += "\n";
  }
  return text;
}

Json block_json(const CaseBlock& block) {
  Json options = Json::object();
  for (const auto& [key, values] : block) options[key] = values.values;
  return options;
}

Json recipes_json() {
  return json_list(embedded_recipes(), [](const Recipe& recipe) {
    return Json{{"name", recipe.name},
                {"description", recipe.description},
                {"source", recipe.source},
                {"options", block_json(recipe.options)}};
  });
}

std::string recipes_text(const Json& recipes, const Kept&) {
  Table table({"recipe", "what", "-source"});
  for (const Json& recipe : recipes) table.add({recipe["name"], recipe["description"], recipe["source"]});
  return table.to_string();
}

Json suites_json() {
  Json list = Json::array();
  for (const Suite& suite : embedded_suites()) {
    Json cases = Json::array();
    for (const CaseBlock& block : suite.cases) cases.push_back(block_json(block));
    list.push_back({{"name", suite.name}, {"description", suite.description}, {"cases", cases}});
  }
  return list;
}

std::string suites_text(const Json& suites, const Kept&) {
  Table table({"suite", "what"});
  for (const Json& suite : suites) table.add({suite["name"], suite["description"]});
  return table.to_string();
}

Json datasets_json() {
  return json_list(kDataSources, [](const DataSource& source) {
    return Json{{"spec", source.spec}, {"description", source.description}};
  });
}

std::string datasets_text(const Json& datasets, const Kept&) {
  Table table({"data", "what"});
  for (const Json& dataset : datasets) table.add({dataset["spec"], dataset["description"]});
  return table.to_string();
}

int age_days(const std::string& as_of) { return days_between(parse_day(as_of).value(), today()); }

// "1.293 (2025-03-06, 629 days old)"
std::string spot_text(const CatalogPrice& price) {
  if (!price.spot) return "";
  std::string day = price.spot->as_of;
  append(day, age_note(price.spot->as_of, today()));
  return short_number(price.spot->usd_per_hour) + " (" + day + ")";
}

Json prices_json() {
  Json list = Json::array();
  for (const CatalogPrice& price : embedded_prices().prices)
    list.push_back(
        {{"provider", price.provider},
         {"instance", price.instance},
         {"region", price.region},
         {"usd_per_hour", price.usd_per_hour},
         {"currency", "USD"},
         {"vcpus", price.vcpus},
         {"gpus", price.gpu_count == 0 ? Json(nullptr) : Json{{"model", price.gpu_model}, {"count", price.gpu_count}}},
         {"source", price.source},
         {"as_of", price.as_of},
         {"age_days", age_days(price.as_of)},
         {"spot", price.spot ? Json{{"usd_per_hour", price.spot->usd_per_hour},
                                    {"source", price.spot->source},
                                    {"as_of", price.spot->as_of},
                                    {"age_days", age_days(price.spot->as_of)}}
                             : Json(nullptr)}});
  return list;
}

std::size_t decimals_of(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos ? 0 : number.size() - point - 1;
}

std::string prices_text(const Json&, const Kept& kept) {
  Reasons ages;
  std::size_t decimals = 0;
  const auto usd_of = [](std::size_t i) { return shortest(embedded_prices().prices[i].usd_per_hour); };
  for (const std::size_t i : kept) decimals = std::max(decimals, decimals_of(usd_of(i)));
  const auto aligned = [&](const std::string& usd) {  // the decimal points below each other
    const std::string gap = decimals > 0 && usd.find('.') == std::string::npos ? " " : "";
    return usd + gap + std::string(decimals - decimals_of(usd), ' ');
  };
  Table table({"-provider", "instance", "--region", ">USD/hour", "->vCPUs", "GPUs", "--as of", "--", "-spot"});
  for (const std::size_t i : kept) {
    const CatalogPrice& price = embedded_prices().prices[i];
    table.add({price.provider, price.instance, price.region, aligned(usd_of(i)), std::to_string(price.vcpus),
               price.gpu_count == 0 ? "" : std::to_string(price.gpu_count) + " x " + price.gpu_model, price.as_of,
               age_note(price.as_of, today()), spot_text(price)});
    if (const std::string age = age_note(price.as_of, today()); !age.empty()) add_reason(ages, age, price.instance);
  }
  std::string text = table.to_string();
  for (const std::string& line : price_age_lines(ages)) text += wrapped("", "  ", line);
  return text + "spot: USD per hour of spare capacity, if a public list states it\n" + embedded_prices().note + "\n";
}

Json claims_list() {
  Json list = Json::array();
  for (const Claim& claim : embedded_claims().claims) list.push_back(claim_json(claim, embedded_claims().articles));
  return list;
}

std::string claims_section(const Json&, const Kept& kept) {
  ClaimCatalog catalog = embedded_claims();
  if (kept.size() == catalog.claims.size()) return claims_list_text(catalog);
  std::vector<Claim> claims;
  for (const std::size_t i : kept) claims.push_back(catalog.claims[i]);
  catalog.claims = std::move(claims);
  std::erase_if(catalog.conflicts, [&](const ClaimConflict& conflict) {
    return std::ranges::none_of(catalog.claims, [&](const Claim& claim) { return contains(conflict.claims, claim.id); });
  });
  return claims_list_text(catalog);
}

Json catalog_json() {
  return json_list(embedded_devices().devices,
                   [](const CatalogDevice& device) { return device_json(embedded_devices(), device); });
}

std::string catalog_text(const Json&, const Kept& kept) { return devices_catalog_text(embedded_devices(), kept); }

constexpr Section kCatalog{"devices", "id", catalog_json, catalog_text};
constexpr Section kSections[] = {
    {"models", "name", models_json, models_text},       {"devices", "name", devices_json, devices_text},
    {"suites", "name", suites_json, suites_text},       {"recipes", "name", recipes_json, recipes_text},
    {"datasets", "spec", datasets_json, datasets_text}, {"claims", "id", claims_list, claims_section},
    {"prices", "instance", prices_json, prices_text},   {"published", "name", published_json, published_text},
};

std::string lowercase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Kept rows_with(const std::string& match, const Json& rows) {
  Kept kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (lowercase(rows[i].dump(-1, ' ', false, Json::error_handler_t::replace)).find(lowercase(match)) != std::string::npos)
      kept.push_back(i);
  return kept;
}

std::vector<std::string> row_names(const Section& section, const Json& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows) names.push_back(row.at(section.key).get<std::string>());
  return names;
}

// What can be listed: how many there are, one of them, and the call that shows all.
std::string index_text(const std::vector<std::pair<const Section*, std::vector<std::string>>>& found) {
  Table table({"what", ">count", "-example", "shown by"});
  for (const auto& [section, names] : found)
    table.add({section->name, std::to_string(names.size()), names.empty() ? "" : names[0],
               std::string("epochbench list ") + section->name});
  return table.to_string();
}

int list(const ListOptions& options) {
  if (options.catalog && options.what != "devices")
    throw CallError("list --catalog: only devices have a catalog; use `epochbench list devices --catalog`");
  std::vector<std::string> names;
  for (const Section& section : kSections) names.emplace_back(section.name);
  if (!options.what.empty()) located("list", [&] { return parse_word(options.what, names); });
  Json document = Json::object();
  std::string text;
  std::vector<std::pair<const Section*, std::vector<std::string>>> found;
  const bool only_index = options.what.empty() && options.match.empty() && !options.json;
  for (const Section& known : kSections) {
    if (!options.what.empty() && options.what != known.name) continue;
    if (only_index) {
      found.emplace_back(&known, listed_names(known.name));
      continue;
    }
    const Section& section = options.catalog ? kCatalog : known;
    const Json all = section.json();
    const Kept kept = rows_with(options.match, all);
    Json rows = Json::array();
    for (const std::size_t i : kept) rows.push_back(all[i]);
    if (!kept.empty() && !options.json && !options.what.empty()) text = section.text(rows, kept);
    found.emplace_back(&section, row_names(section, rows));
    document[section.name] = std::move(rows);
  }
  if (!options.match.empty() && std::ranges::all_of(found, [](const auto& each) { return each.second.empty(); }))
    throw CallError("list: no row has '" + options.match + "'; leave --match out to see all of them" +
                    (options.what == "devices" && !options.catalog ? ", or add --catalog to search devices elsewhere" : ""));
  if (options.json)
    print(print_json(document));
  else
    print_fitted(options.what.empty() ? index_text(found) : text);
  return kExitDone;
}

}  // namespace

std::vector<std::string> listed_names(std::string_view kind) {
  const auto section = std::ranges::find(kSections, kind, &Section::name);
  if (kind != "models") return row_names(*section, section->json());
  std::vector<std::string> names;  // without the rows, which take long to plan
  for (const ModelFamily& family : model_registry()) names.push_back(family.name);
  return names;
}

void add_list(Commands& commands) {
  auto [command, options] =
      commands.add("list", "list models, devices, suites, data sets, claims, prices and more", kListExamples, list);
  command.add_option(
      "what", options.what,
      "models, devices, suites, recipes, datasets, claims, prices or published (default: how many there are of each)");
  command.add_option("--match", options.match, "show only rows that contain TEXT, in any case")->type_name("TEXT");
  command.add_flag("--catalog", options.catalog, "with devices: show the rated figures of GPUs and CPUs, with sources");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
