#include "src/report/text/speedup_text.h"

#include <cmath>
#include <vector>

#include "src/base/table.h"
#include "src/base/units.h"
#include "src/report/text/notes.h"
#include "src/report/text/warning_text.h"

namespace epochbench {
namespace {

std::string ratio_cell(const Estimate& estimate) { return std::isfinite(estimate.value) ? format_times(estimate.value) : ""; }

std::string interval_cell(const Estimate& estimate) {
  return estimate.ci95 ? significant(estimate.ci95->first, 3) + " to " + significant(estimate.ci95->second, 3) : "";
}

std::string note_cell(const SpeedupPair& pair, Notes& notes) {
  std::vector<std::string> own;
  if (!pair.ratio.ci95) own.push_back("no interval: " + pair.ratio.reason);
  for (const Warning& warning : pair.warnings) own.push_back(to_string(warning));
  std::string cell;
  for (const std::string& note : own) cell += notes.mark(note);
  return cell;
}

// Why columns of cost and energy have gaps, each reason once.
std::string gaps_text(const Speedup& speedup) {
  std::string text;
  for (const SpeedupPair& pair : speedup.pairs)
    for (const auto& [what, estimate] : {std::pair("cost", &pair.cost), std::pair("energy", &pair.energy)})
      if (const std::string line = std::string("no ") + what + " ratio: " + estimate->reason + "\n";
          !std::isfinite(estimate->value) && text.find(line) == std::string::npos)
        text += line;
  return text;
}

// With the file, where the sides are of different ones.
std::string label(const SpeedupSide& side, const SpeedupSide& other) {
  return side.file == other.file ? side.name : side.name + " (" + side.file + ")";
}

std::string repetitions(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? " #" : ", #") + std::to_string(number);
  return text;
}

void put(Json& object, const std::string& key, const Estimate& estimate) {
  object[key] = finite_or_null(estimate.value);
  object[key + "_ci95"] = estimate.ci95 ? Json{estimate.ci95->first, estimate.ci95->second} : Json(nullptr);
  object[key + "_reason"] = estimate.reason.empty() ? Json(nullptr) : Json(estimate.reason);
}

// "resnet20, train, synthetic, batch 128, seed 0"
std::string workload_text(const SpeedupPair& pair) {
  const Workload& w = pair.contender.workload;
  return w.model + ", " + w.mode + ", " + w.dataset + ", " +
         (pair.best_batch ? "each device at its best batch" : "batch " + std::to_string(w.batch)) + ", seed " +
         std::to_string(w.seed);
}

}  // namespace

std::string speedup_text(const Speedup& speedup) {
  if (speedup.pairs.empty()) return "";
  using Align = Table::Align;
  Table table({{"baseline"},
               {"contender"},
               {"speedup", Align::right},
               {"95 % interval", Align::right},
               {"cost", Align::right},
               {"energy", Align::right},
               {"notes"}});
  Notes notes;
  for (const SpeedupPair& pair : speedup.pairs)
    table.add({label(pair.baseline, pair.contender), label(pair.contender, pair.baseline), ratio_cell(pair.ratio),
               interval_cell(pair.ratio), ratio_cell(pair.cost), ratio_cell(pair.energy), note_cell(pair, notes)});
  std::string text = table.to_string() + "\n";
  if (speedup.pairs.front().best_batch)
    text += "each device at its own best batch of those measured, so the batches may differ\n";
  text +=
      "speedup: samples per second of the contender over the baseline's; cost, energy: per epoch, the baseline's over the\n"
      "contender's. Above 1 the contender is the better. The interval is over repetitions, each a process of its own.\n";
  text += notes.to_string() + gaps_text(speedup);
  for (const Unpaired& alone : speedup.unpaired)
    text += "not paired: " + alone.name + repetitions(alone.repetitions) + " (" + alone.file + "): " + alone.reason + "\n";
  return text;
}

Json speedup_json(const Speedup& speedup) {
  Json pairs = Json::array(), unpaired = Json::array();
  for (const SpeedupPair& pair : speedup.pairs) {
    Json warnings = Json::array();
    for (const Warning& warning : pair.warnings) warnings.push_back(to_string(warning));
    Json object = {{"workload", workload_text(pair)}, {"baseline", pair.baseline.name}, {"contender", pair.contender.name}};
    put(object, "ratio", pair.ratio);
    put(object, "cost_ratio", pair.cost);
    put(object, "energy_ratio", pair.energy);
    object["warnings"] = warnings;
    object["batch"] = pair.best_batch ? "best" : "same";
    for (const auto& [side, prefix] : {std::pair(&pair.baseline, "baseline_"), std::pair(&pair.contender, "contender_")}) {
      object[prefix + std::string("file")] = side->file;
      object[prefix + std::string("device")] = side->device.name;
      object[prefix + std::string("samples_per_second")] = finite_or_null(side->rate);
      object[prefix + std::string("repetitions")] = side->samples_per_second.size();
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
