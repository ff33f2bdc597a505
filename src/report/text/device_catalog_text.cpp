// The catalog of devices (`list devices --catalog`), whose rated figures predictions use.
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

std::string figure_text(const CatalogDevice& device, const char* key) {
  const auto fact = device.facts.find(key);
  return fact == device.facts.end() ? "" : fact->second.value ? shortest(*fact->second.value) : "-";
}

}  // namespace

std::string devices_catalog_text(const DeviceCatalog& catalog, const std::vector<std::size_t>& kept) {
  View gpus = {"", columns("GPU|--name|>GiB|>GB/s|>fp32|>tf32|>bf16|>fp16|->W|->year")};
  View cpus = {"", columns("CPU|->GHz|->GB/s per socket|>fp32|>bf16|->year|instances")};
  for (const std::size_t i : kept) {
    const CatalogDevice& device = catalog.devices[i];
    const auto text = [&](const char* key) { return figure_text(device, key); };
    const std::string year = std::to_string(device.year);
    if (device.is_gpu)
      gpus.rows.push_back({device.id, device.name, text("memory_gib"), text("bandwidth_gb_per_second"), text("fp32_tflops"),
                           text("tf32_tflops"), text("bf16_tflops"), text("fp16_tflops"), text("watts"), year});
    else
      cpus.rows.push_back({device.name, text("clock_ghz"), text("socket_bandwidth_gb_per_second"), text("fp32_flop_per_cycle"),
                           text("bf16_flop_per_cycle"), year, joined(device.instances, &CpuInstance::name)});
  }
  std::string text;
  if (!gpus.rows.empty())
    text += terminal_table(gpus) + "TFLOPS; -: none, or not known (--json says why, and each figure's source)\n";
  if (!cpus.rows.empty()) append(text, terminal_table(cpus) + "FLOP per cycle and core\n", "\n");
  return text + wrapped("", "", catalog.note);
}

}  // namespace epochbench
