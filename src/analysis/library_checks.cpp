#include "src/analysis/library_checks.h"

#include <cstdio>

#include "epochbench/embedded.h"
#include "src/base/json.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

constexpr double kMinShare = 0.01;  // of the time of all layers of a table

// Empty: the run has no such layers, or the row is a sum of others.
std::string layers_text(const std::string& work, const Run& run) {
  if (work.starts_with("grad_") && run.workload.mode == Mode::forward) return "";
  if (work == "forward") return "ResNet-50's convolutions";
  if (work == "grad_input") return "the input gradients of ResNet-50's convolutions";
  if (work == "grad_weight") return "the weight gradients of ResNet-50's convolutions";
  return work == "convolutions" ? "" : work;  // "13 products"
}

// "oneDNN 3.13.2" of a version with more words.
std::string short_version(const std::string& version) { return version.substr(0, version.find(' ', version.find(' ') + 1)); }

// The table of a check for this precision with the most threads that the run has, too; null: none.
const Json* table_for(const Json& kernels, const char* kind, Precision precision, int threads) {
  const Json* best = nullptr;
  for (const auto& [name, table] : kernels.items())
    if (name.starts_with(kind) && table.at("precision") == epochbench::name(precision) && table.at("threads") <= threads &&
        (!best || table.at("threads") > best->at("threads")))
      best = &table;
  return best;
}

void add_rows(std::vector<FasterLibrary>& found, const Json& table, const std::string& file, const Run& run) {
  double all = 0;
  for (const Json& row : table.at("whole"))
    if (row.at("ratio").is_null() && row.at("work") != "convolutions") all += row.at("total").get<double>();
  for (const Json& row : table.at("whole")) {
    const std::string layers = layers_text(row.at("work"), run);
    double ratio = 0, low = 0, high = 0;  // of our speed over the library's
    if (layers.empty() || row.at("ratio").is_null() || row.at("total") < kMinShare * all) continue;
    if (std::sscanf(row.at("ratio").get<std::string>().c_str(), "%lf [%lf, %lf]", &ratio, &low, &high) != 3 || high >= 1)
      continue;
    const std::string version = table.at("versions").at(row.at("library").get<std::string>());
    found.push_back({short_version(version) + " ran " + layers + " " + significant(1 / ratio, 3) + " times (" +
                         significant(1 / high, 3) + " to " + significant(1 / low, 3) + ") as fast with " +
                         counted(table.at("threads").get<std::size_t>(), "thread", "threads"),
                     file});
  }
}

}  // namespace

std::vector<FasterLibrary> faster_libraries(const std::string& cpu, const Run& run) {
  static const Json checks = parse_json(embedded_file("library_checks.json").value_or("{}"), "library_checks.json");
  std::vector<FasterLibrary> found;
  for (const auto& [file, check] : checks.items()) {
    if (check.at("cpu") != cpu) continue;
    for (const char* kind : {"products-", "convolutions-"}) {
      if (kind[0] == 'c' && run.workload.tokens_per_sample) continue;  // text has no convolutions
      if (const Json* table = table_for(check.at("kernels"), kind, run.precision, run.device.threads.value_or(1)))
        add_rows(found, *table, file, run);
    }
  }
  return found;
}

}  // namespace epochbench
