// Claims by expected times: how much faster devices of the catalog are expected to be than others. Both sides are predicted
// (predict/expected_time.h); neither is paired with a run. Where nothing says how fast a device is, its roofline bound counts,
// which no program passes. Expectations of two programs compare these programs too, so their ratio has no verdict.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/clock.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/figures/figure.h"

namespace epochbench {
namespace {

// The natural logarithm of a quotient, and how far an 80 % interval extends below and above it.
struct LogRatio {
  double value = 0, below = 0, above = 0;
};

constexpr double kOpen = std::numeric_limits<double>::infinity();

struct Side {
  const std::string* device = nullptr;  // as the claim names it
  const Prediction* prediction = nullptr;
  double rate = 0;                   // of the measure, as expected or at most
  double log_low = 0, log_high = 0;  // ln of the rate's interval over the rate
  bool bounded() const { return !prediction->expected; }
};

Side side_at(const std::string& device, const Prediction& prediction) {
  if (!prediction.expected) return {&device, &prediction, max_rate(prediction).value_or(0), -kOpen, 0};
  const ExpectedTime& time = *prediction.expected;
  return {&device, &prediction, expected_rate(prediction).value_or(0), std::log(time.seconds / time.high_seconds),
          std::log(time.seconds / time.low_seconds)};
}

// In the fastest of the choice's precisions that have an expectation, otherwise in that with the highest bound; empty without.
std::optional<Side> side_of(const ClaimQuantity& quantity, const RunChoice& choice, const std::string& model,
                            const std::string& device, const ClaimFacts& facts) {
  const bool per_usd = quantity.measure == "samples_per_usd";
  const auto instance = facts.instances.find(device);
  if (per_usd && instance == facts.instances.end()) return std::nullopt;
  std::optional<Side> best;
  for (const Precision precision : choice.precisions) {
    const auto found = facts.predictions.find({device, step_of(choice, model, precision)});
    if (found == facts.predictions.end()) continue;
    Side side = side_at(device, found->second);
    if (per_usd) side.rate *= kSecondsPerHour / instance->second.usd_per_hour;
    if (side.rate > 0 && (!best || std::pair(!side.bounded(), side.rate) > std::pair(!best->bounded(), best->rate)))
      best = side;
  }
  return best;
}

struct ExpectedPair {
  Side of, to;
  // Errors of both sides are independent, since each has a fit of its own.
  LogRatio ratio() const {
    return {std::log(of.rate / to.rate), std::hypot(of.log_low, to.log_high), std::hypot(of.log_high, to.log_low)};
  }
  bool bounded() const { return of.bounded() || to.bounded(); }
  // "PyTorch over epochbench"; empty for one program, and for a bound, which is of no program.
  std::string programs() const {
    if (bounded() || of.prediction->expected->program == to.prediction->expected->program) return "";
    return of.prediction->expected->program + " over " + to.prediction->expected->program;
  }
  std::string name() const { return of.prediction->name + " over " + to.prediction->name; }
};

// The range of all pairs of a model, or of a family of models: from the lowest to the highest end of their intervals.
struct Range {
  double low = kOpen, high = -low, sum = 0;
  int count = 0;
  std::string least, greatest;  // names of pairs
  double least_value = low, greatest_value = -low;

  void add(const LogRatio& ratio, const std::string& name) {
    low = std::min(low, ratio.value - ratio.below);
    high = std::max(high, ratio.value + ratio.above);
    sum += ratio.value;
    ++count;
    if (ratio.value < least_value) std::tie(least, least_value) = std::pair(name, ratio.value);
    if (ratio.value > greatest_value) std::tie(greatest, greatest_value) = std::pair(name, ratio.value);
  }
  double mean() const { return sum / count; }
};

// Adds the error of the predictions, why a side has only a bound, and their notes, as `plan --on` does.
void say_error(ClaimAnswer& answer, const std::vector<ExpectedPair>& pairs) {
  std::vector<std::string> errors, notes;
  const auto add = [](std::vector<std::string>& texts, const std::string& text) {
    if (!contains(texts, text)) texts.push_back(text);
  };
  for (const ExpectedPair& pair : pairs)
    for (const Prediction* each : {pair.of.prediction, pair.to.prediction}) {
      if (each->expected) {
        cite(answer.sources, {"expected times, from a model fitted on " + each->expected->evidence, ""});
        add(errors, format_percent(each->expected->error.median));
      } else {
        add(notes, each->expected_reason);
      }
      for (const std::string& note : each->notes) add(notes, note);
    }
  append(answer.conditions, "median error on devices left out of the fit " + joined(errors, " and "), "; ");
  append(answer.conditions, joined(notes, "; "), "; ");
}

// "NVIDIA T4, NVIDIA L4 in fp32", "NVIDIA T4 in fp16, NVIDIA L4 in bf16": a precision follows the last device that has it.
std::string names_of(const std::vector<ExpectedPair>& pairs, Side ExpectedPair::*side) {
  std::vector<std::string> names;
  std::string last;
  for (const ExpectedPair& pair : pairs) {
    const Prediction& each = *(pair.*side).prediction;
    const std::string precision = std::string(" in ") + name(each.work.precision);
    if (!last.empty() && last != precision && !names.back().ends_with(last)) names.back() += last;
    if (!contains(names, each.name) && !contains(names, each.name + precision)) names.push_back(each.name);
    last = precision;
  }
  return joined(names) + last;
}

ClaimAnswer answered_by_pairs(const ClaimQuantity& quantity, const Range& range, const std::vector<ExpectedPair>& pairs,
                              const std::string& work, bool as_ratio) {
  const auto value = [&](double number) { return as_ratio ? std::exp(number) : number; };
  std::string conditions = names_of(pairs, &ExpectedPair::of) + ", each against " + names_of(pairs, &ExpectedPair::to) +
                           "; training " + work + "; 80 % interval";
  const auto shown = [&](double number) { return significant(value(number) / quantity.scale, 3); };
  if (range.count > 1)
    conditions += " of all pairs, from " + shown(range.least_value) + " (" + range.least + ") to " +
                  shown(range.greatest_value) + " (" + range.greatest + ")";
  const std::pair interval(value(range.low), value(range.high));
  ClaimAnswer answer = answered(quantity, {value(range.mean()), interval, ""}, conditions);
  if (answer.verdict == Verdict::undecided) answer.reason = "what is expected lies on both sides of a bound of the claim";
  for (const ExpectedPair& pair : pairs)
    if (const std::string programs = pair.programs(); !programs.empty()) {
      answer.verdict = Verdict::not_testable;
      answer.reason = programs + ": a ratio of two programs does not decide about devices";
    }
  say_error(answer, pairs);
  return answer;
}

std::string batch_text(const ClaimQuantity& quantity) { return "at batch " + std::to_string(quantity.of.batch.value_or(1)); }

std::vector<ExpectedPair> pairs_of(const ClaimQuantity& quantity, const std::string& model, const ClaimFacts& facts) {
  std::vector<ExpectedPair> pairs;
  for (const std::string& of : quantity.entries)
    for (const std::string& to : quantity.against) {
      const auto side = side_of(quantity, quantity.of, model, of, facts),
                 other = side_of(quantity, *quantity.to, model, to, facts);
      if (side && other && !(side->bounded() && other->bounded())) pairs.push_back({*side, *other});
    }
  return pairs;
}

// One answer per pair of devices if `each`, otherwise one.
Answers answer_ratios(const ClaimQuantity& quantity, const ClaimFacts& facts) {
  const std::string& model = quantity.models.front();
  const std::vector<ExpectedPair> pairs = pairs_of(quantity, model, facts);
  if (pairs.empty()) return {unanswered(quantity, "no expected time of " + model + " on these devices")};
  const std::string work = model + " " + batch_text(quantity);
  Range all;
  Answers answers;
  for (const ExpectedPair& pair : pairs) {
    all.add(pair.ratio(), pair.name());
    if (!quantity.each) continue;
    Range alone;
    alone.add(pair.ratio(), pair.name());
    answers.push_back(answered_by_pairs(quantity, alone, {pair}, work, true));
    answers.back().id += "/" + *pair.of.device + "/" + *pair.to.device;
  }
  if (!quantity.each) answers.push_back(answered_by_pairs(quantity, all, pairs, work, true));
  return answers;
}

// The slope of ln(ratio) over ln(parameters) for each pair of devices, assuming that errors of models are independent.
ClaimAnswer answer_growth(const ClaimQuantity& quantity, const ClaimFacts& facts) {
  std::map<std::string, std::vector<std::pair<Point, LogRatio>>> curves;  // by the names of both devices
  std::vector<ExpectedPair> all;
  for (const std::string& model : quantity.models) {
    const auto plan = facts.plans.find(step_of(quantity.of, model));
    if (plan == facts.plans.end()) continue;
    for (const ExpectedPair& pair : pairs_of(quantity, model, facts)) {
      if (pair.bounded()) continue;  // bounds do not say how a ratio grows
      const LogRatio ratio = pair.ratio();
      curves[pair.name()].push_back({{std::log(static_cast<double>(plan->second.parameters)), ratio.value}, ratio});
      all.push_back(pair);
    }
  }
  Range range;
  for (const auto& [name, curve] : curves) {
    if (curve.size() < std::max(kMinSizes, quantity.models.size())) continue;
    std::vector<Point> points;
    for (const auto& [point, ratio] : curve) points.push_back(point);
    LogRatio growth{slope(points), 0, 0};
    // How the slope depends on one point: it is the slope for y = 1 at that point and 0 elsewhere.
    for (std::size_t i = 0; i < curve.size(); ++i) {
      for (std::size_t j = 0; j < points.size(); ++j) points[j].y = i == j ? 1 : 0;
      const double weight = slope(points);
      const LogRatio& ratio = curve[i].second;
      growth.below = std::hypot(growth.below, weight * (weight > 0 ? ratio.below : ratio.above));
      growth.above = std::hypot(growth.above, weight * (weight > 0 ? ratio.above : ratio.below));
    }
    range.add(growth, name);
  }
  if (range.count == 0) return unanswered(quantity, "no pair of devices has expected times of " + joined(quantity.models));
  return answered_by_pairs(quantity, range, all, joined(quantity.models) + " " + batch_text(quantity), false);
}

Answers answer_expected(const ClaimQuantity& quantity, const Evidence& evidence) {
  if (quantity.over == kOverParameters) return {answer_growth(quantity, evidence.facts)};
  return answer_ratios(quantity, evidence.facts);
}

void add_expected(const ClaimQuantity& quantity, ClaimSteps& steps) {
  const auto add = [&](const RunChoice& choice, const std::string& model, const std::vector<std::string>& devices) {
    for (const Precision precision : choice.precisions)
      for (const std::string& device : devices) steps.predicted.insert({device, step_of(choice, model, precision)});
  };
  for (const std::string& model : quantity.models) {
    add(quantity.of, model, quantity.entries);
    add(*quantity.to, model, quantity.against);
    if (quantity.over == kOverParameters) steps.planned.insert(step_of(quantity.of, model));  // for its parameters
  }
}

}  // namespace

ClaimKinds expected_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "expected",
       .answers = answer_expected,
       .needs = "models of.precisions to to.precisions entries against",
       .measures =
           +[] {
             return Words{kThroughput.key, "samples_per_usd"};
           },
       .over = kOverParameters,
       .by_model = true,
       .evidence = EvidenceClass::predicted,
       .add_steps = add_expected},
  };
  return kKinds;
}

}  // namespace epochbench
