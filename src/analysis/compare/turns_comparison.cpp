// The comparison of two binaries that took turns, from the document of their pairs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/compare/comparison.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/case/case_option.h"

namespace epochbench {
namespace {

// `cut_short`: no more can be measured, and nothing so far counts against the new side.
enum class Fate : std::uint8_t { good, none, changed, ended_new, ended_baseline, ended_both, cut_short };

bool has_ended(const TurnsSide& side) { return side.status != RunStatus::ok; }

bool changed(const TurnsPair& pair) {
  const auto& [baseline, contender] = pair.sides;
  return baseline.fingerprint && contender.fingerprint && baseline.fingerprint != contender.fingerprint;
}

// Whether two processes of one workload were not measured side by side, for example for lack of memory for both at once.
bool left_out(const TurnsPair& pair) {
  return pair.sides[kBaseline].status == RunStatus::skipped && pair.sides[kContender].status == RunStatus::skipped;
}

// The fate of the first pair that is not good, if there is one: no more pairs are run then. A baseline that ends after good
// pairs does not make the case new.
Fate fate_of(const TurnsCase& turns) {
  if (turns.skipped || turns.pairs.empty()) return Fate::none;
  bool begun = false;
  for (const TurnsPair& pair : turns.pairs) {
    if (changed(pair)) return Fate::changed;
    if (left_out(pair)) return Fate::cut_short;
    const bool baseline = has_ended(pair.sides[kBaseline]), contender = has_ended(pair.sides[kContender]);
    if (baseline) return begun ? Fate::cut_short : contender ? Fate::ended_both : Fate::ended_baseline;
    if (contender) return Fate::ended_new;
    begun = true;
  }
  return Fate::good;
}

bool has_decision(Fate fate) { return fate == Fate::good || fate == Fate::cut_short; }

std::string why_ended(const TurnsSide& side) { return describe(side.status, side.message); }

// The side in the first pair in which it ended. Precondition: there is one.
const TurnsSide& ended_side(const TurnsCase& turns, Side side) {
  return std::ranges::find_if(turns.pairs, [&](const TurnsPair& pair) { return has_ended(pair.sides[side]); })->sides[side];
}

// Over the pairs in which that side's process reported it.
template <class Get>
std::vector<double> reported_by(const TurnsCase& turns, Side side, const Get& get) {
  return known_values(turns.pairs, [&](const TurnsPair& pair) { return get(pair.sides[side]); });
}

// The maximum over all pairs; empty if one does not know it.
std::optional<double> foreign_cores_of(const TurnsCase& turns) {
  const auto cores = known_values(turns.pairs, [](const TurnsPair& pair) { return pair.foreign_cpu_cores; });
  return cores.empty() || cores.size() < turns.pairs.size() ? std::nullopt : std::optional(std::ranges::max(cores));
}

// For pairs of one seed: both sides trained the same batches from the same weights, so losses may differ by rounding only.
std::optional<Issue> loss_issue_of(const std::vector<const TurnsPair*>& pairs, Precision precision) {
  std::array<std::vector<std::vector<double>>, 2> first;
  std::array<std::vector<double>, 2> last;
  const std::int64_t steps = pairs.back()->sides[kBaseline].steps;  // that the losses are of; of other pairs if it is theirs
  for (const TurnsPair* pair : pairs) {
    const bool comparable = std::ranges::all_of(
        pair->sides, [&](const TurnsSide& each) { return each.steps == steps && !each.library_dropout_masks; });
    if (!comparable) continue;
    for (const Side side : kSides) {
      first[side].push_back(pair->sides[side].first_losses);
      if (pair->sides[side].final_loss) last[side].push_back(*pair->sides[side].final_loss);
    }
  }
  if (auto issue = final_loss_issue(first[kBaseline], first[kContender], precision)) return issue;
  if (last[kBaseline].empty() || last[kContender].empty()) return std::nullopt;
  double scale = 0, spread = 0;  // differences between processes of one binary count as rounding
  for (const Side side : kSides) {
    const auto [low, high] = std::ranges::minmax_element(last[side]);
    spread = std::max(spread, *high - *low);
    for (const auto& losses : first[side])
      for (const double loss : losses) scale = std::max(scale, std::fabs(loss));
  }
  const double before = median(last[kBaseline]), after = median(last[kContender]);
  const auto issue = loss_issue(before, after, static_cast<std::size_t>(steps), scale, precision);
  return issue && !(std::fabs(after - before) <= 2 * spread) ? issue : std::nullopt;
}

// For the first seed whose losses differ.
std::optional<Issue> loss_issue_of(const TurnsCase& turns) {
  struct OfSeed {
    std::optional<std::uint64_t> seed;
    std::vector<const TurnsPair*> pairs;
  };
  ListByKey<&OfSeed::seed> seeds;
  for (const TurnsPair& pair : turns.pairs) seeds[pair.seed].pairs.push_back(&pair);
  for (const OfSeed& each : seeds)
    if (auto issue = loss_issue_of(each.pairs, turns.precision)) return issue;
  return std::nullopt;
}

std::vector<Issue> issues_of(const TurnsCase& turns) {
  std::vector<Issue> issues;
  const auto add = [&](const std::optional<Issue>& issue) {
    if (issue) issues.push_back(*issue);
  };
  const auto of_both = [&](auto issue, const auto& get) {
    add(issue(reported_by(turns, kBaseline, get), reported_by(turns, kContender, get)));
  };
  of_both(peak_memory_issue, [](const TurnsSide& side) { return side.peak_bytes; });
  add(loss_issue_of(turns));
  of_both(compile_time_issue, [](const TurnsSide& side) { return side.compile_seconds; });
  return issues;
}

ComparedCase measured(const TurnsCase& turns, Decision decision) {
  ComparedCase compared;
  compared.name = turns.name;
  compared.decision = std::move(decision);
  for (const Side side : kSides) {
    compared.step_seconds[side] =
        median_if_any(reported_by(turns, side, [](const TurnsSide& each) { return each.step_seconds_median; }));
    compared.processes[side] = log_ratios(turns).size();
  }
  compared.foreign_cores = foreign_cores_of(turns);
  return compared;
}

ComparedCase ended(const TurnsCase& turns) {
  Decision decision;
  decision.finding = Finding::regression;
  decision.note = "it was ok and is not";
  ComparedCase compared = measured(turns, decision);
  compared.step_seconds[kContender].reset();  // a case that is not ok has no time, whatever earlier pairs had
  compared.issues.push_back({.code = IssueCode::not_ok, .reason = why_ended(ended_side(turns, kContender))});
  return compared;
}

// The estimate of the earlier pairs, which decide nothing: what the others would have said is unknown.
ComparedCase cut_short(const TurnsCase& turns, Decision decision) {
  const TurnsPair& last =
      *std::ranges::find_if(turns.pairs, [](const TurnsPair& pair) { return has_ended(pair.sides[kBaseline]); });
  const TurnsSide& baseline = last.sides[kBaseline];
  decision.finding = Finding::not_compared;
  decision.more.reset();
  decision.note = left_out(last) ? baseline.message.value_or("a pair was skipped")
                                 : std::string(has_ended(last.sides[kContender]) ? "both binaries" : "the baseline") +
                                       " failed in a later pair: " + why_ended(baseline);
  return measured(turns, std::move(decision));
}

std::string workloads_text(const TurnsCase& turns) {
  const auto& [baseline, contender] = std::ranges::find_if(turns.pairs, changed)->sides;
  return "another workload by this name: " + *baseline.fingerprint + " and " + *contender.fingerprint;
}

// For the cases that have good pairs, or are to have some, in the document's order.
std::vector<PairedDecision> decide(const TurnsDocument& document, const PairedRule& rule) {
  std::vector<std::vector<double>> logs;
  for (const TurnsCase& turns : document.cases)
    if (has_decision(fate_of(turns))) logs.push_back(log_ratios(turns));
  return decide_pairs(logs, rule);
}

}  // namespace

std::vector<double> log_ratios(const TurnsCase& turns) {
  return known_values(turns.pairs, [](const TurnsPair& pair) { return pair.log_ratio; });
}

PairedRule rule_of(const TurnsDocument& document) {
  PairedRule rule;
  rule.threshold = document.threshold.value_or(rule.threshold);
  if (document.max_pairs) rule.max_pairs = static_cast<std::size_t>(*document.max_pairs);
  return rule;
}

std::vector<std::size_t> pairs_wanted(const TurnsDocument& document, const PairedRule& rule) {
  const std::vector<PairedDecision> decisions = decide(document, rule);
  std::vector<std::size_t> wanted;
  std::size_t next = 0;
  for (const TurnsCase& turns : document.cases) {
    const Fate fate = fate_of(turns);
    const std::size_t decided = has_decision(fate) ? decisions[next++].wanted : 0;
    const bool begins = fate == Fate::none && !turns.skipped;
    wanted.push_back(begins ? rule.pairs_at(0) : fate == Fate::good ? decided : 0);
  }
  return wanted;
}

namespace {

// The options of a call with these cases: "--batch 8,16 --model lenet5".
std::string case_options_text(const std::vector<TurnsCase>& cases) {
  std::map<std::string, std::vector<std::string>> values;
  for (const TurnsCase& turns : cases)
    for (const auto& [key, value] : turns.settings) {
      if (key == "model_options") continue;
      std::string text = key == "model" ? model_text(turns.settings) : to_text(value);
      if (!contains(values[key], text)) values[key].push_back(std::move(text));
    }
  std::string options;
  for (const auto& [key, texts] : values)
    if (const CaseOption* option = find_case_option(key))
      append(options, flag(*option) + " " + joined(texts, shell_word, ","), " ");
  return options;
}

}  // namespace

Comparison compare_turns(const TurnsDocument& document, const PairedRule& rule) {
  Comparison comparison;
  comparison.interleaved = true;
  comparison.threshold = rule.threshold;
  comparison.suite = document.suite;
  if (document.suite.empty()) comparison.case_options = case_options_text(document.cases);
  for (const Side side : kSides)
    comparison.sides[side] = {document.builds[side], document.binaries[side], document.context.date};
  const std::vector<PairedDecision> decisions = decide(document, rule);
  std::size_t next = 0;
  for (const TurnsCase& turns : document.cases) {
    const Fate fate = fate_of(turns);
    switch (fate) {
      case Fate::good:
        comparison.cases.push_back(measured(turns, decisions[next++]));
        comparison.cases.back().issues = issues_of(turns);
        break;
      case Fate::cut_short:
        comparison.cases.push_back(cut_short(turns, decisions[next++]));
        break;
      case Fate::none:
        comparison.not_measured.push_back({turns.name, turns.skipped.value_or("no pair was measured")});
        break;
      case Fate::changed:
        comparison.changed.push_back({turns.name, workloads_text(turns)});
        break;
      case Fate::ended_new:
        comparison.cases.push_back(ended(turns));
        break;
      case Fate::ended_baseline:
        comparison.baseline_not_ok.push_back({turns.name, why_ended(ended_side(turns, kBaseline))});
        break;
      case Fate::ended_both:
        comparison.not_measured.push_back({turns.name, "both binaries: " + why_ended(ended_side(turns, kContender))});
        break;
    }
  }
  return comparison;
}

}  // namespace epochbench
