// The answer of `plan --on`, and the catalog that it asks.
#include <algorithm>

#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/choices.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/evidence.h"

namespace epochbench {
namespace {

constexpr const char* kHeading =
    "predicted, nothing was measured: no less than (≥) and no more than (≤), by the roofline of each node and the rated "
    "figures of the catalog (epochbench list devices --catalog)";
constexpr const char* kReading =
    "memory is that of weights, gradients, optimizer, activations and batches; workspace, libraries and the driver take more. "
    "Launches, input and evaluation are not counted, and real steps take a multiple of the bound, which differs from device to "
    "device";

std::string bound_text(const LeastTime& step) {
  return step.bound() + std::string(", ") + format_percent(step.bound_share()) + " of it";
}

std::string batch_text(std::int64_t batch) { return batch > 0 ? format_count(batch) : "none"; }

std::string samples_text(const Prediction& prediction) {
  if (!prediction.step || !(prediction.step->seconds > 0)) return "-";
  return format_rate(static_cast<double>(prediction.work.batch) / prediction.step->seconds);
}

std::string usd_per_hour_text(double usd) { return "$" + three_digits(usd); }

std::string steps_table(const std::vector<Prediction>& predictions) {
  Table table({"device", "model", "precision", ">batch", ">needs ≥", ">has", "fits", ">largest batch ≤", ">step ≥",
               "->samples/s ≤", "-bound by"});
  for (const Prediction& each : predictions)
    table.add({each.name, each.work.model, name(each.work.precision), format_count(each.work.batch),
               format_bytes(each.work.memory_bytes), format_bytes(each.device_memory_bytes), each.fits ? "yes" : "no",
               batch_text(each.largest_batch), each.step ? format_seconds(each.step->seconds) : "-", samples_text(each),
               each.step ? bound_text(*each.step) : ""});
  return table.to_string();
}

std::string epochs_table(const std::vector<Prediction>& predictions) {
  Table table({"instance", "-device", "model", "precision", ">batch", ">step ≥", ">hours ≥", ">per hour", ">cost ≥",
               "-bound by", "--price"});
  for (const Prediction& each : predictions)
    table.add({each.cost ? each.cost->instance : each.name, each.device, each.work.model, name(each.work.precision),
               format_count(each.work.batch), each.step ? format_seconds(each.step->seconds) : "-",
               each.hours ? three_digits(*each.hours) : "-", each.cost ? usd_per_hour_text(each.cost->usd_per_hour) : "-",
               each.cost && each.cost->usd ? format_usd(*each.cost->usd) : "-", each.step ? bound_text(*each.step) : "",
               each.cost ? each.cost->price : ""});
  return table.to_string();
}

bool of_epochs(const Prediction& prediction) { return prediction.cost || !prediction.cost_reason.empty(); }

Json prediction_json(const Prediction& each) {
  const PlannedWork& work = each.work;
  Json json = {{"evidence", name(EvidenceClass::predicted)},
               {"device", each.device},
               {"name", each.name},
               {"model", work.model},
               {"precision", name(work.precision)},
               {"mode", work.mode},
               {"batch", work.batch},
               {"memory_bytes_at_least", work.memory_bytes},
               {"device_memory_bytes", each.device_memory_bytes},
               {"fits", each.fits},
               {"largest_batch_at_most", each.largest_batch},
               {"step_seconds_at_least", nullptr},
               {"step_seconds_reason", text_or_null(each.reason)},
               {"samples_per_second_at_most", nullptr},
               {"bound", nullptr},
               {"bound_share", nullptr},
               {"notes", each.notes}};
  if (each.step) {
    json["step_seconds_at_least"] = each.step->seconds;
    json["samples_per_second_at_most"] = finite_or_null(static_cast<double>(work.batch) / each.step->seconds);
    json["bound"] = each.step->bound();
    json["bound_share"] = each.step->bound_share();
  }
  if (!of_epochs(each)) return json;
  json["hours_at_least"] = json_of(each.hours);
  json["instance"] = each.cost ? Json(each.cost->instance) : Json(nullptr);
  json["usd_per_hour"] = each.cost ? Json(each.cost->usd_per_hour) : Json(nullptr);
  json["price_source"] = each.cost ? Json(each.cost->price) : Json(nullptr);
  json["usd_at_least"] = each.cost ? json_of(each.cost->usd) : Json(nullptr);
  json["usd_reason"] = text_or_null(each.cost_reason.empty() ? each.reason : each.cost_reason);
  return json;
}

std::string figure_of(const CatalogDevice& device, const char* key) {
  const auto fact = device.facts.find(key);
  return fact == device.facts.end() ? "" : fact->second.value ? shortest(*fact->second.value) : "-";
}

}  // namespace

std::string predictions_text(const std::vector<Prediction>& predictions) {
  const bool epochs = std::ranges::any_of(predictions, of_epochs);
  std::string text = wrapped("", "", kHeading) + "\n" + (epochs ? epochs_table(predictions) : steps_table(predictions));
  std::vector<std::string> lines;
  for (const Prediction& each : predictions) {
    if (!each.reason.empty()) lines.push_back(each.name + ": " + each.reason);
    if (!each.cost_reason.empty()) lines.push_back(each.cost_reason);
    lines.insert(lines.end(), each.notes.begin(), each.notes.end());
  }
  for (const std::string& line : without_repeats(std::move(lines))) text += wrapped("", "", line);
  return text + wrapped("", "", kReading);
}

Json predictions_json(const std::vector<Prediction>& predictions) {
  return {{"evidence", name(EvidenceClass::predicted)}, {"predictions", json_list(predictions, prediction_json)}};
}

std::string devices_catalog_text(const DeviceCatalog& catalog, const std::vector<std::size_t>& kept) {
  Table gpus({"GPU", "--name", ">GiB", ">GB/s", ">fp32", ">tf32", ">bf16", ">fp16", "->W", "->year"});
  Table cpus({"CPU", "->GHz", "->GB/s per socket", ">fp32", ">bf16", "->year", "instances"});
  bool has_gpus = false, has_cpus = false;
  for (const std::size_t i : kept) {
    const CatalogDevice& device = catalog.devices[i];
    (device.is_gpu ? has_gpus : has_cpus) = true;
    const auto of = [&](const char* key) { return figure_of(device, key); };
    const std::string year = std::to_string(device.year);
    if (device.is_gpu)
      gpus.add({device.id, device.name, of("memory_gib"), of("bandwidth_gb_per_second"), of("fp32_tflops"), of("tf32_tflops"),
                of("bf16_tflops"), of("fp16_tflops"), of("watts"), year});
    else
      cpus.add({device.name, of("clock_ghz"), of("socket_bandwidth_gb_per_second"), of("fp32_flop_per_cycle"),
                of("bf16_flop_per_cycle"), year, joined(device.instances, &CpuInstance::name)});
  }
  std::string text;
  if (has_gpus) text += gpus.to_string() + "TFLOPS; -: none, or not known (--json says why, and each figure's source)\n";
  if (has_cpus) append(text, cpus.to_string() + "FLOP per cycle and core\n", "\n");
  return text + wrapped("", "", catalog.note);
}

}  // namespace epochbench
