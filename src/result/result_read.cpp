// JSON text -> Result. The inverse of result_write.cpp; numbers that were not finite come back as NaN.
#include <limits>

#include "src/result/result_json.h"
#include "src/result/sweep_json.h"

namespace epochbench {
namespace {

int small_integer(const JsonFields& fields, const char* key) {
  const std::int64_t value = fields.integer(key);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw FormatError(fields.path(key) + ": out of range");
  return static_cast<int>(value);
}

std::optional<int> maybe_small_integer(const JsonFields& fields, const char* key) {
  if (!fields.find(key)) return std::nullopt;
  return small_integer(fields, key);
}

std::map<std::string, std::optional<double>> read_peaks(const JsonFields& fields) {
  std::map<std::string, std::optional<double>> peaks;
  if (const auto group = fields.maybe_group("peak_flops_per_second"))
    for (const auto& [key, value] : group->value().items()) peaks[key] = group->maybe_number(key.c_str());
  return peaks;
}

CpuInfo read_cpu(const JsonFields& f) {
  CpuInfo c;
  c.model = f.text("model");
  c.sockets = maybe_small_integer(f, "sockets");
  c.cores = maybe_small_integer(f, "cores");
  c.threads_available = small_integer(f, "threads_available");
  c.isa = f.texts("isa");
  if (const auto cache = f.maybe_group("cache_bytes")) {
    c.l1d_bytes = cache->maybe_integer("l1d");
    c.l2_bytes = cache->maybe_integer("l2");
    c.l3_bytes = cache->maybe_integer("l3");
  }
  c.memory_bytes = f.maybe_integer("memory_bytes");
  c.frequency_scaling = f.text("frequency_scaling");
  c.peak_flops_per_second = read_peaks(f);
  c.memory_bandwidth_bytes_per_second = f.maybe_number("memory_bandwidth_bytes_per_second");
  if (const auto group = f.maybe_group("peak_instruction"))
    for (const auto& [key, value] : group->value().items()) c.peak_instruction[key] = group->maybe_text(key.c_str());
  c.peak_threads = maybe_small_integer(f, "peak_threads");
  return c;
}

GpuInfo read_gpu(const JsonFields& f) {
  GpuInfo g;
  g.name = f.text("name");
  g.uuid = f.maybe_text("uuid").value_or("");
  g.compute_capability = f.maybe_text("compute_capability").value_or("");
  g.driver = f.maybe_text("driver").value_or("");
  g.cuda = f.maybe_text("cuda").value_or("");
  g.cublas = f.maybe_text("cublas").value_or("");
  g.cudnn = f.maybe_text("cudnn").value_or("");
  g.memory_bytes = f.integer("memory_bytes");
  g.peak_flops_per_second = read_peaks(f);
  g.memory_bandwidth_bytes_per_second = f.maybe_number("memory_bandwidth_bytes_per_second");
  g.host_to_device_bytes_per_second = f.maybe_number("host_to_device_bytes_per_second");
  g.pci_bus_id = f.maybe_text("pci_bus_id").value_or("");
  return g;
}

Workload read_workload(const JsonFields& f) {
  Workload w;
  w.model = f.text("model");
  w.mode = f.text("mode");
  w.parameters = f.integer("parameters");
  w.fingerprint = f.text("fingerprint");
  w.batch = f.integer("batch");
  w.dataset = f.text("dataset");
  w.samples_per_epoch = f.integer("samples_per_epoch");
  w.optimizer = f.text("optimizer");
  w.seed = f.unsigned_integer("seed");
  w.train_flops_per_sample = f.number("train_flops_per_sample");
  w.tokens_per_sample = f.maybe_integer("tokens_per_sample");
  w.forward_flops_per_sample = f.maybe_number("forward_flops_per_sample");
  if (const auto options = f.maybe_group("options"))
    for (const auto& [key, value] : options->value().items()) w.options[key] = options->integer(key.c_str());
  return w;
}

// Raw times of steps. A step that took no time, or one that is not known, was not measured.
std::vector<double> read_step_seconds(const JsonFields& fields) {
  std::vector<double> seconds = fields.numbers("step_seconds");
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (!(seconds[i] > 0)) throw FormatError(fields.path("step_seconds") + "[" + std::to_string(i) + "]: must be above 0");
  return seconds;
}

Timing read_timing(const JsonFields& f) {
  Timing t;
  t.warmup_steps = small_integer(f, "warmup_steps");
  t.step_seconds = read_step_seconds(f);
  t.step_seconds_median = f.number("step_seconds_median");
  if (f.find("step_seconds_ci95")) {
    const std::vector<double> interval = f.numbers("step_seconds_ci95");
    if (interval.size() != 2) throw FormatError(f.path("step_seconds_ci95") + ": must have two numbers");
    t.step_seconds_ci95 = {interval[0], interval[1]};
  }
  t.steps_total_seconds = f.number("steps_total_seconds");
  t.epoch_seconds = f.number("epoch_seconds");
  t.epoch_kind = f.text("epoch_kind");
  t.compile_seconds = f.number("compile_seconds");
  t.wall_seconds = f.number("wall_seconds");
  t.stopped_by = f.text("stopped_by");
  t.harness_seconds_per_step = f.maybe_number("harness_seconds_per_step");
  t.clock_disagreement = f.maybe_number("clock_disagreement");
  return t;
}

Latency read_latency(const JsonFields& f) {
  Latency l;
  l.samples = f.integer("samples");
  l.p50_seconds = f.maybe_number("p50_seconds");
  l.p90_seconds = f.maybe_number("p90_seconds");
  l.p99_seconds = f.maybe_number("p99_seconds");
  l.worst_seconds = f.number("worst_seconds");
  if (f.find("step_seconds")) l.step_seconds = read_step_seconds(f);
  return l;
}

std::vector<std::pair<std::int64_t, std::int64_t>> read_ranges(const JsonFields& fields, const char* key) {
  const auto wrong = [&] { return FormatError(fields.path(key) + ": must be an array of pairs of whole numbers"); };
  const Json& list = fields.at(key);
  if (!list.is_array()) throw wrong();
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Json& range : list) {
    if (!range.is_array() || range.size() != 2 || !range[0].is_number_integer() || !range[1].is_number_integer()) throw wrong();
    const std::string path = fields.path(key) + "[" + std::to_string(ranges.size()) + "]";
    ranges.emplace_back(whole_number(range[0], path), whole_number(range[1], path));
  }
  return ranges;
}

GpuState read_gpu_state(const JsonFields& f) {
  GpuState g;
  g.utilization = f.maybe_number("utilization");
  g.sm_clock_hertz = f.maybe_number("sm_clock_hertz");
  g.temperature_celsius = f.maybe_number("temperature_celsius");
  g.throttled_steps = f.maybe_integer("throttled_steps");
  g.skipped_steps = f.maybe_integer("skipped_steps");
  if (f.find("throttle_reasons")) g.throttle_reasons = f.texts("throttle_reasons");
  if (f.find("throttled_step_ranges")) g.throttled_step_ranges = read_ranges(f, "throttled_step_ranges");
  g.memory_used_bytes = f.maybe_integer("memory_used_bytes");
  g.reason = f.maybe_text("reason");
  return g;
}

Quality read_quality(const JsonFields& f) {
  Quality q;
  q.loss = f.numbers("loss");
  q.final_loss = f.maybe_number("final_loss");
  q.eval_metric = f.maybe_text("eval_metric");
  q.eval_value = f.maybe_number("eval_value");
  if (f.find("eval_history")) q.eval_history = f.numbers("eval_history");
  q.parity_with = f.maybe_text("parity_with");
  q.parity_max_relative_difference = f.maybe_number("parity_max_relative_difference");
  q.dropout_masks = f.maybe_text("dropout_masks");
  return q;
}

Energy read_energy(const JsonFields& f) {
  Energy e;
  e.source = f.text("source");
  e.joules_per_epoch = f.maybe_number("joules_per_epoch");
  if (const auto parts = f.maybe_group("parts")) {
    e.cpu_joules_per_epoch = parts->maybe_number("cpu");
    e.gpu_joules_per_epoch = parts->maybe_number("gpu");
  }
  e.average_watts = f.maybe_number("average_watts");
  e.idle_watts = f.maybe_number("idle_watts");
  if (const auto parts = f.maybe_group("average_watts_parts")) {
    e.cpu_average_watts = parts->maybe_number("cpu");
    e.gpu_average_watts = parts->maybe_number("gpu");
  }
  if (const auto parts = f.maybe_group("idle_watts_parts")) {
    e.cpu_idle_watts = parts->maybe_number("cpu");
    e.gpu_idle_watts = parts->maybe_number("gpu");
  }
  e.window_seconds = f.maybe_number("window_seconds");
  e.reason = f.maybe_text("reason");
  if (f.find("remarks")) e.remarks = f.texts("remarks");
  return e;
}

Cost read_cost(const JsonFields& f) {
  return {f.maybe_number("usd_per_hour"), f.maybe_number("usd_per_epoch"), f.maybe_number("usd_total"),
          f.maybe_text("price_source"), f.maybe_text("currency")};
}

Profile read_profile(const JsonFields& f) {
  Profile p;
  p.passes = maybe_small_integer(f, "passes");
  p.seconds = f.number("seconds");
  p.limit_seconds = f.maybe_number("limit_seconds");
  p.limit_fraction = f.maybe_number("limit_fraction");
  for (const JsonFields& c : f.groups("classes"))
    p.classes.push_back({c.text("op"), c.integer("nodes"), c.number("seconds"), c.number("share"),
                         c.maybe_number("flops_per_second"), c.maybe_number("bytes_per_second"),
                         c.maybe_number("limit_fraction"), c.maybe_number("flops"), c.maybe_number("bytes"),
                         c.maybe_number("limit_seconds")});
  for (const JsonFields& n : f.groups("nodes"))
    p.nodes.push_back({n.text("name"), n.text("op"), n.text("implementation"), n.number("seconds"), n.number("flops"),
                       n.number("bytes"), n.maybe_number("limit_seconds"), n.maybe_text("limit"),
                       n.maybe_number("limit_fraction")});
  return p;
}

Input read_input(const JsonFields& f) {
  return {small_integer(f, "loader_threads"), f.maybe_boolean("prefetch").value_or(true), f.number("decode_cost_seconds"),
          f.text("cache")};
}

Run read_run(const JsonFields& f) {
  Run r;
  r.name = f.text("name");
  r.repetition = small_integer(f, "repetition");
  r.status = read_status(f);
  r.message = f.maybe_text("message");
  r.workload = read_workload(f.group("workload"));
  const JsonFields device = f.group("device");
  r.device = {device.text("backend"),
              device.text("name"),
              maybe_small_integer(device, "threads"),
              device.maybe_text("isa"),
              device.maybe_boolean("pinned"),
              device.maybe_text("algorithms"),
              device.maybe_text("without")};
  r.precision = f.text("precision");
  if (const auto g = f.maybe_group("input")) r.input = read_input(*g);
  if (const auto g = f.maybe_group("timing")) r.timing = read_timing(*g);
  if (const auto g = f.maybe_group("throughput"))
    r.throughput = Throughput{g->number("samples_per_second"), g->maybe_number("tokens_per_second")};
  if (const auto g = f.maybe_group("latency")) r.latency = read_latency(*g);
  if (const auto g = f.maybe_group("efficiency"))
    r.efficiency = Efficiency{g->number("flops_per_second"), g->maybe_number("peak_fraction"),
                              g->maybe_number("data_wait_fraction"), g->maybe_number("gpu_busy_fraction")};
  if (const auto g = f.maybe_group("memory"))
    r.memory = Memory{g->maybe_integer("planned_bytes"), g->maybe_integer("peak_bytes"),
                      g->maybe_number("page_faults_per_step"), g->maybe_integer("huge_page_bytes")};
  if (const auto g = f.maybe_group("interference")) r.interference = Interference{g->maybe_number("foreign_cpu_cores")};
  if (const auto g = f.maybe_group("gpu")) r.gpu = read_gpu_state(*g);
  if (const auto g = f.maybe_group("quality")) r.quality = read_quality(*g);
  if (const auto g = f.maybe_group("energy")) r.energy = read_energy(*g);
  if (const auto g = f.maybe_group("cost")) r.cost = read_cost(*g);
  if (const auto g = f.maybe_group("profile")) r.profile = read_profile(*g);
  return r;
}

}  // namespace

RunStatus read_status(const JsonFields& fields) {
  const std::string text = fields.text("status");
  for (const RunStatus status : {RunStatus::ok, RunStatus::failed, RunStatus::skipped, RunStatus::out_of_memory,
                                 RunStatus::diverged, RunStatus::interrupted})
    if (text == name(status)) return status;
  throw FormatError(fields.path("status") + ": unknown status '" + text.substr(0, 40) + "'");
}

Context read_context(const JsonFields& f) {
  Context c;
  c.date = f.text("date");
  c.host_name = f.maybe_text("host_name");
  c.epochbench_version = f.text("epochbench_version");
  c.git_sha = f.maybe_text("git_sha");
  c.git_dirty = f.maybe_boolean("git_dirty");
  c.build_type = f.text("build_type");
  c.compiler = f.text("compiler");
  if (f.find("command_line")) c.command_line = f.texts("command_line");
  c.load_average = f.numbers("load_average");
  c.cpu = read_cpu(f.group("cpu"));
  for (const JsonFields& gpu : f.groups("gpus")) c.gpus.push_back(read_gpu(gpu));
  return c;
}

bool is_result(const Json& document) { return document.is_object() && document.contains("schema_version"); }

Result result_from_json(const Json& document, const std::string& source) {
  const JsonFields fields(document, source);
  if (fields.find("turns_version"))
    throw FormatError(source + ": a document of `compare --interleave`, which `report` and `compare --history` read, and no " +
                      "result; name a file that `epochbench run` wrote");
  if (!fields.find("schema_version"))
    throw FormatError(source + ": no schema_version, so not a result of epochbench; name a file that `epochbench run` wrote");
  const std::int64_t version = fields.integer("schema_version");
  if (version > kSchemaVersion)
    throw FormatError(source + ": schema version " + std::to_string(version) +
                      " is newer than this epochbench, which reads up to " + std::to_string(kSchemaVersion) +
                      "; update epochbench");
  try {
    if (version < 1) throw FormatError(fields.path("schema_version") + ": must be at least 1");
    Result result;
    result.context = read_context(fields.group("context"));
    for (const JsonFields& run : fields.groups("runs")) result.runs.push_back(read_run(run));
    if (const auto answers = fields.maybe_group("answers")) result.answers = read_sweep_answers(*answers);
    return result;
  } catch (const FormatError& error) {
    throw FormatError(std::string(error.what()) + "; results/schema.json says what belongs there");
  }
}

Result parse_result(std::string_view text, const std::string& source) {
  return result_from_json(parse_json(text, source), source);
}

Result read_result(const std::string& path) { return parse_result(read_text_file(path), path); }

}  // namespace epochbench
