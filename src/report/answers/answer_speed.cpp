// How fast, how busy, and what a narrower precision brings.
#include <algorithm>
#include <cmath>
#include <set>

#include "src/analysis/precision_quality.h"
#include "src/base/units.h"
#include "src/report/answers/answer_parts.h"

namespace epochbench {
namespace {

std::string notes_text(const SpeedupPair& pair) {
  if (pair.warnings.empty()) return "";
  std::set<std::string> codes;
  for (const Warning& warning : pair.warnings) codes.insert(name(warning.code));
  std::string text;
  for (const std::string& code : codes) text += (text.empty() ? "" : ", ") + code;
  return "; caution: " + text;
}

bool any_on_gpu(const std::vector<Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Run& run) { return usable(run) && on_gpu(run); });
}

// Why nothing ran on a GPU, as far as the result shows.
std::string no_gpu_text(const std::vector<Run>& runs) {
  for (const Run& run : runs)
    if (on_gpu(run) && run.message) return "no run on a GPU: " + *run.message;
  return "no run on a GPU was requested";
}

std::string epoch_text(const Repeated& work) {
  const Run& run = work.median();
  return work.name + ": " + significant(run.throughput->samples_per_second, 3) + " samples/s, an epoch in " +
         format_seconds(run.timing->epoch_seconds) + " (" + run.timing->epoch_kind + repetitions_text(work.runs.size()) + ")";
}

using EnergyFigure = std::optional<double> Energy::*;

std::optional<double> energy_over(const Repeated& work, EnergyFigure figure) {
  return median_over(work, [figure](const Run& run) { return run.energy ? (*run.energy).*figure : std::nullopt; });
}

std::string source_of(const Repeated& work) {
  for (const Run* run : work.runs)
    if (run->energy && run->energy->source != "unavailable") return run->energy->source;
  return "unknown source";
}

// ", 900 W (CPU 200 W, GPU 700 W; rapl+nvml), 9.80 kJ per epoch"; of a card whose host has no meter ", GPU alone 700 W (nvml),
// 7.60 kJ per epoch". "" where no part is known.
std::string power_text(const Repeated& work) {
  const auto watts = energy_over(work, &Energy::average_watts), cpu = energy_over(work, &Energy::cpu_average_watts),
             gpu = energy_over(work, &Energy::gpu_average_watts);
  const auto text = [&](const std::string& whose, double value, const std::string& parts, EnergyFigure joules) {
    const auto epoch = energy_over(work, joules);
    return ", " + whose + significant(value, 3) + " W (" + parts + source_of(work) + ")" +
           (epoch ? ", " + format_si(*epoch, "J") + " per epoch" : std::string());
  };
  if (watts) {
    const std::string parts =
        cpu && gpu ? "CPU " + significant(*cpu, 3) + " W, GPU " + significant(*gpu, 3) + " W; " : std::string();
    return text("", *watts, parts, &Energy::joules_per_epoch);
  }
  if (gpu) return text("GPU alone ", *gpu, "", &Energy::gpu_joules_per_epoch);
  return cpu ? text("CPU alone ", *cpu, "", &Energy::cpu_joules_per_epoch) : "";
}

// Why a part of the power is not known, each reason once, with how many runs it is of.
std::vector<std::string> power_gaps(const std::vector<Repeated>& works) {
  std::vector<std::pair<std::string, int>> gaps;
  for (const Repeated& work : works)
    for (const Run* run : work.runs) {
      if (run->energy && run->energy->average_watts) continue;
      const std::string reason = run->energy && run->energy->reason
                                     ? *run->energy->reason
                                     : "no meter could be read (epochbench info says which, and why)";
      auto known = std::find_if(gaps.begin(), gaps.end(), [&](const auto& gap) { return gap.first == reason; });
      if (known == gaps.end()) known = gaps.insert(gaps.end(), {reason, 0});
      ++known->second;
    }
  std::vector<std::string> lines;
  for (const auto& [reason, runs] : gaps)
    lines.push_back("power not known of " + std::to_string(runs) + (runs == 1 ? " run: " : " runs: ") + reason);
  return lines;
}

std::string difference_text(const QualityDifference& difference) {
  const bool accuracy = difference.metric == "accuracy";
  const auto number = [&](double value) {
    const double shown = accuracy ? value * 100 : value;
    return (shown < 0 ? "" : "+") + significant(shown, 2);
  };
  const Estimate& estimate = difference.difference;
  return difference.workload + ", " + difference.precision + " less fp32: " + difference.metric + " " + number(estimate.value) +
         (accuracy ? " points" : "") +
         (estimate.ci95 ? " (" + number(estimate.ci95->first) + " to " + number(estimate.ci95->second) + ")"
                        : " (no interval: " + estimate.reason + ")") +
         ", " + std::to_string(difference.seeds) + " seeds, " + std::to_string(difference.epochs) + " epochs";
}

// 16 bits over a wider precision of one device.
std::vector<std::string> narrow_over(const Speedup& speedup, const std::string& baseline) {
  std::vector<std::string> lines;
  for (const SpeedupPair& pair : speedup.pairs) {
    if (has_handicap(pair)) continue;
    const bool narrow = pair.contender.precision == "bf16" || pair.contender.precision == "fp16";
    if (narrow && pair.contender.on_gpu == pair.baseline.on_gpu && pair.baseline.precision == baseline &&
        pair.contender.workload.dataset == "synthetic")
      lines.push_back(workload_text(pair.contender.workload) + ", " + side_text(pair.contender) + " over " + baseline + ": " +
                      ratio_text(pair.ratio));
  }
  return lines;
}

}  // namespace

AnswerSection speed_section(const std::vector<Run>& runs, const Speedup& speedup) {
  AnswerSection section{"How much faster is the GPU, at the same batch?", {}, ""};
  for (const SpeedupPair* pair : gpu_over_cpu(speedup))
    section.answers.push_back(workload_text(pair->contender.workload) + ", " + side_text(pair->contender) + " over " +
                              side_text(pair->baseline) + ": " + ratio_text(pair->ratio) + notes_text(*pair));
  section.read =
      "times as many samples per second, in brackets the 95 % interval over processes; all pairs: epochbench speedup RESULT";
  if (!section.answers.empty()) return section;
  section.answers.push_back(any_on_gpu(runs) ? "no run on a GPU has a partner on the CPU (epochbench speedup says why)"
                                             : no_gpu_text(runs));
  for (const Repeated& work : compared_workloads(runs)) section.answers.push_back(epoch_text(work));
  section.read = "this is the CPU's half of the answer; a GPU would show how many times as fast these steps can be";
  return section;
}

AnswerSection utilization_section(const std::vector<Run>& runs) {
  AnswerSection section{"How busy was each device, and what did it draw?", {}, ""};
  const std::vector<Repeated> works = compared_workloads(runs);
  for (const Repeated& work : works) {
    const auto peak =
        median_over(work, [](const Run& run) { return run.efficiency ? run.efficiency->peak_fraction : std::nullopt; });
    const auto busy =
        median_over(work, [](const Run& run) { return run.efficiency ? run.efficiency->gpu_busy_fraction : std::nullopt; });
    section.answers.push_back(work.name + ":" +
                              (peak ? " " + format_percent(*peak) + " of the measured peak" : " peak not known") +
                              (busy ? ", busy " + format_percent(*busy) + " of the time" : "") + power_text(work));
  }
  for (std::string& gap : power_gaps(works)) section.answers.push_back(std::move(gap));
  if (section.answers.empty()) section.answers.emplace_back("no run on synthetic data succeeded");
  section.read =
      "of peak: multiply-adds done over what this device reached in that precision just before; above 60 % is strong";
  return section;
}

AnswerSection precision_section(const std::vector<Run>& runs, const Speedup& speedup) {
  AnswerSection section{"What does mixed precision bring, and does the model learn as well?", narrow_over(speedup, "fp32"), ""};
  if (section.answers.empty())
    section.answers.emplace_back("no answer on speed: nothing ran in 16 bits and in fp32 on one device");
  const std::vector<QualityDifference> differences = precision_quality(runs);
  for (const QualityDifference& difference : differences) section.answers.push_back(difference_text(difference));
  if (differences.empty())
    section.answers.emplace_back("no answer on quality: nothing was trained in two precisions with the same seed");
  for (std::string& line : narrow_over(speedup, "tf32")) section.answers.push_back(std::move(line));
  section.read =
      "quality: on real data, paired by seed; an interval that contains 0 shows no difference on these sets, and nothing more";
  return section;
}

}  // namespace epochbench
