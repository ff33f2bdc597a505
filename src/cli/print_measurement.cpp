// What `run` and `sweep` print once they have measured.
#include <set>

#include "src/analysis/cost/cost.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/anonymous.h"
#include "src/result/load.h"
#include "src/result/result_json.h"
#include "src/session/measuring.h"
#include "src/session/resume.h"
#include "src/worker/step_block.h"

namespace epochbench {
namespace {

// One line for people, filled; longer words, such as names of runs, are cut to the terminal.
std::string filled(const std::string& line) { return fitted(wrapped("", "  ", line)); }

// How many runs were disturbed by other processes, and which one most.
void add_interference(std::vector<std::string>& lines, const Result& result) {
  double most = 0;
  int count = 0, unknown = 0;
  const Run* disturbed = nullptr;
  for (const Run& run : result.runs) {
    const double cores = run.interference ? run.interference->foreign_cpu_cores.value_or(0) : 0;
    count += is_loaded(run);
    unknown += run.interference && !run.interference->foreign_cpu_cores;
    if (!is_loaded(run) || cores <= most) continue;
    most = cores;
    disturbed = &run;
  }
  if (disturbed)
    lines.push_back("interference: other processes took CPU time during " +
                    counted(static_cast<std::size_t>(count), "run", "runs") + ", " + significant(most, 2) + " cores during " +
                    disturbed->name + "; measure again on a quiet machine");
  if (unknown > 0)
    lines.push_back("interference: not known of " + counted(static_cast<std::size_t>(unknown), "run", "runs") +
                    ", too short (below " + significant(kTellingSeconds, 1) +
                    " s) for the kernel's count of other processes' CPU time");
}

// The clock that times a GPU's steps against the host's.
void add_clocks(std::vector<std::string>& lines, const Result& result) {
  constexpr double kNoticeable = 0.01;
  constexpr double kLaunchAndWait = 1e-3;  // seconds at most: they are within the host's window only
  for (const Run& run : result.runs)
    if (const double apart = run.timing ? run.timing->clock_disagreement.value_or(0) : 0;
        apart > kNoticeable && apart * run.timing->steps_total_seconds > kLaunchAndWait)
      lines.push_back("clocks: the steps of " + run.name +
                      " by the device's clock and the same window by the host's differ by " + format_percent(apart));
}

template <typename DeviceDescription>
std::string with_limits(std::string name, const DeviceDescription& device) {
  for (const auto& [precision, peak] : device.peak_flops_per_second)
    if (peak) name += ", " + precision + " peak " + format_si(*peak, "FLOP/s");
  if (device.memory_bandwidth_bytes_per_second)
    name += ", memory " + format_si(*device.memory_bandwidth_bytes_per_second, "B/s");
  return name;
}

std::string machine_text(const Context& context) {
  std::string text = with_limits(context.cpu.model, context.cpu) + "\n";
  for (const GpuInfo& gpu : context.gpus)
    if (gpu.memory_bandwidth_bytes_per_second) text += with_limits(gpu.name, gpu) + "\n";
  return text;
}

}  // namespace

void print_tables(const Measurement& measured, const std::string& tables, bool all_notes, std::FILE* out) {
  const Result& result = measured.result;
  std::fputs(fitted("\n" + machine_text(result.context) + "\n" + tables).c_str(), out);
  bool projected = false, priced = false;
  std::vector<std::string> lines;
  std::set<std::string> sources, timed;
  for (const Run& run : result.runs) {
    if (run.timing && run.timing->epoch_kind == EpochKind::projected && run.workload.dataset == "synthetic") projected = true;
    if (run.cost && run.cost->price_source) sources.insert(price_text(*run.cost));
    priced = priced || run.cost;
    if (run.throughput) timed.insert(name(run.device.backend == BackendKind::cuda ? DeviceKind::cuda : DeviceKind::cpu));
  }
  add_interference(lines, result);
  add_clocks(lines, result);
  if (projected)
    lines.emplace_back("projected: from the measured steps; of synthetic data, so reading and decoding are left out");
  for (std::string& line : split(remarks(result), '\n')) lines.push_back(std::move(line));
  for (const std::string& source : sources) lines.push_back("price: " + source);
  std::string prices;
  for (const std::string& device : timed) append(prices, device + "=USD_PER_HOUR", ",");
  if (!timed.empty() && !priced)
    lines.push_back("cost: no price is known for this machine; give --price " + prices + " (epochbench list prices)");
  std::vector<std::string> notes;
  for (const std::string& line : lines)
    if (!line.empty()) notes.push_back(filled(line));
  std::fputs(notes_below(notes, all_notes).c_str(), out);
  if (measured.written && out == stdout) std::fprintf(out, "result: %s\n", measured.path.c_str());
  std::fflush(out);
}

void print_result(const MeasuringRequest& request, const Measurement& measurement) {
  std::fputs(result_to_text(request.anonymous ? anonymous(measurement.result) : measurement.result).c_str(), stdout);
}

void print_resume_command(const MeasuringRequest& request, const Measurement& measurement) {
  if (!interrupted() || !measurement.written || measurement.path.empty() || request.quiet) return;
  std::fprintf(stderr, "to resume:\n  %s\n", resume_command(request.command_line, measurement.path).c_str());
}

}  // namespace epochbench
