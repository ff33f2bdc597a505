#include "src/report/text/conclusions.h"

#include <algorithm>

#include "src/analysis/cost/cost.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

std::string ends_text(const RangedFigure& figure, const NumberText& number) {
  return figure.ends ? " (" + range_text(*figure.ends, number) + ")" : " (no interval)";
}

// "; T4, L4, A10G and 2 more may be cheaper: the intervals overlap".
template <class Name>
std::string rivals_text(const Leader& leader, const char* better, const Name& name) {
  constexpr std::size_t kNamed = 3;
  if (leader.rivals.empty()) return "";
  const std::size_t named = std::min(kNamed, leader.rivals.size());
  const std::size_t more = leader.rivals.size() - named;
  return "; " + joined(std::vector(leader.rivals.begin(), leader.rivals.begin() + static_cast<std::ptrdiff_t>(named)), name) +
         (more > 0 ? " and " + std::to_string(more) + " more" : "") + " may be " + better + ": the intervals overlap";
}

// Two sentences, or one where both have one place. describe(leader) and name(place) are strings.
template <class Describe, class Name>
std::vector<std::string> sentences(const std::optional<Leader>& cheapest, const std::optional<Leader>& fastest,
                                   const char* cheapest_title, const Describe& describe, const Name& name) {
  const std::string cheaper = cheapest ? rivals_text(*cheapest, "cheaper", name) : "";
  const std::string faster = fastest ? rivals_text(*fastest, "faster", name) : "";
  if (cheapest && fastest && cheapest->place == fastest->place)
    return {std::string(cheapest_title) + " and fastest: " + describe(*cheapest) + cheaper + faster};
  std::vector<std::string> lines;
  if (cheapest) lines.push_back(std::string(cheapest_title) + ": " + describe(*cheapest) + cheaper);
  if (fastest) lines.push_back("fastest: " + describe(*fastest) + faster);
  return lines;
}

// "0.24 of", "1.8 times".
std::string share_text(double ratio) { return significant(ratio, 2) + (ratio < 1 ? " of" : " times"); }

RangedFigure quotient(const RangedFigure& figure, const RangedFigure& base) {
  if (!figure.value || !base.value) return {};
  RangedFigure result{*figure.value / *base.value, {}};
  const auto bounds = [](const RangedFigure& of) { return of.ends.value_or(std::pair(*of.value, *of.value)); };
  if (!figure.ends) return result;
  result.ends = std::pair(figure.ends->first / bounds(base).second, figure.ends->second / bounds(base).first);
  return result;
}

// "T4 at $0.526/h, predicted: 23.9x (15.0x to 31.9x) as fast as cpu † and 0.24 of its cost (0.18 to 0.39)".
std::string beside_cpu(const ElsewhereRow& row, const Elsewhere& answer) {
  const ElsewhereRow& cpu = answer.rows.front();
  const RangedFigure& usd = epoch_cost(row, answer);
  std::string text = device_text(row);
  if (usd.value && row.epoch_seconds.value)
    text += " at $" + three_digits(*usd.value / *row.epoch_seconds.value * kSecondsPerHour) + "/h" +
            (row.whole_usd_per_epoch.value ? " for the whole instance" : "");
  text += std::string(", ") + name(row.evidence) + ": ";
  const auto cost = [&] { return format_usd(*usd.value) + ends_text(usd, format_usd) + " per epoch"; };
  if (!answer.unusable.empty())
    return text + format_rate(*row.rate.value) + " samples/s" + ends_text(row.rate, format_rate) +
           (usd.value ? " and " + cost() : "") + "; no ratio to " + device_text(cpu) + ": " + answer.unusable;
  text += format_times(*row.ratio.value) +
          (row.ratio.ends && !cpu.rate.ends ? " (" + range_text(*row.ratio.ends, format_times) + ", without the CPU's spread)"
                                            : ends_text(row.ratio, format_times)) +
          " as fast as " + device_text(cpu);
  if (!usd.value) return text;
  const RangedFigure share = quotient(usd, cpu.usd_per_epoch);
  if (!share.value) return text + ", " + cost();
  return text + " and " + share_text(*share.value) + (cpu.whole_usd_per_epoch.value ? " its hypothetical cost" : " its cost") +
         ends_text(share, [](double each) { return significant(each, 2); });
}

// For the CPU it also says how far the next device is behind, unless the other sentence is about that one.
std::string leader_text(const Leader& leader, const Elsewhere& answer, const BestRows& best) {
  const ElsewhereRow &row = answer.rows[leader.place], &cpu = answer.rows.front();
  if (&row != &cpu) return beside_cpu(row, answer);
  const auto is_next = [&](const std::optional<Leader>& other) { return other && other->place == leader.next; };
  std::string text = device_text(row) + ", measured";
  if (row.epoch_seconds.value) text += ": an epoch in " + format_seconds(*row.epoch_seconds.value);
  if (row.usd_per_epoch.value) text += " for " + format_usd(*row.usd_per_epoch.value);
  if (row.whole_usd_per_epoch.value) text += ", a hypothetical share of " + format_usd(*row.whole_usd_per_epoch.value);
  if (is_next(best.cheapest) || is_next(best.fastest)) return text;
  return text + "; next: " + beside_cpu(answer.rows[leader.next], answer);
}

RangedFigure ranged(const std::optional<PredictedAmount>& amount) {
  if (!amount || !amount->expected) return {};
  RangedFigure figure{amount->expected, {}};
  if (amount->low && amount->high) figure.ends = std::pair(*amount->low, *amount->high);
  return figure;
}

std::optional<PredictedAmount> usd_of(const Prediction& prediction) {
  return prediction.cost ? prediction.cost->usd : std::nullopt;
}

std::string instance_text(const Prediction& prediction) {
  if (!prediction.cost) return prediction.device;
  const std::string& instance = prediction.cost->instance;
  return instance == prediction.device ? instance : instance + " (" + prediction.device + ")";
}

// "g4dn.xlarge (t4), $54.15 ($40.65 to $85.90) and 103 hours (77.3 to 163)".
std::string rental_text(const Prediction& prediction) {
  const RangedFigure usd = ranged(usd_of(prediction)), hours = ranged(prediction.hours);
  std::string text = instance_text(prediction) + ", ";
  if (usd.value) text += predicted_usd_text(*usd.value) + ends_text(usd, predicted_usd_text) + " and ";
  return text + three_digits(*hours.value) + " hours" + ends_text(hours, three_digits);
}

}  // namespace

std::string device_text(const ElsewhereRow& row) {
  return without_maker(row.device) + (row.tuned ? ", tuned" : "") + load_mark(row.disturbed);
}

std::string predicted_usd_text(double usd) {
  constexpr double kWithoutCents = 100;
  return usd < kWithoutCents ? format_usd(usd) : "$" + format_whole(usd);
}

std::vector<std::string> conclusions(const Elsewhere& answer) {
  const BestRows best = best_rows(answer);
  return sentences(
      best.cheapest, best.fastest, "cheapest epoch", [&](const Leader& leader) { return leader_text(leader, answer, best); },
      [&](std::size_t place) { return device_text(answer.rows[place]); });
}

std::vector<std::string> conclusions(const std::vector<Prediction>& predictions) {
  std::vector<RangedFigure> costs, hours;
  std::vector<std::string> instances, devices;  // of earlier rows, which are cheaper
  const auto once = [](std::vector<std::string>& seen, const std::string& name) {
    if (contains(seen, name)) return false;
    seen.push_back(name);
    return true;
  };
  for (const Prediction& each : predictions) {
    if (each.work.model != predictions.front().work.model) return {};
    const bool first_of_instance = once(instances, instance_text(each)), first_of_device = once(devices, each.device);
    costs.push_back(first_of_instance ? ranged(usd_of(each)) : RangedFigure());
    hours.push_back(first_of_device ? ranged(each.hours) : RangedFigure());
  }
  return sentences(
      find_leader(costs, Better::smaller), find_leader(hours, Better::smaller), "cheapest",
      [&](const Leader& leader) { return rental_text(predictions[leader.place]); },
      [&](std::size_t place) { return instance_text(predictions[place]); });
}

}  // namespace epochbench
