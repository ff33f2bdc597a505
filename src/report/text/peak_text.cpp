// Measured peaks, and why a share of one is not shown as it was counted.
#include <algorithm>

#include "src/analysis/peak_share.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// Bursts of one process differed by at most 2.8 % on one shared machine (30 groups of turns in
// results/amd-epyc-family-26-model-2-stepping-1-2cores-check.json), and by 9 to 37 % in eight of ten groups on another
// (results/intel-xeon-family-6-model-207-stepping-2-2cores-check.json).
constexpr double kSteadyBursts = 0.05;

std::vector<double> bursts_of(const CpuInfo& cpu, Precision precision) {
  const auto* bursts = find_value(cpu.peak_bursts_flops_per_second, name(precision));
  return bursts ? *bursts : std::vector<double>();
}

// How far the slowest burst was below the fastest, relative to that; 0 if they are not known.
double spread_of(const std::vector<double>& bursts) {
  if (bursts.empty()) return 0;
  const auto [min, max] = std::ranges::minmax(bursts);
  return max > 0 ? 1 - min / max : 0;
}

// All threads take part in a burst, so what others take of one of many lowers the peak by less than the bursts differ anyway.
bool others_interfered(const CpuInfo& cpu) {
  return is_loaded(cpu.peak_foreign_cpu_cores) &&
         *cpu.peak_foreign_cpu_cores >= kSteadyBursts * static_cast<double>(cpu.peak_threads.value_or(1));
}

// " (173 to 194 in 5 bursts)"; "" if they are not known.
std::string bursts_text(const std::vector<double>& bursts) {
  if (bursts.empty()) return "";
  const auto [min, max] = std::ranges::minmax(bursts);
  std::string low = format_si(min, "FLOP/s"), high = format_si(max, "FLOP/s");
  if (const std::string unit = high.substr(high.rfind(' ')); low.ends_with(unit)) {
    low.resize(low.size() - unit.size());
    high.resize(high.size() - unit.size());
  }
  return " (" + low + " to " + high + " in " + std::to_string(bursts.size()) + " bursts)";
}

// The run whose share is the greatest of those above 1, with or without an algorithm that multiplies less; null if none is.
const Run* furthest_above_peak(const std::vector<const Run*>& runs, bool with_algorithm) {
  const Run* furthest = nullptr;
  for (const Run* run : runs)
    if (exceeds_peak(*run) && run->device.algorithms.has_value() == with_algorithm &&
        (!furthest || *run->efficiency->peak_fraction > *furthest->efficiency->peak_fraction))
      furthest = run;
  return furthest;
}

std::string capped_text(const std::string& why, const Run& run) {
  return why + ", so 100 % is the most that is shown (" + format_percent(*run.efficiency->peak_fraction) + " was counted in " +
         run.name + ")";
}

}  // namespace

std::vector<std::string> capped_shares(const std::vector<const Run*>& runs) {
  std::vector<std::string> sentences;
  if (const Run* run = furthest_above_peak(runs, true))
    sentences.push_back(capped_text("Winograd multiplies less than is counted", *run));
  if (const Run* run = furthest_above_peak(runs, false))
    sentences.push_back(capped_text("steps were faster than the bursts that measured the peak", *run));
  return sentences;
}

std::vector<std::string> capped_shares(const std::vector<Run>& runs) {
  std::vector<const Run*> list;
  for (const Run& run : runs) list.push_back(&run);
  return capped_shares(list);
}

std::string cpu_peak_text(const CpuInfo& cpu, Precision precision) {
  const auto peak = peak_in(cpu.peak_flops_per_second, precision);
  if (!peak) return "not known";
  const std::vector<double> bursts = bursts_of(cpu, precision);
  const auto* instruction = find_value(cpu.peak_instruction, name(precision));
  return format_si(*peak, "FLOP/s") + load_mark(spread_of(bursts) > kSteadyBursts || others_interfered(cpu)) +
         bursts_text(bursts) + ", measured" + (instruction && *instruction ? " with " + **instruction : "") +
         (cpu.peak_threads ? ", threads: " + std::to_string(*cpu.peak_threads) : "");
}

std::string cpu_peak_doubts(const CpuInfo& cpu) {
  std::string spreads;
  for (const auto& [precision, bursts] : cpu.peak_bursts_flops_per_second)
    if (const double spread = spread_of(bursts); spread > kSteadyBursts)
      append(spreads, format_percent(spread) + " in " + precision);
  std::string reasons = spreads.empty() ? "" : "bursts differ by " + spreads;
  if (others_interfered(cpu))
    append(reasons, "other processes took " + significant(*cpu.peak_foreign_cpu_cores, 2) + " CPU cores meanwhile", "; ");
  if (reasons.empty()) return "";
  return std::string(kLoadMark).substr(1) + ": " + reasons +
         "; the peak may be higher: measure again on a quiet machine (epochbench system)";
}

}  // namespace epochbench
