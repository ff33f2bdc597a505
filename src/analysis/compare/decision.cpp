#include "src/analysis/compare/decision.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/rank_shift.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr double kIntervalEnd = 0.025;                    // what a 95 % interval leaves out on either side
constexpr double kMaterialShare = 2.0 / 3;                // a change below this share of the threshold is not a regression
constexpr double kNormal99 = 2.3263, kNormal95 = 1.6449;  // quantiles
constexpr double kMaxPairs = 1e6;                         // the most that are counted; a larger number says no more
constexpr std::size_t kMaxWorthwhile = 200;               // the most that anyone would measure

struct EvidenceUnit {
  const char *one, *several;
  double (*smallest_p)(std::size_t count);  // possible with this count
};

constexpr EvidenceUnit kPair{"pair", "pairs", [](std::size_t count) { return std::pow(0.5, count); }};
constexpr EvidenceUnit kRepetitionPerSide{"repetition per side", "repetitions per side", [](std::size_t count) {
                                            double one_order_of_all = 1;
                                            for (std::size_t i = 1; i <= count; ++i)
                                              one_order_of_all *= static_cast<double>(i) / static_cast<double>(count + i);
                                            return one_order_of_all;
                                          }};

// The evidence about a case.
struct CaseEvidence {
  RankShift shift;    // of the log ratio
  std::size_t count;  // pairs, or repetitions of the side that has fewer
  double deviation;   // standard deviation of the log ratio from one pair, or from one repetition per side
  const EvidenceUnit* unit;
};

// A case at one look: with evidence, or with what an earlier look found.
struct Candidate {
  const CaseEvidence* evidence = nullptr;
  Finding before = Finding::inconclusive;
};

struct Judgment {
  Finding finding = Finding::inconclusive;
  double level = 0;  // that Holm leaves the case, in the direction of its estimate
};

// A case that an earlier look has decided keeps its place in the count: it was shown then, or never will be. So each look is
// Holm's test of everything that earlier looks have not shown, whichever cases they stopped.
Rejections shown(std::span<const Candidate> candidates, Finding direction, double error) {
  std::vector<double> p_values;
  for (const Candidate& candidate : candidates) {
    if (!candidate.evidence)
      p_values.push_back(candidate.before == direction ? 0 : 1);
    else
      p_values.push_back(direction == Finding::regression ? candidate.evidence->shift.p_above()
                                                          : candidate.evidence->shift.p_below());
  }
  return holm(p_values, error);
}

bool interval_lies_within(const RankShift& shift, double limit) {
  const auto lower = shift.lower(kIntervalEnd), upper = shift.upper(kIntervalEnd);
  return lower && upper && -limit < *lower && *upper < limit;
}

std::vector<Judgment> judge(std::span<const Candidate> candidates, double error, double limit) {
  const Rejections slower = shown(candidates, Finding::regression, error);
  const Rejections faster = shown(candidates, Finding::improvement, error);
  std::vector<Judgment> judgments(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].evidence) continue;
    const RankShift& shift = candidates[i].evidence->shift;
    judgments[i].level = shift.estimate() > 0 ? slower.level : faster.level;
    if (slower.rejected[i] && shift.estimate() >= kMaterialShare * limit)
      judgments[i].finding = Finding::regression;
    else if (faster.rejected[i] && shift.estimate() <= -kMaterialShare * limit)
      judgments[i].finding = Finding::improvement;
    else if (interval_lies_within(shift, limit))
      judgments[i].finding = Finding::no_change;
  }
  return judgments;
}

// The count at which a slowdown of the threshold is shown at 99 % with a probability of 95 %, and none is shown to be less than
// it at 95 % with a probability of 99 %: ((2.33 + 1.64) deviation / threshold)^2. If there are as many already, the truth is
// near the border between findings; then the count at which the interval, at its present width, would shrink to the gap.
double count_that_decides(const CaseEvidence& evidence, double level, double limit) {
  const double planned = std::pow((kNormal99 + kNormal95) * evidence.deviation / limit, 2);
  const auto count = static_cast<double>(evidence.count);
  if (planned > count) return planned;
  const RankShift& shift = evidence.shift;
  const double estimate = shift.estimate(), size = std::fabs(estimate);
  if (size >= kMaterialShare * limit) {
    const auto bound = estimate > 0 ? shift.lower(level) : shift.upper(level);
    return bound ? count * std::pow((estimate - *bound) / estimate, 2) : planned;
  }
  const auto lower = shift.lower(kIntervalEnd), upper = shift.upper(kIntervalEnd);
  if (!lower || !upper) return planned;
  return count * std::pow(std::max(estimate - *lower, *upper - estimate) / (limit - size), 2);
}

// Sets what an inconclusive case lacks: `more` and the note.
void say_what_would_decide(const CaseEvidence& evidence, double level, double limit, std::size_t cases, Decision& decision) {
  const auto wanted = static_cast<std::size_t>(std::min(std::ceil(count_that_decides(evidence, level, limit)), kMaxPairs));
  std::size_t least = evidence.count + 1;
  while (evidence.unit->smallest_p(least) > level) ++least;
  decision.more = std::max(wanted, least) - evidence.count;
  const std::string several = evidence.unit->several;
  const std::string remedy =
      *decision.more > kMaxWorthwhile
          ? "too noisy: not even " + std::to_string(kMaxWorthwhile) + " more " + several + " would decide"
          : "about " + std::to_string(*decision.more) + " more " + (*decision.more == 1 ? evidence.unit->one : several) +
                " would decide";
  decision.note = remedy;
  if (evidence.shift.smallest_p() > level)
    decision.note = counted(evidence.count, evidence.unit->one, evidence.unit->several) + " cannot show a change" +
                    (cases > 1 ? " among " + std::to_string(cases) + " cases" : "") + "; " + remedy;
}

void set_figures(const CaseEvidence& evidence, Decision& decision) {
  const RankShift& shift = evidence.shift;
  decision.used = evidence.count;
  decision.ratio = std::exp(shift.estimate());
  decision.p_value = std::min(1.0, 2 * std::min(shift.p_above(), shift.p_below()));
  const auto lower = shift.lower(kIntervalEnd), upper = shift.upper(kIntervalEnd);
  if (lower && upper) decision.ratio_ci95 = {std::exp(*lower), std::exp(*upper)};
}

// Describes a case that a look has judged.
void describe(const CaseEvidence& evidence, const Judgment& judgment, double limit, std::size_t cases, Decision& decision) {
  set_figures(evidence, decision);
  decision.finding = judgment.finding;
  if (judgment.finding == Finding::inconclusive)
    say_what_would_decide(evidence, judgment.level, limit, cases, decision);
  else if (judgment.finding == Finding::no_change && decision.ratio_ci95->first > 1)
    decision.note = "slower, by less than the threshold";
  else if (judgment.finding == Finding::no_change && decision.ratio_ci95->second < 1)
    decision.note = "faster, by less than the threshold";
}

bool are_numbers(std::span<const double> values) {  // at least one, and all
  return !values.empty() && std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

std::optional<CaseEvidence> evidence_of(std::span<const double> log_ratios) {
  if (!are_numbers(log_ratios)) return std::nullopt;
  return CaseEvidence{paired_shift(log_ratios), log_ratios.size(), std::sqrt(variance(log_ratios)), &kPair};
}

// One look of `decide_pairs` at the open cases that have enough pairs: decides what it can, and sets `levels` as Holm leaves
// them.
void look_at(std::span<const std::vector<double>> log_ratios, const PairedRule& rule, std::size_t pairs,
             std::vector<PairedDecision>& decisions, std::vector<double>& levels) {
  const double limit = std::log1p(rule.threshold);
  std::vector<std::optional<CaseEvidence>> evidence(decisions.size());
  std::vector<Candidate> candidates(decisions.size());
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    candidates[i].before = decisions[i].finding;
    if (decisions[i].finding != Finding::inconclusive || log_ratios[i].size() < pairs) continue;
    evidence[i] = evidence_of(std::span(log_ratios[i]).first(pairs));
    if (evidence[i]) candidates[i].evidence = &*evidence[i];
  }
  const std::vector<Judgment> judgments = judge(candidates, kFalseAlarms / static_cast<double>(rule.looks()), limit);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (!evidence[i]) continue;
    levels[i] = judgments[i].level;
    if (judgments[i].finding != Finding::inconclusive)
      describe(*evidence[i], judgments[i], limit, decisions.size(), decisions[i]);
  }
}

// A case that its last look left open, or that no look has reached yet, from all pairs that a look may use.
void describe_open(std::span<const double> log_ratios, const PairedRule& rule, std::size_t cases, double level,
                   PairedDecision& decision) {
  log_ratios = log_ratios.first(std::min(log_ratios.size(), rule.max_pairs));
  const std::size_t first = rule.pairs_at(0);
  if (!log_ratios.empty() && !are_numbers(log_ratios)) {
    decision.note = "a pair has no finite ratio";
    return;
  }
  if (log_ratios.size() < rule.max_pairs) decision.wanted = log_ratios.size() < first ? first : rule.max_pairs;
  const auto evidence = evidence_of(log_ratios);
  if (evidence && log_ratios.size() >= first) {
    describe(*evidence, {Finding::inconclusive, level}, std::log1p(rule.threshold), cases, decision);
    return;
  }
  if (evidence) set_figures(*evidence, decision);
  decision.more = first - log_ratios.size();
  decision.note = std::to_string(log_ratios.size()) + " of the first " + counted(first, kPair.one, kPair.several) + " measured";
}

constexpr std::array kSideRepetitions{&RecordedCase::baseline, &RecordedCase::contender};
constexpr std::array kSideNames{"the baseline", "the new side"};

std::string cores_text(double cores) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", cores);
  return std::string(text) + " cores";
}

// The only repetition that other jobs disturbed; empty if there are more, or too few repetitions to leave one out.
std::optional<std::size_t> only_loaded(std::span<const Repetition> repetitions) {
  std::optional<std::size_t> only;
  for (std::size_t i = 0; i < repetitions.size(); ++i) {
    if (!is_loaded(repetitions[i].foreign_cores)) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return repetitions.size() < kMinToDecide ? std::nullopt : only;
}

// Removes the repetitions that are left out, and says which in the decision.
void leave_out_loaded(RecordedCase& recorded, Decision& decision) {
  if (!recorded.log_ratios.empty()) return;
  for (std::size_t side = 0; side < kSideRepetitions.size(); ++side) {
    std::vector<Repetition>& repetitions = recorded.*kSideRepetitions[side];
    const auto index = decision.left_out[side] = only_loaded(repetitions);
    if (!index) continue;
    append(decision.note,
           "repetition " + std::to_string(*index + 1) + " of " + std::to_string(repetitions.size()) + " of " +
               kSideNames[side] + " is left out: other jobs took " + cores_text(*repetitions[*index].foreign_cores),
           "; ");
    repetitions.erase(repetitions.begin() + static_cast<std::ptrdiff_t>(*index));
  }
}

struct Unfit {  // why a case cannot be decided; empty: it can
  std::string reason;
  Remedy remedy = Remedy::none;
  Finding finding = Finding::not_compared;
};

// `recorded`: how many repetitions there were before one was left out.
Unfit unfit(std::span<const Repetition> repetitions, std::size_t recorded, std::size_t side, bool took_turns) {
  const std::string name = kSideNames[side];
  const Remedy again = side == 0 ? Remedy::measure_baseline : Remedy::measure_new;
  const std::string measure_again = "; measure " + name + " again";
  if (recorded < kMinToDecide)
    return {name + " has " + counted(recorded, "repetition", "repetitions") + ", and a decision takes " +
                std::to_string(kMinToDecide) + measure_again,
            again};
  double most = 0;
  for (const Repetition& repetition : repetitions) {
    if (!(repetition.step_seconds > 0 && std::isfinite(repetition.step_seconds)))
      return {"a repetition of " + name + " has no step time above 0" + measure_again, again};
    if (took_turns) continue;
    if (!repetition.foreign_cores)
      return {"what other jobs took while " + name + " was measured is not known; interleave two binaries", Remedy::interleave};
    most = std::max(most, *repetition.foreign_cores);
  }
  if (!is_loaded(most)) return {};
  const std::string load = "other jobs took up to " + cores_text(most) + " while " + name + " was measured";
  if (again == Remedy::measure_new) return {load, Remedy::none, Finding::inconclusive};
  return {load + measure_again, again};
}

// Why the case cannot be decided; leave_out_loaded() has been called.
Unfit unfit(const RecordedCase& recorded, const Decision& decision) {
  if (!recorded.undecidable.empty()) return {recorded.undecidable, recorded.remedy};
  for (std::size_t side = 0; side < kSideRepetitions.size(); ++side) {
    const std::vector<Repetition>& repetitions = recorded.*kSideRepetitions[side];
    if (Unfit found =
            unfit(repetitions, repetitions.size() + (decision.left_out[side] ? 1 : 0), side, !recorded.log_ratios.empty());
        !found.reason.empty())
      return found;
  }
  return {};
}

std::optional<CaseEvidence> evidence_of(const RecordedCase& recorded) {
  if (!recorded.log_ratios.empty()) return evidence_of(recorded.log_ratios);
  std::vector<double> baseline, contender;
  for (const Repetition& repetition : recorded.baseline) baseline.push_back(std::log(repetition.step_seconds));
  for (const Repetition& repetition : recorded.contender) contender.push_back(std::log(repetition.step_seconds));
  if (!are_numbers(baseline) || !are_numbers(contender)) return std::nullopt;
  return CaseEvidence{unpaired_shift(baseline, contender), std::min(baseline.size(), contender.size()),
                      std::sqrt(variance(baseline) + variance(contender)), &kRepetitionPerSide};
}

}  // namespace

Finding overall(std::span<const Finding> findings) {
  for (const Finding worst : {Finding::regression, Finding::not_compared, Finding::inconclusive, Finding::improvement})
    if (contains(findings, worst)) return worst;
  return findings.empty() ? Finding::not_compared : Finding::no_change;
}

std::vector<PairedDecision> decide_pairs(std::span<const std::vector<double>> log_ratios, const PairedRule& rule) {
  std::vector<PairedDecision> decisions(log_ratios.size());
  std::vector<double> levels(log_ratios.size());
  for (std::size_t look = 0; look < rule.looks(); ++look) look_at(log_ratios, rule, rule.pairs_at(look), decisions, levels);
  for (std::size_t i = 0; i < decisions.size(); ++i)
    if (decisions[i].finding == Finding::inconclusive)
      describe_open(log_ratios[i], rule, decisions.size(), levels[i], decisions[i]);
  return decisions;
}

std::vector<Decision> decide_recorded(std::span<const RecordedCase> cases, double threshold) {
  const double limit = std::log1p(threshold);
  std::vector<Decision> decisions(cases.size());
  std::vector<std::optional<CaseEvidence>> evidence(cases.size());
  std::vector<Candidate> candidates;  // only of those that are fit
  std::vector<std::size_t> places;    // their places among all
  for (std::size_t i = 0; i < cases.size(); ++i) {
    RecordedCase recorded = cases[i];
    leave_out_loaded(recorded, decisions[i]);
    evidence[i] = evidence_of(recorded);
    if (evidence[i]) set_figures(*evidence[i], decisions[i]);
    const Unfit found = unfit(recorded, decisions[i]);
    if (found.reason.empty()) {  // so it has evidence
      candidates.push_back({&*evidence[i]});
      places.push_back(i);
      continue;
    }
    decisions[i].finding = found.finding;
    decisions[i].remedy = found.remedy;
    append(decisions[i].note, found.reason, "; ");
  }
  const std::vector<Judgment> judgments = judge(candidates, kFalseAlarms, limit);
  for (std::size_t k = 0; k < places.size(); ++k) {
    Decision& decision = decisions[places[k]];
    const std::string left_out = std::exchange(decision.note, "");
    describe(*candidates[k].evidence, judgments[k], limit, places.size(), decision);
    append(decision.note, left_out, "; ");
    if (decision.finding == Finding::inconclusive && !cases[places[k]].log_ratios.empty()) decision.remedy = Remedy::more_turns;
  }
  return decisions;
}

}  // namespace epochbench
