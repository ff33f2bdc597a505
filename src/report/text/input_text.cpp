#include "src/report/text/input_text.h"

#include <cmath>
#include <vector>

#include "src/analysis/input/input_pipeline.h"
#include "src/base/table.h"
#include "src/base/units.h"

namespace epochbench {
namespace {

// Less than this of what the waits alone would leave of the throughput from memory: more than runs that follow each other
// differ by noise.
constexpr double kExplained = 0.95;

const char* state_text(InputState state) {
  switch (state) {
    case InputState::starved:
      return "starved";
    case InputState::partly:
      return "not well fed";
    case InputState::well:
      return "well fed";
  }
  return "";
}

double rate(const InputRow& row) {
  double logarithms = 0;
  for (const double value : row.samples_per_second) logarithms += std::log(value);
  return std::exp(logarithms / static_cast<double>(row.samples_per_second.size()));
}

std::string percent(const std::optional<double>& fraction) { return fraction ? format_percent(*fraction) : ""; }

std::string percent(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "";
  std::string text = format_percent(estimate.value);
  if (estimate.ci95) text += " (" + format_percent(estimate.ci95->first) + " to " + format_percent(estimate.ci95->second) + ")";
  return text;
}

std::string head(const InputGroup& group) {
  std::string text = "input: " + group.workload + " on " + group.dataset;
  if (group.threads) text += ", " + counted(static_cast<std::size_t>(*group.threads), "thread", "threads");
  if (group.decode_cost_seconds > 0) text += ", " + format_seconds(group.decode_cost_seconds) + " of decoding added per sample";
  return text + "\n";
}

std::string table_of(const InputGroup& group) {
  using Align = Table::Align;
  Table table({{"loader threads", Align::right},
               {"prefetch"},
               {"cache"},
               {"samples/s", Align::right},
               {"of decoded", Align::right},
               {"waits for data", Align::right},
               {group.on_gpu ? "GPU busy" : "utilization", Align::right},
               {"", Align::left}});
  for (const InputRow& row : group.rows)
    table.add({std::to_string(row.input.loader_threads), row.input.prefetch ? "yes" : "no", row.input.cache,
               significant(rate(row), 3), percent(row.of_decoded), percent(row.data_wait_fraction), percent(row.utilization),
               row.state ? state_text(*row.state) : ""});
  return table.to_string();
}

std::string short_name(const InputRow& row) {
  return counted(static_cast<std::size_t>(row.input.loader_threads), "loader thread", "loader threads") +
         (row.input.loader_threads > 0 && !row.input.prefetch ? " without prefetching" : "") +
         (row.input.cache == "decoded" ? ", decoded data" : "");
}

// Where loader threads slow the steps down by more than these wait.
std::string competition(const InputRow& row) {
  if (row.input.loader_threads == 0 || !row.utilization || !(row.of_decoded.value < kExplained * *row.utilization)) return "";
  return "  " + short_name(row) + ": trains at " + format_percent(row.of_decoded.value) +
         " of the rate from memory and waits " + percent(row.data_wait_fraction) +
         " of the time: decoding takes cores from the steps\n";
}

// From the row that waits most to the one that waits least.
std::string outcome(const InputGroup& group) {
  if (!group.best || !std::isfinite(group.gain.value)) return "";
  std::string text = "  from " + short_name(group.rows[*group.worst]) + " to " + short_name(group.rows[*group.best]) + ": " +
                     significant(group.gain.value, 3) + "x the samples/s";
  text += group.gain.ci95 ? ", 95 % interval " + significant(group.gain.ci95->first, 3) + " to " +
                                significant(group.gain.ci95->second, 3) + "\n"
                          : "\n  no interval: " + group.gain.reason + "\n";
  if (!group.on_gpu)
    for (const InputRow& row : group.rows) text += competition(row);
  return text;
}

std::string whole_percent(double fraction) { return std::to_string(std::lround(fraction * 100)) + " %"; }

}  // namespace

std::string input_text(const Result& result) {
  std::string text;
  bool on_cpu = false, on_gpu = false;
  for (const InputGroup& group : input_groups(result)) {
    text += head(group) + table_of(group) + outcome(group) + "\n";
    (group.on_gpu ? on_gpu : on_cpu) = true;
  }
  if (text.empty()) return text;
  text += "The articles' rule: a device that is used less than " + whole_percent(kStarvedBelow) +
          " of the time needs a faster input first; above " + whole_percent(kWellFedAbove) + " it is well supplied.\n";
  if (on_cpu)
    text +=
        "utilization: on a CPU the time in which steps do not wait for data. Loader threads that share cores with the steps\n"
        "slow these down without a wait; as threads of the same process they are not foreign load either. 'of decoded' shows "
        "it.\n";
  if (on_gpu) text += "GPU busy: the part of the time in which a step ran, by the device's own events.\n";
  return text;
}

}  // namespace epochbench
