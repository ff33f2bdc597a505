// What it costs, up to which batch throughput rises, and whether the input keeps up.
#include <cmath>
#include <set>

#include "src/analysis/cost/cost.h"
#include "src/analysis/input/input_pipeline.h"
#include "src/analysis/sweep/curves.h"
#include "src/base/units.h"
#include "src/report/answers/answer_parts.h"
#include "src/report/text/summary.h"

namespace epochbench {
namespace {

constexpr std::size_t kFewestCurvePoints = 3;  // fewer batches are not a curve

std::vector<std::string> epoch_costs(const std::vector<Run>& runs) {
  std::vector<std::string> lines;
  for (const Repeated& work : compared_workloads(runs)) {
    const auto usd = median_over(
        work, [](const Run& run) { return run.cost && in_usd(*run.cost) ? run.cost->usd_per_epoch : std::nullopt; });
    if (usd)
      lines.push_back(work.name + ": " + format_usd(*usd) + " per epoch (" + work.median().timing->epoch_kind +
                      repetitions_text(work.runs.size()) + ")");
  }
  return lines;
}

std::string input_text(const InputRow& row) {
  std::string text = row.input.cache == "decoded" ? "decoded data"
                     : row.input.loader_threads == 0
                         ? "no loader thread"
                         : counted(static_cast<std::size_t>(row.input.loader_threads), "loader thread", "loader threads");
  if (row.input.loader_threads > 0 && !row.input.prefetch) text += " without prefetching";
  if (!row.utilization) return text + ": utilization not known";
  return text + ": busy " + format_percent(*row.utilization) + " of the time, " +
         (std::isfinite(row.of_decoded.value) ? format_percent(row.of_decoded.value) + " of the rate from decoded data"
                                              : "rate beside decoded data not known");
}

}  // namespace

AnswerSection cost_section(const std::vector<Run>& runs, const Speedup& speedup) {
  AnswerSection section{"What does an epoch cost, and a model that has learned?", {}, ""};
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

AnswerSection input_section(const Result& result) {
  AnswerSection section{"Is the input fast enough?", {}, ""};
  section.read = "busy under " + format_percent(kStarvedBelow) + " of the time: fix the input before anything else; above " +
                 format_percent(kWellFedAbove) + ": well fed";
  for (const InputGroup& group : input_groups(result)) {
    std::string line = group.workload;
    if (group.threads) line += ", " + counted(static_cast<std::size_t>(*group.threads), "thread", "threads");
    if (group.best && group.worst)
      line += ": " + input_text(group.rows[*group.worst]) + "; " + input_text(group.rows[*group.best]) + "; so " +
              ratio_text(group.gain) + " the samples/s";
    else
      line += ": it is unknown which runs waited most and least";
    section.answers.push_back(line);
  }
  if (section.answers.empty()) section.answers.emplace_back("no answer: no workload ran with different inputs on real data");
  return section;
}

}  // namespace epochbench
