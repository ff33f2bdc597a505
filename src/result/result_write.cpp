// Result -> JSON text. Key order is that of the contract.
#include <cmath>

#include "src/result/result_json.h"
#include "src/result/sweep_json.h"

namespace epochbench {
namespace {

Json json(double value) { return finite_or_null(value); }
template <typename T>
Json json(const T& value) {
  return value;
}
template <typename T>
Json json(const std::optional<T>& value) {
  return value ? json(*value) : Json(nullptr);
}
template <typename T>
Json json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json(value));
  return list;
}
template <typename T>
Json json(const std::map<std::string, T>& values) {
  Json object = Json::object();
  for (const auto& [key, value] : values) object[key] = json(value);
  return object;
}
Json json(const std::optional<std::pair<double, double>>& interval) {
  return interval ? Json::array({finite_or_null(interval->first), finite_or_null(interval->second)}) : Json(nullptr);
}

// What is known of every peak that the schema names, null where it was not measured.
template <typename T>
Json peaks(const std::map<std::string, std::optional<T>>& measured, std::initializer_list<const char*> precisions) {
  Json object = Json::object();
  for (const char* precision : precisions) {
    const auto found = measured.find(precision);
    object[precision] = found == measured.end() ? Json(nullptr) : json(found->second);
  }
  return object;
}

Json json(const Workload& w) {
  return {{"model", w.model},
          {"mode", w.mode},
          {"parameters", w.parameters},
          {"fingerprint", w.fingerprint},
          {"batch", w.batch},
          {"dataset", w.dataset},
          {"samples_per_epoch", w.samples_per_epoch},
          {"optimizer", w.optimizer},
          {"seed", w.seed},
          {"train_flops_per_sample", json(w.train_flops_per_sample)},
          {"tokens_per_sample", json(w.tokens_per_sample)},
          {"forward_flops_per_sample", json(w.forward_flops_per_sample)},
          {"options", json(w.options)}};
}

Json json(const Device& d) {
  return {{"backend", d.backend},      {"name", d.name},           {"threads", json(d.threads)},
          {"isa", json(d.isa)},        {"pinned", json(d.pinned)}, {"algorithms", json(d.algorithms)},
          {"without", json(d.without)}};
}

Json json(const Input& i) {
  return {{"loader_threads", i.loader_threads},
          {"prefetch", i.prefetch},
          {"decode_cost_seconds", json(i.decode_cost_seconds)},
          {"cache", i.cache}};
}

Json json(const Timing& t) {
  return {{"warmup_steps", t.warmup_steps},
          {"step_seconds", json(t.step_seconds)},
          {"step_seconds_median", json(t.step_seconds_median)},
          {"step_seconds_ci95", json(t.step_seconds_ci95)},
          {"steps_total_seconds", json(t.steps_total_seconds)},
          {"epoch_seconds", json(t.epoch_seconds)},
          {"epoch_kind", t.epoch_kind},
          {"compile_seconds", json(t.compile_seconds)},
          {"wall_seconds", json(t.wall_seconds)},
          {"stopped_by", t.stopped_by},
          {"harness_seconds_per_step", json(t.harness_seconds_per_step)},
          {"clock_disagreement", json(t.clock_disagreement)}};
}

Json json(const Throughput& t) {
  return {{"samples_per_second", json(t.samples_per_second)}, {"tokens_per_second", json(t.tokens_per_second)}};
}

Json json(const Latency& l) {
  return {{"samples", l.samples},
          {"p50_seconds", json(l.p50_seconds)},
          {"p90_seconds", json(l.p90_seconds)},
          {"p99_seconds", json(l.p99_seconds)},
          {"worst_seconds", json(l.worst_seconds)},
          {"step_seconds", json(l.step_seconds)}};
}

Json json(const Efficiency& e) {
  return {{"flops_per_second", json(e.flops_per_second)},
          {"peak_fraction", json(e.peak_fraction)},
          {"data_wait_fraction", json(e.data_wait_fraction)},
          {"gpu_busy_fraction", json(e.gpu_busy_fraction)}};
}

Json json(const Memory& m) {
  return {{"planned_bytes", json(m.planned_bytes)},
          {"peak_bytes", json(m.peak_bytes)},
          {"page_faults_per_step", json(m.page_faults_per_step)},
          {"huge_page_bytes", json(m.huge_page_bytes)}};
}

Json json(const Interference& i) { return {{"foreign_cpu_cores", json(i.foreign_cpu_cores)}}; }

Json json(const GpuState& g) {
  return {{"utilization", json(g.utilization)},
          {"sm_clock_hertz", json(g.sm_clock_hertz)},
          {"temperature_celsius", json(g.temperature_celsius)},
          {"throttled_steps", json(g.throttled_steps)},
          {"throttle_reasons", json(g.throttle_reasons)},
          {"skipped_steps", json(g.skipped_steps)},
          {"throttled_step_ranges", json(g.throttled_step_ranges)},
          {"memory_used_bytes", json(g.memory_used_bytes)},
          {"reason", json(g.reason)}};
}

Json json(const Quality& q) {
  return {{"loss", json(q.loss)},
          {"final_loss", json(q.final_loss)},
          {"eval_metric", json(q.eval_metric)},
          {"eval_value", json(q.eval_value)},
          {"eval_history", json(q.eval_history)},
          {"parity_with", json(q.parity_with)},
          {"parity_max_relative_difference", json(q.parity_max_relative_difference)},
          {"dropout_masks", json(q.dropout_masks)}};
}

Json json(const Energy& e) {
  return {{"source", e.source},
          {"joules_per_epoch", json(e.joules_per_epoch)},
          {"parts", {{"cpu", json(e.cpu_joules_per_epoch)}, {"gpu", json(e.gpu_joules_per_epoch)}}},
          {"average_watts", json(e.average_watts)},
          {"idle_watts", json(e.idle_watts)},
          {"average_watts_parts", {{"cpu", json(e.cpu_average_watts)}, {"gpu", json(e.gpu_average_watts)}}},
          {"idle_watts_parts", {{"cpu", json(e.cpu_idle_watts)}, {"gpu", json(e.gpu_idle_watts)}}},
          {"window_seconds", json(e.window_seconds)},
          {"reason", json(e.reason)},
          {"remarks", json(e.remarks)}};
}

Json json(const Cost& c) {
  return {{"usd_per_hour", json(c.usd_per_hour)},
          {"usd_per_epoch", json(c.usd_per_epoch)},
          {"usd_total", json(c.usd_total)},
          {"price_source", json(c.price_source)},
          {"currency", c.currency.value_or("USD")}};
}

Json json(const ProfileClass& c) {
  return {{"op", c.op},
          {"nodes", c.nodes},
          {"seconds", json(c.seconds)},
          {"share", json(c.share)},
          {"flops_per_second", json(c.flops_per_second)},
          {"bytes_per_second", json(c.bytes_per_second)},
          {"limit_fraction", json(c.limit_fraction)},
          {"flops", json(c.flops)},
          {"bytes", json(c.bytes)},
          {"limit_seconds", json(c.limit_seconds)}};
}

Json json(const ProfileNode& n) {
  return {{"name", n.name},
          {"op", n.op},
          {"implementation", n.implementation},
          {"seconds", json(n.seconds)},
          {"flops", json(n.flops)},
          {"bytes", json(n.bytes)},
          {"limit_seconds", json(n.limit_seconds)},
          {"limit", json(n.limit)},
          {"limit_fraction", json(n.limit_fraction)}};
}

Json json(const Profile& p) {
  Json classes = Json::array(), nodes = Json::array();
  for (const ProfileClass& group : p.classes) classes.push_back(json(group));
  for (const ProfileNode& node : p.nodes) nodes.push_back(json(node));
  return {{"passes", json(p.passes)},
          {"seconds", json(p.seconds)},
          {"limit_seconds", json(p.limit_seconds)},
          {"limit_fraction", json(p.limit_fraction)},
          {"classes", classes},
          {"nodes", nodes}};
}

}  // namespace

Json run_to_json(const Run& r) {
  const bool ok = r.status == RunStatus::ok;
  const auto group = [ok](const auto& value) { return ok && value ? json(*value) : Json(nullptr); };
  return {{"name", r.name},
          {"repetition", r.repetition},
          {"status", name(r.status)},
          {"message", json(r.message)},
          {"workload", json(r.workload)},
          {"device", json(r.device)},
          {"precision", r.precision},
          {"input", r.input ? json(*r.input) : Json(nullptr)},
          {"timing", group(r.timing)},
          {"throughput", group(r.throughput)},
          {"latency", group(r.latency)},
          {"efficiency", group(r.efficiency)},
          {"memory", group(r.memory)},
          {"interference", group(r.interference)},
          {"gpu", group(r.gpu)},
          {"quality", group(r.quality)},
          {"energy", group(r.energy)},
          {"cost", group(r.cost)},
          {"profile", group(r.profile)}};
}

Json cpu_to_json(const CpuInfo& c) {
  return {{"model", c.model},
          {"sockets", json(c.sockets)},
          {"cores", json(c.cores)},
          {"threads_available", c.threads_available},
          {"isa", json(c.isa)},
          {"cache_bytes", {{"l1d", json(c.l1d_bytes)}, {"l2", json(c.l2_bytes)}, {"l3", json(c.l3_bytes)}}},
          {"memory_bytes", json(c.memory_bytes)},
          {"frequency_scaling", c.frequency_scaling},
          {"peak_flops_per_second", peaks(c.peak_flops_per_second, {"fp32", "bf16"})},
          {"memory_bandwidth_bytes_per_second", json(c.memory_bandwidth_bytes_per_second)},
          {"peak_instruction", peaks(c.peak_instruction, {"fp32", "bf16"})},
          {"peak_threads", json(c.peak_threads)}};
}

Json gpu_to_json(const GpuInfo& g) {
  return {{"name", g.name},
          {"uuid", text_or_null(g.uuid)},
          {"compute_capability", text_or_null(g.compute_capability)},
          {"memory_bytes", g.memory_bytes},
          {"driver", text_or_null(g.driver)},
          {"cuda", text_or_null(g.cuda)},
          {"cublas", text_or_null(g.cublas)},
          {"cudnn", text_or_null(g.cudnn)},
          {"peak_flops_per_second", peaks(g.peak_flops_per_second, {"fp32", "tf32", "bf16", "fp16"})},
          {"memory_bandwidth_bytes_per_second", json(g.memory_bandwidth_bytes_per_second)},
          {"host_to_device_bytes_per_second", json(g.host_to_device_bytes_per_second)},
          {"pci_bus_id", text_or_null(g.pci_bus_id)}};
}

Json context_to_json(const Context& c) {
  Json gpus = Json::array();
  for (const GpuInfo& gpu : c.gpus) gpus.push_back(gpu_to_json(gpu));
  return {{"date", c.date},
          {"host_name", json(c.host_name)},
          {"epochbench_version", c.epochbench_version},
          {"git_sha", json(c.git_sha)},
          {"git_dirty", json(c.git_dirty)},
          {"build_type", c.build_type},
          {"compiler", c.compiler},
          {"command_line", json(c.command_line)},
          {"load_average", json(c.load_average)},
          {"cpu", cpu_to_json(c.cpu)},
          {"gpus", gpus}};
}

std::string result_to_text(const Result& result) {
  Json runs = Json::array();
  for (const Run& run : result.runs) runs.push_back(run_to_json(run));
  Json document = {{"schema_version", kSchemaVersion}, {"context", context_to_json(result.context)}, {"runs", runs}};
  if (result.answers) document["answers"] = sweep_answers_to_json(*result.answers);
  return print_json(document);
}

}  // namespace epochbench
