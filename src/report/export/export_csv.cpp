// Comma-separated values, tidy: one row per run with every scalar of the result, or one row per step.
//
// Quoted according to RFC 4180, but lines end with a line feed only, as Unix tools expect. Columns are the keys of the result
// file, joined with '_', so they include units; they are the same for every result. A null is empty, an empty text is "".
// Arrays are left out, except intervals: *_low and *_high. Each setting of a case has a column, which is empty if the run has
// the default, and so has what the whole instance costs, empty unless a share of it counts. A text that a spreadsheet would run
// as a formula, such as a name in a foreign result, gets a ' in front (OWASP, "CSV Injection").
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/case/case_option.h"
#include "src/figures/figure.h"
#include "src/report/export/export_formats.h"
#include "src/result/price_source.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

const Json kNull = nullptr;

std::string quoted(const std::string& value) {
  const bool formula = !value.empty() && std::string_view("=+-@\t\r").find(value.front()) != std::string_view::npos;
  std::string text = formula ? "'" + value : value;
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  replace_all(text, "\"", "\"\"");
  return "\"" + text + "\"";
}

std::string cell_of(const Json& value) {
  if (value.is_string()) return quoted(value.get<std::string>());
  return value.is_primitive() && !value.is_null() ? value.dump() : "";
}

// Adds the unit that the keys of the energy parts lack.
std::string column_of(const std::string& path) {
  if (path == "energy_parts_cpu") return "energy_joules_per_epoch_cpu";
  return path == "energy_parts_gpu" ? "energy_joules_per_epoch_gpu" : path;
}

// Parts and model options are one text, as on the command line: "fusion+prefetch", "depth=3,width=64".
Json setting_cell(const SettingValue& value) {
  const Json json = std::visit([](const auto& held) { return json_of(held); }, value);
  return json.is_structured() ? Json(to_text(value)) : json;
}

// Calls `each(column, value)` for every scalar of a list of fields, null if a group is missing.
template <class Each>
class Columns {
 public:
  Columns(const Each& each, std::string prefix, bool known) : each_(each), prefix_(std::move(prefix)), known_(known) {}

  void operator()(const char* key, const auto& member, const Form& form = {}) {
    if (!form.omitted_if_empty) add(path(key), member, known_ && !form.hidden, form);
  }
  void operator()(const char* key, const Settings& settings, const Form& = {}) {
    for (const CaseOption& option : case_options()) {
      if (!option.setting_class) continue;
      const SettingValue* value = known_ ? find_value(settings, option.key) : nullptr;
      each_(path(key) + "_" + option.key, value ? setting_cell(*value) : kNull);
    }
  }
  void group(const char* key, const auto& list) {
    Columns part(each_, path(key), known_);
    list(part);
  }

 private:
  std::string path(const std::string& key) const { return prefix_.empty() ? key : prefix_ + "_" + key; }

  template <class T>
  void add(const std::string& path, const T& value, bool known, const Form& form = {}) {
    if constexpr (HasJsonConversion<T> || std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      each_(column_of(path), known ? json_of(value) : kNull);
    } else if constexpr (kIsA<T, std::map>) {
      for (const char* key : form.keys) {
        const auto* found = find_value(value, key);
        add(path + "_" + key, found ? *found : typename T::mapped_type{}, known && found);
      }
    } else if constexpr (kIsA<T, std::optional>) {
      static const typename T::value_type kNone{};
      if (known && !value && form.default_text)
        each_(column_of(path), form.default_text);
      else
        add(path, value ? *value : kNone, known && value);
    } else if constexpr (kIsA<T, std::pair>) {
      add(path + "_low", value.first, known);
      add(path + "_high", value.second, known);
    } else if constexpr (!kIsA<T, std::vector>) {
      Columns part(each_, path, known);
      fields(part, value);
    }
  }

  const Each& each_;
  std::string prefix_;
  bool known_;
};

// The columns of a row: those of the run, then those of the context.
template <class Each>
void for_each_column(const Run& run, const Context& context, const Each& each) {
  Columns of_run(each, "", true), of_context(each, "context", true);
  fields(of_run, run);
  // What the instance costs, where the run counts a share of it, which cannot be rented.
  const auto usd = member_of(run.cost, &Cost::usd_per_hour);
  const auto source = member_of(run.cost, &Cost::price_source);
  const auto whole = source ? whole_over_share(*source) : std::nullopt;
  each("cost_whole_usd_per_hour", usd && whole ? Json(*usd * *whole) : kNull);
  each("cost_whole_usd_per_epoch", json_of(kWholeEpochCost.value(run)));
  fields(of_context, context);
}

struct StepRow {
  const char* phase;  // warm-up | timed | latency
  std::size_t step;   // from 0: warm-up and timed steps together, latencies separately
  Json seconds, loss, throttled;
};

// For each timed step whether it ran while the GPU was throttled; null if not known.
std::vector<Json> throttled_steps(const Run& run) {
  const auto ranges = member_of(run.gpu, &GpuState::throttled_step_ranges);
  std::vector<Json> throttled(run.timing->step_seconds.size() + run.timing->stopped_steps.size(), ranges ? Json(false) : kNull);
  if (!ranges) return throttled;
  const auto count = static_cast<std::int64_t>(throttled.size());
  for (const auto& [first, last] : *ranges)
    for (std::int64_t step = std::max<std::int64_t>(first, 0); step <= std::min(last, count - 1); ++step)
      throttled[static_cast<std::size_t>(step)] = true;
  return throttled;
}

std::vector<StepRow> steps_of(const Run& run) {
  std::vector<StepRow> rows;
  if (run.status != RunStatus::ok) return rows;
  const std::vector<double> loss = member_of(run.quality, &Quality::loss).value_or(std::vector<double>());
  const auto loss_at = [&](std::size_t step) { return step < loss.size() ? Json(loss[step]) : kNull; };
  if (run.timing) {
    const auto warmup = static_cast<std::size_t>(std::max(0, run.timing->warmup_steps));
    for (std::size_t step = 0; step < std::min(warmup, loss.size()); ++step)
      rows.push_back({"warm-up", step, kNull, loss_at(step), kNull});
    const std::vector<Json> throttled = throttled_steps(run);
    const std::vector<std::int64_t>& stopped = run.timing->stopped_steps;
    auto seconds = run.timing->step_seconds.begin();
    for (std::size_t i = 0; i < throttled.size() && seconds != run.timing->step_seconds.end(); ++i)
      rows.push_back({"timed", warmup + i, contains(stopped, static_cast<std::int64_t>(i)) ? kNull : Json(*seconds++),
                      loss_at(warmup + i), throttled[i]});
  }
  if (run.latency)
    for (std::size_t i = 0; i < run.latency->step_seconds.size(); ++i)
      rows.push_back({"latency", i, run.latency->step_seconds[i], kNull, kNull});
  return rows;
}

// NaN stands for a null in the file.
std::string number_cell(const Json& value) {
  return value.is_number_float() && !std::isfinite(value.get<double>()) ? "" : cell_of(value);
}

}  // namespace

std::string csv_text(const Result& result) {
  std::string text;
  for_each_column(Run{}, Context{}, [&](const std::string& column, const Json&) { text += column + ","; });
  text.back() = '\n';
  for (const Run& run : result.runs) {
    for_each_column(run, result.context, [&](const std::string&, const Json& value) { text += cell_of(value) + ","; });
    text.back() = '\n';
  }
  return text;
}

std::string csv_raw_text(const Result& result) {
  std::string text = "date,name,repetition,model,mode,backend,device,precision,batch,phase,step,step_seconds,loss,throttled\n";
  for (const Run& run : result.runs) {
    const Workload& workload = run.workload;
    const std::string head = quoted(result.context.date) + "," + quoted(run.name) + "," + std::to_string(run.repetition) + "," +
                             quoted(workload.model) + "," + name(workload.mode) + "," + name(run.device.backend) + "," +
                             quoted(run.device.name) + "," + name(run.precision) + "," + std::to_string(workload.batch) + ",";
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
