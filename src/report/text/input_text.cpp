// How well the input fed the runs of a result.
#include <cmath>

#include "src/analysis/input/decoding.h"
#include "src/analysis/input/input_pipeline.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

// A throughput below this fraction of what waits alone would leave of that from memory is not explained by waits: the gap
// exceeds the noise between consecutive runs.
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

std::string percent_cell(const std::optional<double>& fraction) { return cell(fraction, format_percent); }

std::string percent_cell(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "";
  return format_percent(estimate.value) + (estimate.ci95 ? " (" + range_text(*estimate.ci95, format_percent) + ")" : "");
}

std::string head(const InputGroup& group) {
  std::string text = "input: " + group.workload + " on " + group.dataset;
  if (group.threads) text += ", " + counted(static_cast<std::size_t>(*group.threads), "thread", "threads");
  if (group.decode_cost_seconds > 0) text += ", " + format_seconds(group.decode_cost_seconds) + " of decoding added per sample";
  return text + "\n";
}

std::string table_of(const InputGroup& group) {
  View table{"", columns(std::string(">loader threads|prefetch|cache|>samples/s|->of decoded|>waits for data|") +
                         (group.on_gpu ? "-->GPU busy" : "-->utilization") + "|-")};
  for (const InputRow& row : group.rows)
    table.rows.push_back({std::to_string(row.input.loader_threads) + load_mark(row.loaded), row.input.prefetch ? "yes" : "no",
                          name(row.input.cache) + std::string(row.cold ? ", cold" : ""),
                          three_digits(geometric_mean(row.rates)), percent_cell(row.of_decoded),
                          percent_cell(row.data_wait_fraction), percent_cell(row.utilization),
                          row.state ? state_text(*row.state) : ""});
  return terminal_table(table);
}

std::string short_name(const InputRow& row) {
  return counted(static_cast<std::size_t>(row.input.loader_threads), "loader thread", "loader threads") +
         (row.input.loader_threads > 0 && !row.input.prefetch ? " without prefetching" : "") +
         (row.input.cache == Cache::decoded ? ", decoded data" : "");
}

// Cases where loader threads slow the steps down by more than the waits.
std::string competition(const InputRow& row) {
  if (row.input.loader_threads == 0 || !row.utilization || !(row.of_decoded.value < kExplained * *row.utilization)) return "";
  return "  " + short_name(row) + ": trains at " + format_percent(row.of_decoded.value) +
         " of the rate from memory and waits " + percent_cell(row.data_wait_fraction) +
         " of the time: decoding takes cores from the steps\n";
}

// From the row that waits most to the one that waits least.
std::string outcome(const InputGroup& group) {
  if (!group.best || !std::isfinite(group.gain.value)) return "";
  std::string text = "  from " + short_name(group.rows[*group.worst]) + " to " + short_name(group.rows[*group.best]) + ": " +
                     three_digits(group.gain.value) + "x the samples/s";
  text += group.gain.ci95 ? ", 95 % interval " + range_text(*group.gain.ci95) + "\n"
                          : "\n  no interval: " + group.gain.reason + "\n";
  if (!group.on_gpu)
    for (const InputRow& row : group.rows) text += competition(row);
  return text;
}

// "14.2 cores", and below one "0.31 of a core".
std::string cores_text(double cores) { return three_digits(cores) + (cores < 1 ? " of a core" : " cores"); }

// " of 224x224 pixels"; "" where no image files are decoded.
std::string size_text(const Decoding& decoding) {
  const std::optional<ImageFiles>& files = decoding.input.files;
  return files ? " of " + std::to_string(files->height) + "x" + std::to_string(files->width) + " pixels" : "";
}

std::string whole_percent(double fraction) { return std::to_string(std::lround(fraction * 100)) + " %"; }

}  // namespace

std::string input_text(const Result& result) {
  std::string text;
  bool on_cpu = false, on_gpu = false, compares = false;
  for (const InputGroup& group : input_groups(result)) {
    text += head(group) + table_of(group) + outcome(group) + "\n";
    (group.on_gpu ? on_gpu : on_cpu) = true;
    compares = compares || group.decoded;
  }
  if (text.empty()) return text;
  text += "The articles' rule: a device that is used less than " + whole_percent(kStarvedBelow) +
          " of the time needs a faster input first; above " + whole_percent(kWellFedAbove) + " it is well supplied.\n";
  if (on_cpu)
    text +=
        "utilization: on a CPU the time in which steps do not wait for data. Loader threads that share cores with the steps "
        "slow these down without a wait; as threads of the same process they are not foreign load either." +
        std::string(compares ? " 'of decoded' shows it.\n" : "\n");
  if (on_gpu) text += "GPU busy: the part of the time in which a step ran, by the device's own events.\n";
  return text;
}

std::string decoding_text(const Result& result, std::optional<double> feed) {
  std::string text;
  const std::vector<Decoding> decodings = decoding_of(result);
  for (const Decoding& decoding : decodings) {
    std::string line = "decoding: " + decoding.name + ": " + format_rate(1 / decoding.wall_seconds) + " samples/s per thread" +
                       size_text(decoding) + ", " + format_seconds(decoding.cpu_seconds) + " of a core each";
    if (decoding.hidden) line += ", " + format_percent(*decoding.hidden) + " of it hidden behind the steps";
    text += wrapped("", "  ", line);
  }
  for (const Decoding* decoding : most_costly(decodings)) {
    std::string needs;
    const auto add = [&](const std::string& device, double rate) {
      append(needs, device + " at " + format_rate(rate) + " samples/s needs " + cores_text(cores_needed(*decoding, rate)),
             "; ");
    };
    if (decoding->device_rate) add("this device", *decoding->device_rate);
    if (feed) add("one", *feed);
    if (!needs.empty())
      text += wrapped("", "  ", "cores: " + decoding->model + "'s input" + size_text(*decoding) + ": " + needs);
  }
  return text;
}

}  // namespace epochbench
