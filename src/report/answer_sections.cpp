// The sections of the page of answers: which runs each speaks of, and in which words.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/analysis/cost.h"
#include "src/analysis/curves.h"
#include "src/analysis/feeding.h"
#include "src/analysis/precision_quality.h"
#include "src/analysis/speedup.h"
#include "src/report/answers_page.h"
#include "src/report/summary.h"
#include "src/report/units.h"

namespace epochbench {
namespace {

constexpr std::size_t kFewestCurvePoints = 3;  // fewer batches show no curve

std::string times(double ratio) { return significant(ratio, 3) + "x"; }

// "12.3x (11.9 to 12.8)", "12.3x (no interval: ...)".
std::string ratio_text(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "not known (" + estimate.reason + ")";
  if (!estimate.ci95) return times(estimate.value) + " (no interval: " + estimate.reason + ")";
  return times(estimate.value) + " (" + significant(estimate.ci95->first, 3) + " to " + significant(estimate.ci95->second, 3) +
         ")";
}

std::string workload_text(const Workload& workload) { return workload.model + " b" + std::to_string(workload.batch); }

std::string side_text(const SpeedupSide& side) { return side.device.backend + " " + side.precision; }

std::string notes_text(const SpeedupPair& pair) {
  if (pair.warnings.empty()) return "";
  std::set<std::string> codes;
  for (const Warning& warning : pair.warnings) codes.insert(name(warning.code));
  std::string text;
  for (const std::string& code : codes) text += (text.empty() ? "" : ", ") + code;
  return "; mind: " + text;
}

bool usable(const Run& run) { return run.status == RunStatus::ok && run.timing && run.throughput; }
bool on_gpu(const Run& run) { return run.device.backend == "cuda"; }

bool any_on_gpu(const std::vector<Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Run& run) { return usable(run) && on_gpu(run); });
}

// Why nothing ran on a GPU, as far as the result tells.
std::string no_gpu_text(const std::vector<Run>& runs) {
  for (const Run& run : runs)
    if (on_gpu(run) && run.message) return "no run on a GPU: " + *run.message;
  return "no run on a GPU was asked for";
}

std::optional<double> mean_over(const std::vector<const Run*>& runs,
                                const std::function<std::optional<double>(const Run&)>& of) {
  double sum = 0;
  int count = 0;
  for (const Run* run : runs) {
    const std::optional<double> value = of(*run);
    if (!value || !std::isfinite(*value)) continue;
    sum += *value;
    ++count;
  }
  return count ? std::optional(sum / count) : std::nullopt;
}

struct Repeated {
  std::string name;
  std::vector<const Run*> runs;  // its repetitions; at least one
};

std::vector<Repeated> repeated(const std::vector<Run>& runs, const std::function<bool(const Run&)>& wanted) {
  std::vector<Repeated> list;
  for (const Run& run : runs) {
    if (!usable(run) || !wanted(run)) continue;
    auto known = std::find_if(list.begin(), list.end(), [&](const Repeated& other) { return other.name == run.name; });
    if (known == list.end()) known = list.insert(list.end(), {run.name, {}});
    known->runs.push_back(&run);
  }
  return list;
}

// The workloads that ran in more than one precision or on more than one device are those that the speed is asked of; where
// there are none, all that trained on synthetic data.
std::vector<Repeated> compared_workloads(const std::vector<Run>& runs) {
  std::map<std::string, std::set<std::string>> sides;
  for (const Run& run : runs)
    if (usable(run) && run.workload.dataset == "synthetic")
      sides[run.workload.fingerprint].insert(run.device.backend + run.precision);
  const auto compared = [&](const Run& run) {
    const auto found = sides.find(run.workload.fingerprint);
    return run.workload.dataset == "synthetic" && found != sides.end() && found->second.size() > 1;
  };
  std::vector<Repeated> list = repeated(runs, compared);
  return list.empty() ? repeated(runs, [](const Run& run) { return run.workload.dataset == "synthetic"; }) : list;
}

std::string epoch_text(const Repeated& work) {
  const Run& first = *work.runs.front();
  const auto rate = mean_over(work.runs, [](const Run& run) { return std::optional(run.throughput->samples_per_second); });
  const auto epoch = mean_over(work.runs, [](const Run& run) { return std::optional(run.timing->epoch_seconds); });
  return work.name + ": " + significant(rate.value_or(NAN), 3) + " samples/s, an epoch in " +
         format_seconds(epoch.value_or(NAN)) + " (" + first.timing->epoch_kind + ")";
}

// Of each workload the pair in fp32 on both devices, and the fastest of all.
std::vector<const SpeedupPair*> gpu_over_cpu(const Speedup& speedup) {
  const auto same_work = [](const SpeedupPair& a, const SpeedupPair& b) {
    return a.contender.workload.fingerprint == b.contender.workload.fingerprint &&
           a.contender.workload.dataset == b.contender.workload.dataset;
  };
  std::vector<const SpeedupPair*> chosen;
  for (const SpeedupPair& pair : speedup.pairs) {
    if (!pair.contender.on_gpu || pair.baseline.on_gpu || pair.contender.workload.dataset != "synthetic") continue;
    const bool strict = pair.contender.precision == "fp32" && pair.baseline.precision == "fp32";
    const bool fastest = std::none_of(speedup.pairs.begin(), speedup.pairs.end(), [&](const SpeedupPair& other) {
      return same_work(pair, other) && other.contender.on_gpu && !other.baseline.on_gpu && other.ratio.value > pair.ratio.value;
    });
    if (strict || fastest) chosen.push_back(&pair);
  }
  return chosen;
}

AnswerSection speed_section(const std::vector<Run>& runs, const Speedup& speedup) {
  AnswerSection section{"How much faster is the GPU, at the same batch?", {}, ""};
  for (const SpeedupPair* pair : gpu_over_cpu(speedup))
    section.answers.push_back(workload_text(pair->contender.workload) + ", " + side_text(pair->contender) + " over " +
                              side_text(pair->baseline) + ": " + ratio_text(pair->ratio) + notes_text(*pair));
  section.read =
      "times as many samples a second, in brackets the 95 % interval over processes; all pairs: epochbench speedup RESULT";
  if (!section.answers.empty()) return section;
  section.answers.push_back(any_on_gpu(runs) ? "no run on a GPU has a partner on the CPU (epochbench speedup says why)"
                                             : no_gpu_text(runs));
  for (const Repeated& work : compared_workloads(runs)) section.answers.push_back(epoch_text(work));
  section.read = "the CPU's half of the answer; a GPU would add how many times as fast these same steps are";
  return section;
}

std::string power_text(const std::vector<const Run*>& runs) {
  const auto watts = mean_over(runs, [](const Run& run) { return run.energy ? run.energy->average_watts : std::nullopt; });
  if (!watts) return "";
  const auto joules = mean_over(runs, [](const Run& run) { return run.energy ? run.energy->joules_per_epoch : std::nullopt; });
  return ", " + significant(*watts, 3) + " W (" + runs.front()->energy->source + ")" +
         (joules ? ", " + format_si(*joules, "J") + " an epoch" : std::string());
}

AnswerSection utilisation_section(const std::vector<Run>& runs) {
  AnswerSection section{"How busy was each device, and what did it draw?", {}, ""};
  bool powered = false;
  for (const Repeated& work : compared_workloads(runs)) {
    std::string line = work.name + ":";
    const auto peak =
        mean_over(work.runs, [](const Run& run) { return run.efficiency ? run.efficiency->peak_fraction : std::nullopt; });
    const auto busy =
        mean_over(work.runs, [](const Run& run) { return run.efficiency ? run.efficiency->gpu_busy_fraction : std::nullopt; });
    line += peak ? " " + format_percent(*peak) + " of the measured peak" : " peak not known";
    if (busy) line += ", busy " + format_percent(*busy) + " of the time";
    const std::string power = power_text(work.runs);
    powered = powered || !power.empty();
    section.answers.push_back(line + power);
  }
  if (section.answers.empty()) section.answers.emplace_back("no run on synthetic data ended well");
  if (!powered) section.answers.emplace_back("power: no meter could be read (epochbench info says which, and why)");
  section.read =
      "of peak: multiply-adds done over what this device reached in that precision just before; above 60 % is strong";
  return section;
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
    const bool narrow = pair.contender.precision == "bf16" || pair.contender.precision == "fp16";
    if (narrow && pair.contender.on_gpu == pair.baseline.on_gpu && pair.baseline.precision == baseline &&
        pair.contender.workload.dataset == "synthetic")
      lines.push_back(workload_text(pair.contender.workload) + ", " + side_text(pair.contender) + " over " + baseline + ": " +
                      ratio_text(pair.ratio));
  }
  return lines;
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
      "quality: on real data, paired by seed; an interval that holds 0 shows no difference on these sets, and no more";
  return section;
}

std::vector<std::string> epoch_costs(const std::vector<Run>& runs) {
  std::vector<std::string> lines;
  for (const Repeated& work : compared_workloads(runs)) {
    const auto usd = mean_over(
        work.runs, [](const Run& run) { return run.cost && in_usd(*run.cost) ? run.cost->usd_per_epoch : std::nullopt; });
    if (usd) lines.push_back(work.name + ": " + format_usd(*usd) + " an epoch (" + work.runs.front()->timing->epoch_kind + ")");
  }
  return lines;
}

AnswerSection cost_section(const std::vector<Run>& runs, const Speedup& speedup) {
  AnswerSection section{"What does an epoch cost, and a model that has learnt?", {}, ""};
  section.read = "training hours times the price of an hour; local against cloud: epochbench cost RESULT";
  for (const SpeedupPair* pair : gpu_over_cpu(speedup))
    if (std::isfinite(pair->cost.value))
      section.answers.push_back(workload_text(pair->contender.workload) + ": an epoch on " + side_text(pair->baseline) +
                                " costs " + ratio_text(pair->cost) + " what it costs on " + side_text(pair->contender));
  const std::vector<std::string> epochs = epoch_costs(runs);
  if (section.answers.empty()) section.answers = epochs;
  if (section.answers.empty())
    section.answers.emplace_back(
        "no answer in money: no price is known; run with --price cpu=USD_PER_HOUR (epochbench list prices)");
  std::set<std::string> sources;
  for (const Run& run : runs)
    if (run.cost && in_usd(*run.cost) && run.cost->price_source) sources.insert(*run.cost->price_source);
  for (const std::string& source : sources) section.answers.push_back("price: " + source);
  for (const TimeToQuality& time : times_to_quality(runs))
    section.answers.push_back(time_to_quality(time) + (time.usd ? ", " + format_usd(*time.usd) : std::string()));
  return section;
}

AnswerSection batch_section(const Result& result) {
  AnswerSection section{"Up to which batch does throughput rise?", {}, ""};
  section.read = "flat from: the smallest batch within 5 % of the best, with the batches that may be it at 95 %";
  for (const Curve& curve : curves_of(result, Axis::batch)) {
    if (curve.points.size() < kFewestCurvePoints) continue;
    const CurveBest best = best_of(curve);
    const CurveFlattening flat = flattening_of(curve);
    std::string line = curve.name + ": ";
    line += best.value && best.rate
                ? "best at batch " + std::to_string(*best.value) + " with " + significant(*best.rate, 3) + " samples/s"
                : "no best (" + best.reason.value_or("not known") + ")";
    if (flat.value) line += ", flat from batch " + std::to_string(*flat.value);
    if (flat.range) line += " (" + std::to_string(flat.range->first) + " to " + std::to_string(flat.range->second) + ")";
    if (flat.reason) line += "; " + *flat.reason;
    section.answers.push_back(line);
  }
  if (section.answers.empty())
    section.answers.push_back("no answer: nothing ran at " + std::to_string(kFewestCurvePoints) + " batches or more");
  return section;
}

std::string input_text(const FeedingRow& row) {
  std::string text =
      row.input.cache == "decoded" ? "decoded data"
      : row.input.loader_threads == 0
          ? "no loader thread"
          : std::to_string(row.input.loader_threads) + (row.input.loader_threads == 1 ? " loader thread" : " loader threads");
  if (row.input.loader_threads > 0 && !row.input.prefetch) text += " without prefetching";
  if (!row.utilization) return text + ": utilisation not known";
  return text + ": busy " + format_percent(*row.utilization) + " of the time, " +
         (std::isfinite(row.of_decoded.value) ? format_percent(row.of_decoded.value) + " of the rate from decoded data"
                                              : "rate beside decoded data not known");
}

AnswerSection input_section(const Result& result) {
  AnswerSection section{"Is the input fast enough?", {}, ""};
  section.read = "busy under " + format_percent(kStarvedBelow) + " of the time: mend the input before anything else; above " +
                 format_percent(kFedAbove) + ": well fed";
  for (const FeedingGroup& group : feeding(result)) {
    std::string line = group.workload;
    if (group.threads) line += ", " + std::to_string(*group.threads) + (*group.threads == 1 ? " thread" : " threads");
    if (group.best && group.worst)
      line += ": " + input_text(group.rows[*group.worst]) + "; " + input_text(group.rows[*group.best]) + "; so " +
              ratio_text(group.gain) + " the samples/s";
    else
      line += ": which runs are fed worst and best is not known";
    section.answers.push_back(line);
  }
  if (section.answers.empty()) section.answers.emplace_back("no answer: no workload ran with different inputs on real data");
  return section;
}

}  // namespace

std::vector<AnswerSection> answer_sections(const NamedResult& named) {
  const std::vector<Run>& runs = named.result.runs;
  const Speedup speedup = speedup_of({named}, SpeedupOf::same_batch);
  return {speed_section(runs, speedup), utilisation_section(runs),   precision_section(runs, speedup),
          cost_section(runs, speedup),  batch_section(named.result), input_section(named.result)};
}

}  // namespace epochbench
