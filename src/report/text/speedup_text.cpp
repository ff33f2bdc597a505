// The answer of `speedup`.
#include <algorithm>
#include <cmath>

#include "src/base/json_fields.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// In parentheses if one of the runs cannot carry an answer.
Cell ratio_cell(const SpeedupPair& pair, const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return {};
  const std::string text = format_times(estimate.value);
  return {why_unusable(pair).empty() ? text : "(" + text + ")", "", estimate.value};
}

// One line per pair of devices at their best; without any, on the first pair.
std::string explanations(const Speedup& speedup) {
  std::string text;
  for (const SpeedupPair& pair : speedup.pairs) {
    const bool shown = pair.each_at_best || &pair == &speedup.pairs.front();
    if (!shown || !pair.parts) continue;
    const PairText sides = pair_text(pair);
    text += wrapped("", "  ", sides.subject + ": " + format_times(pair.ratio.value) + " = " + explanation(pair));
  }
  if (text.empty()) return "";
  return text +
         wrapped("", "",
                 "silicon: by the rooflines, what the contender's device can do over what the baseline's can, from the peaks "
                 "and bandwidths that were measured; software: how much nearer to its roofline the contender comes.");
}

// Warnings on prices and meters concern the machine, so they are merged if both sides have the same one.
std::vector<Warning> joined_sides(const std::vector<Warning>& warnings) {
  std::vector<Warning> list;
  for (const Warning& warning : warnings) {
    const bool of_machine = warning.code == WarningCode::price_of_other_machine || warning.code == WarningCode::energy_in_part;
    const bool again = of_machine && !list.empty() && list.back().code == warning.code && list.back().first == warning.first;
    if (again)
      list.back().run = "both sides";
    else
      list.push_back(warning);
  }
  return list;
}

std::string note_cell(const SpeedupPair& pair, Notes& notes) {
  std::string text = pair.ratio.ci95 ? "" : notes.mark("no interval: " + pair.ratio.reason);
  for (const Warning& warning : joined_sides(pair.warnings)) text += notes.mark(to_string(warning));
  return text;
}

// Why columns of cost and energy have gaps, and in how many rows.
std::vector<std::string> gaps(const Speedup& speedup) {
  struct Gap {
    std::pair<std::string, std::string> why;  // "cost", the reason
    std::size_t pairs = 0;
  };
  ListByKey<&Gap::why> gaps;
  for (const SpeedupPair& pair : speedup.pairs)
    for (const auto& [what, estimate] : {std::pair("cost", &pair.cost), std::pair("energy", &pair.energy)})
      if (!std::isfinite(estimate->value)) ++gaps[{what, estimate->reason}].pairs;
  std::vector<std::string> lines;
  const std::size_t all = speedup.pairs.size();
  for (const Gap& gap : gaps) {
    const std::string some = gap.pairs < all ? " in " + std::to_string(gap.pairs) + " of " + std::to_string(all) + " rows" : "";
    lines.push_back("no " + gap.why.first + " ratio" + some + ": " + gap.why.second + "\n");
  }
  return lines;
}

bool of_one_target(const Speedup& speedup) {
  const std::string& target = speedup.pairs.front().target;
  return std::ranges::all_of(speedup.pairs, [&](const SpeedupPair& pair) { return pair.target == target; });
}

// "10 of 10, 9 of 10": the baseline's trainings that reached their target, and the contender's.
std::string reached_cell(const SpeedupPair& pair) {
  if (pair.target.empty()) return "";
  const auto of_all = [](const SpeedupSide& side) {
    return std::to_string(side.reached) + " of " + std::to_string(side.trained);
  };
  return of_all(pair.baseline) + ", " + of_all(pair.contender);
}

// With the file if the sides come from different files.
std::string label(const SpeedupSide& side, const SpeedupSide& other) {
  return side.name + (side.file == other.file ? "" : " (" + side.file + ")") + load_mark(side.loaded);
}

std::string repetitions(const std::vector<int>& numbers) {
  const std::string text = joined(numbers, [](int number) { return "#" + std::to_string(number); });
  return text.empty() ? "" : " " + text;
}

void put(Json& object, const std::string& key, const Estimate& estimate) {
  object[key] = finite_or_null(estimate.value);
  object[key + "_ci95"] = json_of(estimate.ci95);
  object[key + "_reason"] = text_or_null(estimate.reason);
}

Json parts_json(const SpeedupPair& pair) {
  if (!pair.parts) return nullptr;
  const SpeedupParts& parts = *pair.parts;
  Json json = {{"silicon", parts.silicon},
               {"launches", parts.launches},
               {"baseline_times_roofline", parts.baseline_times},
               {"contender_times_roofline", parts.contender_times}};
  put(json, "software", parts.software);
  return json;
}

bool at_own_batches(const SpeedupPair& pair) {
  return pair.best_batch || pair.contender.workload.batch != pair.baseline.workload.batch;
}

// "resnet20, train, synthetic, batch 128"
std::string workload_text(const SpeedupPair& pair) {
  const Workload& w = pair.contender.workload;
  return w.model + ", " + name(w.mode) + ", " + w.dataset + ", " +
         (at_own_batches(pair) ? "each device at its best batch" : "batch " + std::to_string(w.batch));
}

}  // namespace

View speedup_view(const Speedup& speedup) {
  View view = {"Pairs of runs: how many times as fast, as cheap and as efficient the contender is",
               columns("/baseline|/contender|target|reached|>speedup|>95 % interval|->cost|-->energy|notes")};
  Notes notes;
  const bool one_target = of_one_target(speedup);
  for (const SpeedupPair& pair : speedup.pairs)
    view.rows.push_back({label(pair.baseline, pair.contender),
                         {label(pair.contender, pair.baseline), factors_text(pair)},
                         one_target ? "" : pair.target,
                         reached_cell(pair),
                         ratio_cell(pair, pair.ratio),
                         pair.ratio.ci95 ? range_text(*pair.ratio.ci95) : "",
                         ratio_cell(pair, pair.cost),
                         ratio_cell(pair, pair.energy),
                         note_cell(pair, notes)});
  view.notes = notes.all();
  return view;
}

std::string speedup_text(const Speedup& speedup, bool verbose) {
  if (speedup.pairs.empty()) return "";
  const std::string& target = speedup.pairs.front().target;
  const View view = speedup_view(speedup);
  std::string text = terminal_table(view) + "\n";
  if (speedup.pairs.front().best_batch)
    text += wrapped("", "", "each device at its own best batch of those measured, so the batches may differ");
  const auto at_best = std::ranges::count_if(speedup.pairs, &SpeedupPair::each_at_best);
  const bool has_interval =
      std::ranges::any_of(speedup.pairs, [](const SpeedupPair& pair) { return pair.ratio.ci95.has_value(); });
  if (std::ranges::any_of(speedup.pairs, at_own_best))
    text += wrapped("", "",
                    (at_best == 1 ? "first row" : "first " + std::to_string(at_best) + " rows") +
                        std::string(": each device at its fastest precision and batch of those measured"));
  text += wrapped(
      "", "",
      !target.empty()
          ? "speedup, cost, energy: to " + (of_one_target(speedup) ? target : "the target") +
                ", the baseline's over the contender's, seed by seed; the median over seeds, with an interval between "
                "two of them. Above 1 the contender is the better. A missed target counts as the slowest."
          : "speedup: samples per second of the contender over the baseline's; cost, energy: per epoch, the baseline's "
            "over the contender's. Above 1 the contender is the better." +
                std::string(has_interval ? " The interval is over repetitions, each a process of its own, within this session: "
                                           "another day may differ by more."
                                         : ""));
  if (std::ranges::any_of(speedup.pairs, &SpeedupPair::by_rounds))
    text += wrapped("", "",
                    "Where processes took turns, the ratio is the median of their rounds, so other processes do not matter.");
  std::vector<std::string> notes = numbered(view.notes);
  for (std::string& line : gaps(speedup)) notes.push_back(std::move(line));
  for (const Unpaired& alone : speedup.unpaired)
    notes.push_back("not paired: " + alone.name + repetitions(alone.repetitions) + " (" + alone.file + "): " + alone.reason +
                    "\n");
  return text + explanations(speedup) + notes_below(notes, verbose);
}

Json speedup_json(const Speedup& speedup) {
  Json pairs = Json::array(), unpaired = Json::array();
  for (const SpeedupPair& pair : speedup.pairs) {
    Json object = {{"workload", workload_text(pair)}, {"baseline", pair.baseline.name}, {"contender", pair.contender.name}};
    put(object, "ratio", pair.ratio);
    put(object, "cost_ratio", pair.cost);
    put(object, "energy_ratio", pair.energy);
    object["parts"] = parts_json(pair);
    object["warnings"] = warnings_json(pair.warnings);
    object["batch"] = at_own_batches(pair) ? "best" : "same";
    object["each_at_best"] = pair.each_at_best;
    object["compares"] = name(pair.compares);
    object["unusable"] = text_or_null(why_unusable(pair));
    if (!pair.target.empty()) object["target"] = pair.target;
    for (const auto& [side, prefix] :
         {std::pair(&pair.baseline, std::string("baseline_")), std::pair(&pair.contender, std::string("contender_"))}) {
      object[prefix + "file"] = side->file;
      object[prefix + "device"] = side->device.name;
      object[prefix + kThroughput.key] = finite_or_null(side->rate);
      object[prefix + "repetitions"] = side->rates.size();
      if (pair.target.empty()) continue;
      object[prefix + "trained"] = side->trained;
      object[prefix + "reached"] = side->reached;
    }
    pairs.push_back(object);
  }
  for (const Unpaired& alone : speedup.unpaired)
    unpaired.push_back({{"name", alone.name},
                        {"reason", alone.reason},
                        {"file", alone.file},
                        {"repetitions", alone.repetitions.empty() ? Json(nullptr) : Json(alone.repetitions)}});
  return {{"pairs", pairs}, {"unpaired", unpaired}};
}

}  // namespace epochbench
