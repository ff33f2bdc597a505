// bench/devices.json: GPUs, and CPUs with the instances that carry them, as their makers rate them. Nothing here is measured.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/analysis/cost/cost.h"
#include "src/base/json.h"

namespace epochbench {

struct CatalogFact {
  std::optional<double> value;
  std::string source;  // key of DeviceCatalog::sources; "" without a value
  std::string reason;  // for a null value
};

struct CpuInstance {
  std::string name;  // "c7i.24xlarge"
  int cores = 0, sockets = 0;
  double memory_gib = 0;
};

struct CatalogDevice {
  std::string id, name;           // "a100-80gb", "NVIDIA A100 SXM 80GB"
  bool is_gpu = true;             // otherwise a CPU, whose peaks are per core and whose bandwidth and cache are per socket
  bool is_arm = false;            // only for a CPU
  int year = 0;                   // in which it was released
  std::vector<std::string> also;  // other names: those of bench/prices.json and of nvidia-smi
  std::map<std::string, CatalogFact> facts;
  std::string instances_source;
  std::vector<CpuInstance> instances;  // only for a CPU
};

struct CatalogSource {
  std::string title, url, date;  // "2023-08", "read 2026-11-25"
};

struct DeviceCatalog {
  std::string note;
  std::map<std::string, CatalogSource> sources;
  std::vector<CatalogDevice> devices;
};

// Every fact that an entry of a GPU or a CPU must have, with its value or the reason why there is none.
std::span<const char* const> gpu_facts();
std::span<const char* const> cpu_facts();

// `source` names the text in messages. Errors: FormatError.
DeviceCatalog parse_devices(std::string_view text, const std::string& source);
const DeviceCatalog& embedded_devices();

// What --on may name: a GPU, an instance of bench/prices.json with a GPU of the catalog, or a CPU instance.
struct PredictionTarget {
  const CatalogDevice* device = nullptr;
  const CpuInstance* instance = nullptr;  // only for a CPU
  const CatalogPrice* price = nullptr;    // if the call names an instance
  std::string choice = {};                // why this one of several that the call may mean; empty: it names this one
  std::string name() const;               // "NVIDIA T4", "c7i.24xlarge"
};

// By id, name or other name, in any case and with any separators; or by words that only one entry has ("4090"). Errors:
// CallError that lists the variants if several fit and no GPU among them is in most instances, and near names if none does.
PredictionTarget find_target(const DeviceCatalog& catalog, std::span<const CatalogPrice> prices, const std::string& text);

// The catalog's entry for the GPU of a price list; nullptr: none.
const CatalogDevice* device_of_price(const DeviceCatalog& catalog, const CatalogPrice& price);

Json device_json(const DeviceCatalog& catalog, const CatalogDevice& device);

}  // namespace epochbench
