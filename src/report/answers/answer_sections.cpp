// The sections on speed, power, precision and cost: which runs they use, and their wording.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "epochbench/precision.h"
#include "src/analysis/cost/cost.h"
#include "src/analysis/precision_quality.h"
#include "src/analysis/series.h"
#include "src/analysis/speedup/headline.h"
#include "src/analysis/speedup/peer_speedup.h"
#include "src/base/text.h"
#include "src/report/answers/answers_page.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// Ok, with times and throughput.
bool usable(const Run& run) { return run.status == RunStatus::ok && run.timing && kThroughput.value(run).has_value(); }

// Marks the cases that other processes disturbed.
std::vector<RunGroup> marked_cases(const std::vector<Run>& runs, const std::function<bool(const Run&)>& wanted) {
  std::vector<RunGroup> list = measured_cases(runs, [&](const Run& run) { return usable(run) && wanted(run); });
  for (RunGroup& work : list) work.name += load_mark(any_disturbed(work.runs));
  return list;
}

// "resnet50 b256, cuda fp32 over cpu fp32", "resnet20/cpu/fp32/b128, 2 threads over 1 thread".
std::string sides_text(const SpeedupPair& pair) {
  const PairText text = pair_text(pair);
  return text.subject + ", " + text.contender + " over " + text.baseline;
}

bool any_on_synthetic_data(const std::vector<Run>& runs) {
  return std::ranges::any_of(runs, [](const Run& run) { return usable(run) && run.workload.dataset == "synthetic"; });
}

// Workloads on synthetic data that ran in more than one precision or on more than one device, or all on synthetic data if there
// are none. If nothing ran on synthetic data, as with --until, all trainings.
std::vector<RunGroup> compared_workloads(const std::vector<Run>& runs) {
  std::map<std::string, std::set<std::pair<BackendKind, Precision>>> sides;
  for (const Run& run : runs)
    if (usable(run) && run.workload.dataset == "synthetic")
      sides[run.workload.fingerprint].emplace(run.device.backend, run.precision);
  const auto compared = [&](const Run& run) {
    const auto found = sides.find(run.workload.fingerprint);
    return run.workload.dataset == "synthetic" && found != sides.end() && found->second.size() > 1;
  };
  if (!any_on_synthetic_data(runs)) return marked_cases(runs, [](const Run& run) { return run.workload.mode == Mode::train; });
  std::vector<RunGroup> list = marked_cases(runs, compared);
  return list.empty() ? marked_cases(runs, [](const Run& run) { return run.workload.dataset == "synthetic"; }) : list;
}

constexpr const char* kOfRealData = "; on real data, since nothing ran on synthetic data: what the input takes is included";

// "4.2x (3.9 to 4.5)", "4.2x (3.9 to 4.5) as soon at accuracy=0.97"; if it cannot carry an answer, the reason.
std::string sooner_text(const SpeedupPair& pair) {
  if (const std::string reason = why_unusable(pair); !reason.empty()) return "no ratio: " + reason;
  return ratio_text(pair.ratio) + (pair.target.empty() ? "" : " as soon at " + pair.target);
}

std::string notes_text(const SpeedupPair& pair) {
  std::set<std::string> codes;
  for (const Warning& warning : pair.warnings)
    if (warning.code != WarningCode::unusable) codes.insert(name(warning.code));
  return codes.empty() ? "" : "; caution: " + joined(codes, std::identity());
}

bool any_on_gpu(const std::vector<Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Run& run) { return usable(run) && runs_on_gpu(run); });
}

// Why nothing ran on a GPU, as far as the result shows.
std::string no_gpu_text(const std::vector<Run>& runs) {
  for (const Run& run : runs)
    if (runs_on_gpu(run) && run.message) return "no run on a GPU: " + *run.message;
  return "no run on a GPU: this result has none";
}

std::string epoch_text(const RunGroup& work) {
  const auto rate = summarize(work.runs, kThroughput);
  if (!rate) return work.name + ": samples/s not known";
  const std::string epoch = cell(work.runs, kEpochTime);
  return work.name + ": " + kThroughput.unit.text(rate->value) + " samples/s" + spread_text(*rate, kThroughput.unit.text) +
         (epoch.empty() ? "" : ", an epoch in " + epoch + " (" + name(work.first().timing->epoch_kind) + ")");
}

// What the epochs of these cases are: "; an epoch: ImageNet, 1,281,167 images". "" without cases.
std::string epochs_read(const std::vector<RunGroup>& works) {
  std::vector<const Workload*> list;
  for (const RunGroup& work : works)
    for (const Run* run : work.runs) list.push_back(&run->workload);
  return list.empty() ? "" : "; an epoch: " + epochs_text(list);
}

std::string source_of(const RunGroup& work) {
  for (const Run* run : work.runs)
    if (run->energy && run->energy->source != EnergySource::unavailable) return name(run->energy->source);
  return "unknown source";
}

// ", 900 W (CPU 200 W, GPU 700 W; rapl+nvml), 9.80 kJ per epoch"; if only the card has a meter: ", GPU alone 700 W (nvml), 7.60
// kJ per epoch". "" if no part is known.
std::string power_text(const RunGroup& work) {
  const auto text = [&](const std::string& watts, const std::string& parts, const Figure& energy) {
    const std::string epoch = cell(work.runs, energy);
    return ", " + watts + " (" + parts + source_of(work) + ")" + (epoch.empty() ? "" : ", " + epoch + " per epoch");
  };
  const std::string all = cell(work.runs, kMeanPower), cpu = cell(work.runs, kCpuMeanPower),
                    gpu = cell(work.runs, kGpuMeanPower);
  if (!all.empty()) return text(all, cpu.empty() || gpu.empty() ? "" : "CPU " + cpu + ", GPU " + gpu + "; ", kEnergy);
  if (!gpu.empty()) return text("GPU alone " + gpu, "", kGpuEnergy);
  return cpu.empty() ? "" : text("CPU alone " + cpu, "", kCpuEnergy);
}

// Why a part of the power is not known: each reason once, with the number of runs.
std::vector<std::string> power_gaps(const std::vector<RunGroup>& works) {
  Reasons gaps;
  for (const RunGroup& work : works)
    for (const Run* run : work.runs)
      if (!run->energy || !run->energy->average_watts)
        add_reason(gaps,
                   run->energy && run->energy->reason ? *run->energy->reason
                                                      : "no meter could be read (epochbench info says which, and why)",
                   run->name);
  std::vector<std::string> lines;
  for (const std::string& line : runs_by_reason(gaps)) lines.push_back("power not known of " + line);
  return lines;
}

std::string difference_text(const QualityDifference& difference) {
  const bool accuracy = difference.metric == EvalMetric::accuracy;
  const auto number = [&](double value) {
    const double shown = accuracy ? value * 100 : value;
    return (shown < 0 ? "" : "+") + significant(shown, 2);
  };
  const Estimate& estimate = difference.difference;
  return difference.workload + ", " + name(difference.precision) + " less fp32: " + name(difference.metric) + " " +
         number(estimate.value) + (accuracy ? " points" : "") + interval_text(estimate, number) + ", " +
         counted(static_cast<std::size_t>(difference.seeds), "seed", "seeds") + ", " + std::to_string(difference.epochs) +
         " epochs";
}

// "resnet50 b32 cpu, bf16 over fp32: 1.90x (1.65 to 2.19)".
std::string answer_line(const SpeedupPair& pair) { return sides_text(pair) + ": " + sooner_text(pair); }

std::vector<std::string> setting_ratios(const Speedup& speedup, const Speedup& to_quality, Compares what) {
  std::vector<std::string> lines;
  for (const Speedup* asked : {&speedup, &to_quality})
    for (const SpeedupPair& pair : asked->pairs)
      if (pair.compares == what) lines.push_back(answer_line(pair));
  return lines;
}

// ", for the first $0.408, for the whole instance $2.85".
std::string further_costs(const Repetitions& runs) {
  std::string text;
  if (const std::string first = first_epoch_cost(runs); !first.empty()) text += ", for the first " + first;
  if (const std::string whole = cell(runs, kWholeEpochCost); !whole.empty()) text += ", for the whole instance " + whole;
  return text;
}

std::vector<std::string> epoch_costs(const std::vector<RunGroup>& works) {
  std::vector<std::string> lines;
  for (const RunGroup& work : works) {
    const auto cost = summarize(work.runs, kEpochCost);
    if (cost && in_usd(*work.first().cost))
      lines.push_back(work.name + ": " + format_usd(cost->value) + " per epoch" +
                      (cost->value < 0.01 ? "" : spread_text(*cost, format_usd)) + ", " +
                      name(work.first().timing->epoch_kind) + further_costs(work.runs));
  }
  return lines;
}

}  // namespace

namespace {

// "1.35x (1.30 to 1.40)"; only "1.35x" for an estimate without an interval.
std::string value_and_interval(const Estimate& ratio) {
  return format_times(ratio.value) + (ratio.ci95 ? interval_text(ratio) : "");
}

// "resnet50 b256, cuda fp32 over cpu fp32: 77.0x", and where PyTorch ran on both devices "...: this program 77.0x;
// PyTorch 45.0x".
std::string devices_line(const std::vector<Run>& runs, const SpeedupPair& pair) {
  if (pair.contender.device.backend == BackendKind::pytorch)  // whose settings name no device
    return pair_text(pair).subject + ", GPU " + name(pair.contender.precision) + " over CPU " + name(pair.baseline.precision) +
           ": " + sooner_text(pair) + notes_text(pair);
  const bool usable_pair = why_unusable(pair).empty();
  const std::string parts = pair.each_at_best && pair.parts && usable_pair ? " = " + explanation(pair) : "";
  const auto peer = pair.target.empty() && usable_pair ? peer_speedup(runs, pair) : std::nullopt;
  if (!peer) return answer_line(pair) + parts + notes_text(pair);
  return sides_text(pair) + ": this program " + sooner_text(pair) + parts + "; PyTorch " + value_and_interval(*peer) +
         notes_text(pair);
}

// How our cases compare with PyTorch on the same device, or that nothing of PyTorch was measured.
std::vector<std::string> peer_lines(const std::vector<Run>& runs) {
  std::vector<std::string> lines;
  for (const PeerRatio& peer : peer_ratios(runs))
    lines.push_back(peer.ours.name + load_mark(any_disturbed(peer.ours.runs) || any_disturbed(peer.theirs.runs)) +
                    ": this program trains " + value_and_interval(peer.ratio) + " as fast as PyTorch on this device (" +
                    peer_text(peer.theirs.first()) + ")");
  const auto training =
      std::ranges::find_if(runs, [](const Run& run) { return usable(run) && run.workload.mode == Mode::train; });
  if (std::ranges::all_of(runs, is_ours) && training != runs.end())
    lines.push_back("PyTorch was not measured: epochbench run " + training->workload.model + " --with pytorch");
  return lines;
}

}  // namespace

AnswerSection speed_section(const std::vector<Run>& runs, const Speedup& speedup, const Speedup& to_quality) {
  AnswerSection section{"How much faster is the GPU, each at its best?", {}, ""};
  for (const Speedup* asked : {&speedup, &to_quality})
    for (const SpeedupPair* pair : gpu_over_cpu(*asked)) section.answers.push_back(devices_line(runs, *pair));
  const std::vector<std::string> peers = peer_lines(runs);
  section.read =
      "times as many samples per second, in brackets the 95 % interval over processes of this session; first each device at "
      "its fastest precision and batch, then both in one precision, at one batch; all pairs: epochbench speedup RESULT";
  const auto add_peers = [&] { section.answers.insert(section.answers.end(), peers.begin(), peers.end()); };
  if (!section.answers.empty()) {
    add_peers();
    return section;
  }
  const bool gpu_ran = any_on_gpu(runs);
  section.answers.push_back(gpu_ran ? "no run on a GPU has a partner on the CPU (epochbench speedup says why)"
                                    : no_gpu_text(runs));
  add_peers();
  const std::vector<RunGroup> works = compared_workloads(runs);
  for (const RunGroup& work : works) section.answers.push_back(epoch_text(work));
  section.read =
      (gpu_ran ? "this is the GPU's half of the answer; a CPU would show how many times as fast the GPU is"
               : "this is the CPU's half of the answer; a GPU would show how many times as fast these steps can be") +
      epochs_read(works);
  if (!any_on_synthetic_data(runs)) section.read += kOfRealData;
  section.answered = !works.empty();
  return section;
}

AnswerSection utilization_section(const std::vector<Run>& runs) {
  AnswerSection section{"How busy was each device, and what did it draw?", {}, ""};
  const std::vector<RunGroup> works = compared_workloads(runs);
  for (const RunGroup& work : works) {
    const std::string peak = cell(work.runs, kPeakShare), busy = cell(work.runs, kGpuBusy);
    section.answers.push_back(work.name + ":" + (peak.empty() ? " peak not known" : " " + peak + " of the measured peak") +
                              (busy.empty() ? "" : ", busy " + busy + " of the time") + power_text(work));
  }
  for (std::string& gap : power_gaps(works)) section.answers.push_back(std::move(gap));
  section.answered = !section.answers.empty();
  if (!section.answered) section.answers.emplace_back("no run on synthetic data, and no training, succeeded");
  section.read =
      "of peak: multiply-adds, as direct products and convolutions have them, over the best burst of this device in that "
      "precision; above 60 % is strong";
  std::vector<const Run*> shown;
  for (const RunGroup& work : works) shown.insert(shown.end(), work.runs.begin(), work.runs.end());
  for (const std::string& sentence : capped_shares(shown)) section.read += "; " + sentence;
  if (!any_on_synthetic_data(runs)) section.read += kOfRealData;
  return section;
}

AnswerSection precision_section(const std::vector<Run>& runs, const Speedup& speedup, const Speedup& to_quality) {
  AnswerSection section{"What does mixed precision bring, and does the model learn as well?", {}, ""};
  const auto add_ratios = [&](Precision baseline) {
    for (const Speedup* asked : {&speedup, &to_quality})
      for (const SpeedupPair* pair : narrow_over(*asked, baseline)) section.answers.push_back(answer_line(*pair));
  };
  add_ratios(Precision::fp32);
  const std::vector<QualityDifference> differences = precision_quality(runs);
  section.answered = !section.answers.empty() || !differences.empty();
  if (section.answers.empty())
    section.answers.emplace_back(
        "no answer on speed: nothing ran on synthetic data, or to a target, in 16 bits and in fp32 on one device");
  for (const QualityDifference& difference : differences) section.answers.push_back(difference_text(difference));
  if (differences.empty())
    section.answers.emplace_back(
        "no answer on quality: nothing was trained for the same epochs or steps in two precisions with the same seed");
  add_ratios(Precision::tf32);
  section.read =
      "quality: on real data, paired by seed; an interval that contains 0 shows no difference on these sets, and nothing more";
  return section;
}

AnswerSection cost_section(const std::vector<Run>& runs, const Speedup& speedup) {
  AnswerSection section{"What does an epoch cost, and a model that has learned?", {}, ""};
  section.read = "training hours times the price of an hour; local against cloud: epochbench cost RESULT";
  for (const SpeedupPair* pair : gpu_over_cpu(speedup))
    if (std::isfinite(pair->cost.value) && why_unusable(*pair).empty())
      section.answers.push_back(sides_text(*pair) + ": on the CPU an epoch costs " + ratio_text(pair->cost) +
                                " what it costs on the GPU");
  const std::vector<RunGroup> works = compared_workloads(runs);
  if (section.answers.empty()) section.answers = epoch_costs(works);
  if (!section.answers.empty()) section.read += epochs_read(works);
  const std::vector<TimeToQuality> times = times_to_quality(runs);
  section.answered = !section.answers.empty() || !times.empty();
  if (section.answers.empty())
    section.answers.emplace_back(
        "no answer in money: no price is known; run with --price cpu=USD_PER_HOUR (epochbench list prices)");
  std::set<std::string> sources;
  for (const Run& run : runs)
    if (run.cost && in_usd(*run.cost) && run.cost->price_source) sources.insert(price_text(*run.cost));
  for (const std::string& source : sources) section.answers.push_back("price: " + source);
  for (const TimeToQuality& time : times) section.answers.push_back(time_to_quality(time));
  return section;
}

AnswerSection parts_section(const Speedup& speedup, const Speedup& to_quality) {
  return {"What is each part worth, and the kernels for this CPU?", setting_ratios(speedup, to_quality, Compares::parts),
          "how many times as fast the complete case is as the same case without the part"};
}

AnswerSection threads_section(const Speedup& speedup, const Speedup& to_quality) {
  return {"How much faster with more threads?", setting_ratios(speedup, to_quality, Compares::threads),
          "times the samples per second of the same case with the fewest threads"};
}

}  // namespace epochbench
