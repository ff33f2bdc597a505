#include "src/analysis/predict/device_catalog.h"

#include <array>

#include "epochbench/embedded.h"
#include "src/base/json_fields.h"

namespace epochbench {
namespace {

constexpr std::array kGpuFacts{
    "memory_gib",  "bandwidth_gb_per_second", "cache_mib", "watts", "fp32_tflops", "tf32_tflops", "bf16_tflops",
    "fp16_tflops", "compute_capability"};
constexpr std::array kCpuFacts{"socket_cores",     "clock_ghz",           "socket_bandwidth_gb_per_second",
                               "socket_cache_mib", "fp32_flop_per_cycle", "bf16_flop_per_cycle"};

void check_source(const DeviceCatalog& catalog, const std::string& key, const std::string& path) {
  if (!catalog.sources.contains(key)) throw FormatError(path + ": '" + key + "' is not under sources; add it there");
}

CatalogFact read_fact(const DeviceCatalog& catalog, const JsonFields& row) {
  CatalogFact fact{row.maybe_number("value"), row.maybe_text("source").value_or(""), row.maybe_text("reason").value_or("")};
  if (!fact.value) {
    if (fact.reason.empty()) throw FormatError(row.path("reason") + ": missing; a null value needs a reason");
    return fact;
  }
  if (!(*fact.value > 0)) throw FormatError(row.path("value") + ": must be above 0");
  check_source(catalog, fact.source, row.path("source"));
  return fact;
}

CpuInstance read_instance(const JsonFields& row) {
  CpuInstance instance{row.text("name"), static_cast<int>(row.integer("cores")), static_cast<int>(row.integer("sockets")),
                       row.number("memory_gib")};
  if (instance.cores < 1 || instance.sockets < 1 || !(instance.memory_gib > 0))
    throw FormatError(row.path("name") + ": cores, sockets and memory_gib must be above 0");
  return instance;
}

CatalogDevice read_device(const DeviceCatalog& catalog, const JsonFields& row, bool is_gpu) {
  CatalogDevice device;
  device.id = row.text("id");
  device.name = row.text("name");
  device.is_gpu = is_gpu;
  device.year = static_cast<int>(row.integer("year"));
  device.also = row.texts("also");
  const JsonFields facts = row.get<JsonFields>("facts");
  for (const char* key : is_gpu ? gpu_facts() : cpu_facts()) device.facts[key] = read_fact(catalog, facts.get<JsonFields>(key));
  if (is_gpu) return device;
  device.is_arm = row.get<bool>("arm");
  device.instances_source = row.text("instances_source");
  check_source(catalog, device.instances_source, row.path("instances_source"));
  for (const JsonFields& instance : row.groups("instances")) device.instances.push_back(read_instance(instance));
  return device;
}

}  // namespace

std::span<const char* const> gpu_facts() { return kGpuFacts; }
std::span<const char* const> cpu_facts() { return kCpuFacts; }

DeviceCatalog parse_devices(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonFields fields(document, source);
  DeviceCatalog catalog;
  catalog.note = fields.text("note");
  const JsonFields sources = fields.get<JsonFields>("sources");
  for (const auto& entry : fields.at("sources").items()) {
    const JsonFields row = sources.get<JsonFields>(entry.key().c_str());
    catalog.sources[entry.key()] = {row.text("title"), row.text("url"), row.text("date")};
  }
  for (const JsonFields& row : fields.groups("gpus")) catalog.devices.push_back(read_device(catalog, row, true));
  for (const JsonFields& row : fields.groups("cpus")) catalog.devices.push_back(read_device(catalog, row, false));
  return catalog;
}

const DeviceCatalog& embedded_devices() {
  constexpr const char* kPath = "bench/devices.json";
  static const DeviceCatalog catalog = parse_devices(embedded_file(kPath).value_or(""), kPath);
  return catalog;
}

Json device_json(const DeviceCatalog& catalog, const CatalogDevice& device) {
  const auto source_json = [&](const std::string& key) {
    const CatalogSource& source = catalog.sources.at(key);
    return Json{{"title", source.title}, {"url", source.url}, {"date", source.date}};
  };
  Json facts = Json::object();
  for (const char* key : device.is_gpu ? gpu_facts() : cpu_facts()) {
    const CatalogFact& fact = device.facts.at(key);
    facts[key] = fact.value ? Json{{"value", *fact.value}, {"source", source_json(fact.source)}}
                            : Json{{"value", nullptr}, {"reason", fact.reason}};
  }
  Json json = {{"id", device.id},     {"name", device.name}, {"kind", device.is_gpu ? "gpu" : "cpu"},
               {"year", device.year}, {"also", device.also}, {"facts", facts}};
  if (device.is_gpu) return json;
  json["instances_source"] = source_json(device.instances_source);
  for (const CpuInstance& instance : device.instances)
    json["instances"].push_back({{"name", instance.name},
                                 {"cores", instance.cores},
                                 {"sockets", instance.sockets},
                                 {"memory_gib", instance.memory_gib}});
  return json;
}

}  // namespace epochbench
