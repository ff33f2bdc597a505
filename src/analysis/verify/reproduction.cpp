#include "src/analysis/verify/reproduction.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/analysis/fairness.h"
#include "src/analysis/speedup/headline.h"
#include "src/analysis/unusable.h"
#include "src/base/cpu_name.h"
#include "src/base/text.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

// One per repetition. The roofline counts launches where a GPU needs them.
std::vector<double> roofline_shares(const Series& series) {
  std::vector<double> shares;
  for (const Run* run : series.runs) {
    const auto& roofline = run->efficiency->launched_roofline_seconds;
    shares.push_back(roofline.value() * run->throughput->samples_per_second / static_cast<double>(run->workload.batch));
  }
  return shares;
}

bool has_roofline(const Series& series) {
  return std::ranges::all_of(series.runs,
                             [](const Run* run) { return run->efficiency && run->efficiency->launched_roofline_seconds; });
}

bool is_side(const SpeedupSide& side, const Series& series) {
  return side.name == series.name() && side.file == series.source->path;
}

// Half the width of an interval's logarithm; empty: no interval.
std::optional<double> log_half_width(const Estimate& estimate) {
  if (!estimate.ci95) return std::nullopt;
  return std::log(estimate.ci95->second / estimate.ci95->first) / 2;
}

// What else than the machine's speed separates the two, as a list; "" for nothing.
std::string differences(const Series& there, const Series& here) {
  const Context &then = there.source->result.context, &now = here.source->result.context;
  const Device &ours = here.first().device, &theirs = there.first().device;
  std::vector<std::string> list;
  const CpuMatch cpus = then.cpu.isa != now.cpu.isa ? CpuMatch::different : match_cpus(then.cpu.model, now.cpu.model);
  if (there.on_gpu() && ours.name != theirs.name) list.emplace_back("another GPU");
  const bool one_host = then.host_name && then.host_name == now.host_name;
  if (!there.on_gpu() && (cpus == CpuMatch::different || (cpus == CpuMatch::unknown && !one_host)))
    list.emplace_back(cpus == CpuMatch::different ? "another CPU" : "perhaps another CPU");
  if (then.git_sha != now.git_sha || !then.git_sha) list.emplace_back("another build");
  if (ours.threads != theirs.threads)
    list.push_back(std::to_string(ours.threads.value_or(0)) + " threads, not " + std::to_string(theirs.threads.value_or(0)));
  if (ours.isa != theirs.isa)
    list.push_back(ours.isa.value_or("other") + " kernels, not " + theirs.isa.value_or("unknown ones"));
  return joined(list);
}

void judge(ReproducedFigure& figure, const std::string& differences, bool loaded) {
  figure.quotient = quotient(figure.there, figure.here);
  const double value = figure.quotient.value;
  const auto [low, high] = figure.quotient.ci95.value_or(std::pair(value, value));
  const bool within = value <= kReproduces && value >= 1 / kReproduces;
  const bool outside = low > kReproduces || high < 1 / kReproduces;
  if (within && (low >= 1 / kReproduces || high <= kReproduces)) {
    figure.verdict = Reproduction::agrees;
  } else if (loaded || !outside) {
    figure.verdict = Reproduction::undecided;
    figure.reason = loaded ? "other processes disturbed the run here" : "the interval is too wide";
  } else {
    figure.verdict = differences.empty() ? Reproduction::differs : Reproduction::differs_elsewhere;
    figure.reason = differences;
  }
}

const RunAgain* find_side(const std::vector<RunAgain>& runs, const SpeedupSide& side) {
  const auto found = std::ranges::find_if(runs, [&](const RunAgain& run) { return is_side(side, *run.there); });
  return found == runs.end() ? nullptr : &*found;
}

}  // namespace

Estimate quotient(const Estimate& there, const Estimate& here) {
  Estimate result;
  result.value = here.value / there.value;
  const auto first = log_half_width(there), second = log_half_width(here);
  if (!first && !second) return result;
  const double factor = std::exp(std::hypot(first.value_or(0), second.value_or(0)));
  result.ci95 = {result.value / factor, result.value * factor};
  return result;
}

Candidates reproducible(const AllSeries& all, const Speedup& speedup) {
  Candidates candidates;
  const auto leave_out = [&](const Series& series, const std::string& reason) {
    candidates.left_out.push_back({&series.first(), series.source, reason});
  };
  for (const Series& series : all.series) {
    if (!is_ours(series.first())) {
      leave_out(series, "another framework measured it");
    } else if (const std::string reason = why_unusable(series); !reason.empty()) {
      leave_out(series, reason);
    } else if (!has_roofline(series)) {
      leave_out(series,
                "its roofline is not known: its peaks were not measured, or this version has another model of that name");
    } else {
      std::size_t rank = 2;
      for (const SpeedupPair& pair : speedup.pairs) {
        if (!is_side(pair.baseline, series) && !is_side(pair.contender, series)) continue;
        rank = std::min<std::size_t>(rank, &pair == find_headline(speedup, series.first().workload.model) ? 0 : 1);
      }
      candidates.series.push_back(&series);
      candidates.ranks.push_back(rank);
    }
  }
  return candidates;
}

std::vector<ReproducedFigure> reproduced(const std::vector<RunAgain>& runs, const Speedup& speedup) {
  std::vector<ReproducedFigure> figures;
  for (const auto& [there, here] : runs) {
    ReproducedFigure figure{there->name(), true, geometric_mean_estimate(roofline_shares(*there)),
                            geometric_mean_estimate(roofline_shares(*here))};
    judge(figure, differences(*there, *here), any_loaded(here->runs));
    figures.push_back(std::move(figure));
  }
  for (const SpeedupPair& pair : speedup.pairs) {
    const RunAgain *baseline = find_side(runs, pair.baseline), *contender = find_side(runs, pair.contender);
    if (!baseline || !contender || !std::isfinite(pair.ratio.value)) continue;
    ReproducedFigure figure{pair.contender.name + " over " + pair.baseline.name, false, pair.ratio,
                            ratio_estimate(baseline->here->rates(), contender->here->rates())};
    std::string others = differences(*contender->there, *contender->here);
    if (others.empty()) others = differences(*baseline->there, *baseline->here);
    judge(figure, others, any_loaded(baseline->here->runs) || any_loaded(contender->here->runs));
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace epochbench
