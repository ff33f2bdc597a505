// Derives a claim's answer from the answers of its parts: over all parts, and over those of each class of evidence.
#include <algorithm>
#include <array>
#include <deque>

#include "src/analysis/claims/claims.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMinModelsForMost = 3;  // two of two would be all

using Parts = std::vector<const ClaimAnswer*>;

struct Conclusion {
  Verdict verdict = Verdict::not_testable;
  std::string reason;
  const ClaimAnswer* shown = nullptr;    // whose quantity and numbers the claim shows
  const ClaimAnswer* decides = nullptr;  // the part that determines the verdict
};

bool is_tested(const ClaimAnswer& part) { return part.verdict != Verdict::not_testable; }
bool holds(const ClaimAnswer& part) { return part.verdict == Verdict::reproduced || part.verdict == Verdict::exceeded; }

// Without an interval, a part decides nothing that another one with an interval does not.
bool lacks_interval(const ClaimAnswer& part) {
  return part.verdict == Verdict::undecided && part.measured && !part.measured_ci95;
}

// The best first; while one is open, no other verdict than that it holds is final.
int rank_among_alternatives(const ClaimAnswer* part) {
  constexpr std::array kBestFirst{Verdict::reproduced, Verdict::undecided, Verdict::exceeded, Verdict::not_reproduced,
                                  Verdict::not_testable};
  return static_cast<int>(std::ranges::find(kBestFirst, part->verdict) - kBestFirst.begin());
}

bool is_own(const std::optional<EvidenceClass>& evidence) {
  return !evidence || *evidence == EvidenceClass::measured || *evidence == EvidenceClass::planned;
}

// The reading that leads, undecided if some readings of its statement hold and others do not: then the verdict depends on which
// one is meant.
const ClaimAnswer* undecided_among_readings(const ClaimAnswer* leader, const std::vector<ClaimAnswer>& parts,
                                            const auto& of_class, std::deque<ClaimAnswer>& changed) {
  if (leader->alternative.empty() || !holds(*leader)) return leader;
  std::string readings;
  bool mixed = false;
  for (const ClaimAnswer& part : parts) {
    if (part.alternative != leader->alternative || !part.counts || !of_class(part.evidence)) continue;
    if (!is_tested(part) || lacks_interval(part)) continue;
    mixed = mixed || !holds(part);
    append(readings, part.id + " " + spaced(name(part.verdict)));
  }
  if (!mixed) return leader;
  ClaimAnswer& answer = changed.emplace_back(*leader);
  answer.verdict = Verdict::undecided;
  answer.reason = "depends on the reading: " + readings;
  return &answer;
}

// For every statement the part that speaks for it, in order; parts that do not count are left out. `changed` keeps parts that
// differ from those given.
Parts leading(const std::vector<ClaimAnswer>& parts, const auto& of_class, std::deque<ClaimAnswer>& changed) {
  Parts leaders;
  for (const ClaimAnswer& part : parts) {
    if (!part.counts || !of_class(part.evidence)) continue;
    const auto rival = std::ranges::find_if(leaders, [&](const ClaimAnswer* leader) {
      return !part.alternative.empty() && leader->alternative == part.alternative;
    });
    if (rival == leaders.end())
      leaders.push_back(&part);
    else if (rank_among_alternatives(&part) < rank_among_alternatives(*rival))
      *rival = &part;
  }
  for (const ClaimAnswer*& leader : leaders) leader = undecided_among_readings(leader, parts, of_class, changed);
  return leaders;
}

std::string ids_of(const Parts& parts, const auto& wanted) {
  std::string ids;
  for (const ClaimAnswer* part : parts)
    if (wanted(*part)) append(ids, part->id);
  return ids;
}

Conclusion of_all(const Parts& parts) {
  Conclusion conclusion{Verdict::not_testable, "", parts.front(), parts.front()};
  for (const ClaimAnswer* part : parts)
    if (part->verdict > conclusion.decides->verdict) conclusion.decides = part;
  conclusion.verdict = conclusion.decides->verdict;
  const bool carried = std::ranges::any_of(parts, [](const ClaimAnswer* part) { return part->carries && is_tested(*part); });
  if (!carried && conclusion.verdict != Verdict::not_testable && conclusion.verdict != Verdict::not_reproduced) {
    conclusion.verdict = Verdict::not_testable;
    conclusion.reason = "what could be tested does not carry the claim without " +
                        ids_of(parts, [](const ClaimAnswer& part) { return part.carries; });
    return conclusion;
  }
  const ClaimAnswer& worst = *conclusion.decides;
  if (!worst.reason.empty())
    conclusion.reason = worst.id + ": " + worst.reason;
  else if (conclusion.verdict != Verdict::reproduced)
    conclusion.reason = "for " + worst.id;
  // A part about which nothing is claimed was tested if it has a value.
  const std::string untested = ids_of(parts, [](const ClaimAnswer& part) { return !is_tested(part) && !part.measured; });
  if (!untested.empty() && conclusion.verdict != Verdict::not_testable)
    append(conclusion.reason, "not testable here: " + untested, "; ");
  return conclusion;
}

// A claim about some model holds if it holds for one; while one is open, no other verdict is final. Models on both sides of the
// range, and none in it, do not show that one is in it, nor that none is. The best of the parts that carry it speaks for it.
Conclusion of_any(Parts parts) {
  const ClaimAnswer* first = parts.front();
  std::erase_if(parts, [](const ClaimAnswer* part) { return !part->carries; });
  if (parts.empty()) return {Verdict::not_testable, "what could be tested does not carry the claim", first, first};
  const ClaimAnswer* best = *std::ranges::min_element(parts, {}, rank_among_alternatives);
  std::string measured;
  for (const ClaimAnswer* part : parts)
    if (part->measured)
      append(measured,
             part->id + " " + short_number(*part->measured, 3) + (part->unit == "x" ? "" : " ") + part->unit + ", " +
                 (part->verdict == Verdict::reproduced ? "which holds" : spaced(name(part->verdict))),
             "; ");
  Conclusion conclusion{best->verdict, measured.empty() ? best->reason : "of a model, whichever: " + measured, best, best};
  const bool below = std::ranges::find(parts, Verdict::not_reproduced, &ClaimAnswer::verdict) != parts.end();
  if (best->verdict == Verdict::exceeded && below) {
    conclusion.verdict = Verdict::undecided;
    append(conclusion.reason, "none inside the range, and some on either side of it", "; ");
  }
  return conclusion;
}

// The part with the median measured value represents all. A part that does not carry the claim can refute it, and not support
// it.
Conclusion of_most(const Parts& parts) {
  Parts tested;
  std::ranges::copy_if(parts, std::back_inserter(tested),
                       [](const ClaimAnswer* part) { return is_tested(*part) && (part->carries || !holds(*part)); });
  if (tested.empty()) {
    const ClaimAnswer* first = parts.front();
    return {Verdict::not_testable, first->reason.empty() ? "" : first->id + ": " + first->reason, first, first};
  }
  std::ranges::stable_sort(tested, {}, [](const ClaimAnswer* part) { return part->measured.value_or(0); });
  Conclusion conclusion{Verdict::undecided, "", tested[(tested.size() - 1) / 2], tested.front()};
  const auto held =
      static_cast<std::size_t>(std::ranges::count_if(tested, [](const ClaimAnswer* part) { return holds(*part); }));
  const auto refuted = static_cast<std::size_t>(
      std::ranges::count_if(tested, [](const ClaimAnswer* part) { return part->verdict == Verdict::not_reproduced; }));
  if (tested.size() < kMinModelsForMost)
    conclusion.reason = "most takes at least " + std::to_string(kMinModelsForMost) + " models; ";
  else if (2 * held > tested.size())
    conclusion.verdict = Verdict::reproduced;
  else if (2 * refuted >= tested.size())
    conclusion.verdict = Verdict::not_reproduced;
  conclusion.reason += "it holds for " + std::to_string(held) + " of " + std::to_string(tested.size()) + " that were tested";
  const auto name_those = [&](const char* what, const auto& wanted) {
    if (const std::string ids = ids_of(parts, wanted); !ids.empty()) append(conclusion.reason, what + ids, "; ");
  };
  name_those("not for ", [](const ClaimAnswer& part) { return part.verdict == Verdict::not_reproduced; });
  name_those("undecided: ", [](const ClaimAnswer& part) { return part.verdict == Verdict::undecided; });
  name_those("not testable here: ", [](const ClaimAnswer& part) { return !is_tested(part); });
  return conclusion;
}

// Puts the reasons of the other classes of evidence before that of a run, which may end in a driver's message.
std::string with_why_of_others(const std::string& reason, const std::vector<ClaimAnswer>& parts) {
  std::string reasons;
  for (const ClaimAnswer& part : parts)
    if (!is_own(part.evidence) && !part.reason.empty() && part.reason != reason) append(reasons, part.reason, "; ");
  append(reasons, reason, "; ");
  return reasons;
}

Conclusion conclusion_of(Parts parts, HoldsFor holds_for) {
  const auto has_interval = [](const ClaimAnswer* part) {
    return is_tested(*part) && (part->measured_ci95 || !part->measured);
  };
  std::string without;
  if (std::ranges::any_of(parts, has_interval)) {
    without = ids_of(parts, lacks_interval);
    std::erase_if(parts, [](const ClaimAnswer* part) { return lacks_interval(*part); });
  }
  Conclusion conclusion = holds_for == HoldsFor::any    ? of_any(parts)
                          : holds_for == HoldsFor::most ? of_most(parts)
                                                        : of_all(parts);
  if (!without.empty()) append(conclusion.reason, "without an interval: " + without, "; ");
  return conclusion;
}

}  // namespace

void conclude(ClaimAnswer& answer, HoldsFor holds_for) {
  std::vector<ClaimAnswer> parts = std::move(answer.parts);
  std::deque<ClaimAnswer> changed;
  const auto conclusion_from = [&](const auto& of_class) -> std::optional<Conclusion> {
    const Parts leaders = leading(parts, of_class, changed);
    return leaders.empty() ? std::nullopt : std::optional(conclusion_of(leaders, holds_for));
  };
  const auto is_one = [](const std::optional<Conclusion>& from) { return from && from->verdict != Verdict::not_testable; };
  const auto decides = [&](const std::optional<Conclusion>& from) { return is_one(from) && !lacks_interval(*from->decides); };
  std::vector<std::pair<EvidenceClass, Verdict>> verdicts;
  std::optional<Conclusion> found = conclusion_from(is_own);
  for (std::size_t i = 0; i < texts_of(EvidenceClass{}).size(); ++i) {
    const auto evidence = static_cast<EvidenceClass>(i);
    const auto from = conclusion_from([&](const std::optional<EvidenceClass>& of_part) { return of_part == evidence; });
    if (!is_one(from)) continue;
    verdicts.emplace_back(evidence, from->verdict);
    if (!is_own(evidence) && (!is_one(found) || (!decides(found) && decides(from)))) found = from;
  }
  const bool alone = parts.size() == 1 && holds_for != HoldsFor::most;
  const Conclusion conclusion = found ? *found : *conclusion_from([](const auto&) { return true; });
  if (alone || holds_for == HoldsFor::any) {
    answer = ClaimAnswer(*conclusion.shown);
  } else {
    static_cast<ClaimPart&>(answer) = *conclusion.shown;
    answer.measured = conclusion.shown->measured;
    answer.measured_ci95 = conclusion.shown->measured_ci95;
    answer.conditions = conclusion.shown->conditions;
    answer.sources = conclusion.shown->sources;
  }
  answer.verdict = conclusion.verdict;
  if (!alone) answer.reason = conclusion.reason;
  if (answer.verdict == Verdict::not_testable) answer.reason = with_why_of_others(answer.reason, parts);
  answer.evidence = conclusion.decides->evidence;
  answer.verdicts = std::move(verdicts);
  answer.parts.clear();
  if (!alone && holds_for != HoldsFor::any) answer.parts = std::move(parts);
}

}  // namespace epochbench
