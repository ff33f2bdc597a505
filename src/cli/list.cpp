// epochbench list: what there is to choose from.
#include <algorithm>
#include <cstdio>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "epochbench/model.h"
#include "src/base/errors.h"
#include "src/base/json.h"
#include "src/base/numbers.h"
#include "src/base/table.h"
#include "src/base/units.h"
#include "src/case/suite.h"
#include "src/cli/claims.h"
#include "src/cli/commands.h"
#include "src/machine/environment.h"
#include "src/report/text/claims_json.h"
#include "src/report/text/claims_text.h"
#include "src/session/prices.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

struct Section {
  const char* name;
  Json (*json)();
  std::string (*text)();
};

Json models_json() {
  Json list = Json::array();
  for (const ModelFamily& family : model_registry()) {
    CaseSpec spec;
    spec.model = family.name;
    Json options = Json::array();
    for (const ModelOption& option : family.options)
      options.push_back(
          {{"name", option.name}, {"default", option.value}, {"minimum", option.minimum}, {"maximum", option.maximum}});
    list.push_back({{"name", family.name},
                    {"description", family.description},
                    {"parameters", count(workload_spec(spec)).parameters},
                    {"default_data", family.default_data},
                    {"default_batch", family.default_batch},
                    {"options", options}});
  }
  return list;
}

std::string models_text() {
  Table table(
      {{"model"}, {"parameters", Table::Align::right}, {"data"}, {"batch", Table::Align::right}, {"options"}, {"what"}});
  for (const Json& model : models_json()) {
    std::string options;
    for (const Json& option : model["options"])
      options += (options.empty() ? "" : ",") + option["name"].get<std::string>() + "=" + option["default"].dump();
    table.add({model["name"], format_count(model["parameters"]), model["default_data"], model["default_batch"].dump(), options,
               model["description"]});
  }
  return table.to_string();
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
  // Every visible GPU; where there is none, the first with the reason.
  const std::vector<GpuInfo> gpus = list_gpus();
  for (std::size_t i = 0; i < std::max<std::size_t>(1, gpus.size()); ++i) {
    Json reason = nullptr;
    try {
      make_cuda_backend(static_cast<int>(i));
    } catch (const DeviceError& error) {
      reason = error.what();
    }
    Json device = {{"name", "cuda:" + std::to_string(i)}, {"usable", reason.is_null()}, {"reason", reason}};
    if (i < gpus.size()) {
      device["model"] = gpus[i].name;
      device["compute_capability"] = gpus[i].compute_capability;
      device["memory_bytes"] = gpus[i].memory_bytes;
    }
    list.push_back(std::move(device));
  }
  return list;
}

std::string devices_text() {
  std::string text;
  for (const Json& device : devices_json()) {
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

Json suites_json() {
  Json list = Json::array();
  for (const Suite& suite : embedded_suites()) {
    Json cases = Json::array();
    for (const CaseBlock& block : suite.cases) {
      Json options = Json::object();
      for (const auto& [key, values] : block) options[key] = values.values;
      cases.push_back(options);
    }
    list.push_back({{"name", suite.name}, {"description", suite.description}, {"cases", cases}});
  }
  return list;
}

std::string suites_text() {
  std::string text;
  for (const Json& suite : suites_json())
    text += suite["name"].get<std::string>() + ": " + suite["description"].get<std::string>() + "\n";
  return text;
}

Json datasets_json() {
  const auto row = [](const char* spec, const char* description) { return Json{{"spec", spec}, {"description", description}}; };
  return {row("synthetic", "random images or texts of the model's shape, prepared before the clock starts"),
          row("digits", "1,797 handwritten digits of 8x8 pixels, embedded; 1,438 to train, 359 to test"),
          row("founding-documents", "54,676 bytes of English, embedded: the Declaration of Independence, the Constitution"),
          row("idx:DIR", "MNIST's files, plain or .gz: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..."),
          row("cifar10:DIR", "CIFAR-10's binary files: data_batch_1.bin ..., test_batch.bin"),
          row("text:FILE", "any text, plain or .gz, byte by byte, to fill in masked positions; every tenth window to test")};
}

std::string datasets_text() {
  Table table({{"data"}, {"what"}});
  for (const Json& dataset : datasets_json()) table.add({dataset["spec"], dataset["description"]});
  return table.to_string();
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
         {"age_days", days_between(parse_day(price.as_of).value(), today())}});
  return list;
}

std::string prices_text() {
  using Align = Table::Align;
  Table table(
      {{"provider"}, {"instance"}, {"region"}, {"USD/hour", Align::right}, {"vCPUs", Align::right}, {"GPUs"}, {"as of"}, {""}});
  for (const CatalogPrice& price : embedded_prices().prices)
    table.add({price.provider, price.instance, price.region, shortest(price.usd_per_hour), std::to_string(price.vcpus),
               price.gpu_count == 0 ? "" : std::to_string(price.gpu_count) + " x " + price.gpu_model, price.as_of,
               age_note(price, today())});
  return table.to_string() + embedded_prices().note + "\n";
}

Json claims_list() {
  Json list = Json::array();
  for (const Claim& claim : embedded_claims().claims) list.push_back(claim_json(claim));
  return list;
}

std::string claims_section() { return claims_list_text(embedded_claims()); }

constexpr Section kSections[] = {{"models", models_json, models_text},    {"devices", devices_json, devices_text},
                                 {"suites", suites_json, suites_text},    {"datasets", datasets_json, datasets_text},
                                 {"claims", claims_list, claims_section}, {"prices", prices_json, prices_text}};

}  // namespace

int list_command(const std::string& what, bool json) {
  std::vector<std::string> names;
  for (const Section& section : kSections) names.emplace_back(section.name);
  if (!what.empty()) try {
      parse_word(what, names);
    } catch (const CallError& error) {
      throw CallError("list: " + std::string(error.what()));
    }
  Json document = Json::object();
  std::string text;
  for (const Section& section : kSections) {
    if (!what.empty() && what != section.name) continue;
    if (json)
      document[section.name] = section.json();
    else
      text += (text.empty() ? "" : "\n") + section.text();
  }
  if (json) text = print_json(document);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
