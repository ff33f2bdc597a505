// Comma-separated values, tidy: one row a run with every scalar of the result, or one row a step.
//
// Quoted as RFC 4180 says; lines end with a line feed alone, as tools of this system expect. Columns are the result file's
// keys, joined with '_', so units stand in them; they are the same for every result. What is null is empty, an empty text is
// "". Arrays are left to the result file, but for intervals: *_low and *_high. A text that a spreadsheet would run as a
// formula, as a name out of a foreign result may be, has a ' before it (OWASP, "CSV Injection").
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "src/report/export/export_formats.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

const Json kNull = nullptr;

std::string quoted(const std::string& value) {
  const bool formula = !value.empty() && std::string_view("=+-@\t\r").find(value.front()) != std::string_view::npos;
  const std::string text = formula ? "'" + value : value;
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

std::string cell_of(const Json& value) {
  if (value.is_string()) return quoted(value.get<std::string>());
  return value.is_primitive() && !value.is_null() ? value.dump() : "";
}

// A key whose unit stands in the key above it.
std::string column_of(const std::string& path) {
  constexpr std::array<std::pair<const char*, const char*>, 2> kUnits{
      {{"energy_parts_cpu", "energy_joules_per_epoch_cpu"}, {"energy_parts_gpu", "energy_joules_per_epoch_gpu"}}};
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& unit) { return path == unit.first; });
  return found == kUnits.end() ? path : found->second;
}

// A run and a context of which every group is there, so that their JSON has every key. Arrays are empty and so have no column;
// the interval has its two numbers.
Run every_group() {
  Run run;
  run.input.emplace();
  run.timing.emplace().step_seconds_ci95 = {0, 0};
  run.throughput.emplace();
  run.latency.emplace();
  run.efficiency.emplace();
  run.memory.emplace();
  run.interference.emplace();
  run.gpu.emplace().throttled_step_ranges.emplace();
  run.quality.emplace();
  run.energy.emplace();
  run.cost.emplace();
  run.profile.emplace();
  return run;
}

Context every_key() {
  Context context;
  context.command_line.emplace();
  return context;
}

// Calls `each(column, value)` for every scalar that `shape` has, with the value that `actual` has there, or null.
template <typename Each>
void for_each_scalar(const Json& shape, const Json& actual, const std::string& path, const Each& each) {
  const auto join = [&](const std::string& key) { return path.empty() ? key : path + "_" + key; };
  if (shape.is_array()) {
    const bool interval = shape.size() == 2, there = actual.is_array() && actual.size() == 2;
    if (!interval) return;
    each(join("low"), there ? actual[0] : kNull);
    each(join("high"), there ? actual[1] : kNull);
  } else if (shape.is_object()) {
    for (const auto& [key, member] : shape.items()) {
      const auto found = actual.is_object() ? actual.find(key) : actual.end();
      for_each_scalar(member, found == actual.end() ? kNull : *found, join(key), each);
    }
  } else {
    each(column_of(path), actual);
  }
}

void add(std::string& row, const std::string& cell) { row += (row.empty() ? "" : ",") + cell; }

struct StepRow {
  const char* phase;  // warm-up | timed | latency
  std::size_t step;   // from 0: warm-up and timed steps together, latencies on their own
  Json seconds, loss, throttled;
};

// For each timed step whether it ran while the GPU was throttled; null where that is not known.
std::vector<Json> throttled_steps(const Run& run) {
  std::vector<Json> throttled(run.timing->step_seconds.size(), kNull);
  if (!run.gpu || !run.gpu->throttled_step_ranges) return throttled;
  std::fill(throttled.begin(), throttled.end(), Json(false));
  const auto count = static_cast<std::int64_t>(throttled.size());
  for (const auto& [first, last] : *run.gpu->throttled_step_ranges)
    for (std::int64_t step = std::max<std::int64_t>(first, 0); step <= std::min(last, count - 1); ++step)
      throttled[static_cast<std::size_t>(step)] = true;
  return throttled;
}

std::vector<StepRow> steps_of(const Run& run) {
  std::vector<StepRow> rows;
  if (run.status != RunStatus::ok) return rows;
  const std::vector<double> none;
  const std::vector<double>& loss = run.quality ? run.quality->loss : none;
  const auto loss_at = [&](std::size_t step) { return step < loss.size() ? Json(loss[step]) : kNull; };
  if (run.timing) {
    const auto warmup = static_cast<std::size_t>(std::max(0, run.timing->warmup_steps));
    for (std::size_t step = 0; step < std::min(warmup, loss.size()); ++step)
      rows.push_back({"warm-up", step, kNull, loss_at(step), kNull});
    const std::vector<Json> throttled = throttled_steps(run);
    for (std::size_t i = 0; i < throttled.size(); ++i)
      rows.push_back({"timed", warmup + i, run.timing->step_seconds[i], loss_at(warmup + i), throttled[i]});
  }
  if (run.latency)
    for (std::size_t i = 0; i < run.latency->step_seconds.size(); ++i)
      rows.push_back({"latency", i, run.latency->step_seconds[i], kNull, kNull});
  return rows;
}

// NaN stands for a null of the file.
std::string number_cell(const Json& value) {
  return value.is_number_float() && !std::isfinite(value.get<double>()) ? "" : cell_of(value);
}

}  // namespace

std::string csv_text(const Result& result) {
  const Json run_shape = run_to_json(every_group()), context_shape = context_to_json(every_key());
  std::string text, row;
  const auto add_name = [&](const std::string& column, const Json&) { add(row, column); };
  for_each_scalar(run_shape, kNull, "", add_name);
  for_each_scalar(context_shape, kNull, "context", add_name);
  text += row + "\n";
  const Json context = context_to_json(result.context);
  for (const Run& run : result.runs) {
    std::vector<std::string> cells;
    const auto add_cell = [&](const std::string&, const Json& value) { cells.push_back(cell_of(value)); };
    for_each_scalar(run_shape, run_to_json(run), "", add_cell);
    for_each_scalar(context_shape, context, "context", add_cell);
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i ? "," : "") + cells[i];
    text += "\n";
  }
  return text;
}

std::string csv_raw_text(const Result& result) {
  std::string text = "date,name,repetition,model,mode,backend,device,precision,batch,phase,step,step_seconds,loss,throttled\n";
  for (const Run& run : result.runs) {
    const Workload& workload = run.workload;
    const std::string head = quoted(result.context.date) + "," + quoted(run.name) + "," + std::to_string(run.repetition) + "," +
                             quoted(workload.model) + "," + quoted(workload.mode) + "," + quoted(run.device.backend) + "," +
                             quoted(run.device.name) + "," + quoted(run.precision) + "," + std::to_string(workload.batch) + ",";
    for (const StepRow& row : steps_of(run))
      text += head + row.phase + "," + std::to_string(row.step) + "," + number_cell(row.seconds) + "," + number_cell(row.loss) +
              "," + cell_of(row.throttled) + "\n";
  }
  return text;
}

std::string csv_raw_left_out(const Run& run) {
  if (run.status != RunStatus::ok) return name(run.status);
  return steps_of(run).empty() ? "ok, but its steps are not in the file" : "";
}

}  // namespace epochbench
