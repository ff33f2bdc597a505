#include "src/analysis/claims/own_claim.h"

#include <algorithm>

#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/figures/figure.h"

namespace epochbench {
namespace {

struct Measure {
  const char* word;
  const char* metric;  // of claim_kinds.h
  const char* about;
  const char* unit;  // of a value; a ratio is in x
  double scale = 1;
};
constexpr Measure kMeasures[] = {{"speed", kThroughput.key, kThroughput.unit.shown, kThroughput.unit.shown},
                                 {"per-dollar", "epochs_per_usd", "epochs per USD", "epochs/USD"},
                                 {"per-joule", "epochs_per_joule", "epochs per joule", "epochs/J"},
                                 {"memory", kPeakMemory.key, kPeakMemory.title, kPeakMemory.unit.shown, 1 << 20},
                                 {"accuracy", "eval_percent", kTestAccuracy.title, kTestAccuracy.unit.shown}};

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw CallError("--claim: '" + text + "': " + why + "; write " + kOwnClaimGrammar);
}

RunChoice side(const std::string& text, const std::string& word) {
  RunChoice choice;
  choice.backends = {BackendKind::cuda, BackendKind::cpu};
  choice.precisions = {Precision::fp32};
  const std::vector<std::string> parts = split(word, '-');
  std::size_t used = 0;
  if (const auto backend = from_name<BackendKind>(parts[0]); backend && contains(choice.backends, *backend)) {
    choice.backends = {*backend};
    ++used;
  }
  if (const auto precision = used < parts.size() ? from_name<Precision>(parts[used]) : std::nullopt) {
    choice.precisions = {*precision};
    ++used;
  }
  if (used == 0 || used < parts.size()) refuse(text, "'" + word + "' is not cpu, cuda, a precision, or both as in cuda-bf16");
  return choice;
}

ClaimedRange range_of(const std::string& text, const std::string& operation, const std::string& number) {
  constexpr double kLow = 0.8, kHigh = 1.25, kMax = 1e18;
  double value = 0;
  try {
    value = parse_real(number, {-kMax, kMax});
  } catch (const CallError&) {
    refuse(text, "'" + number + "' is not a number");
  }
  if (operation.starts_with(">")) return {value, {}, false};
  if (operation.starts_with("<")) return {{}, value, true};
  return {std::min(kLow * value, kHigh * value), std::max(kLow * value, kHigh * value), false};
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts = split(text, ' ');
  std::erase(parts, "");
  return parts;
}

// "a / b" as "a/b".
std::string closed(std::string text) {
  replace_all(text, " /", "/");
  replace_all(text, "/ ", "/");
  return text;
}

}  // namespace

Claim parse_own_claim(const std::string& text, const std::vector<std::string>& models) {
  const std::string operators = "<>=";
  const std::size_t last = text.find_last_of(operators);  // a model's options contain = too
  if (last == std::string::npos) refuse(text, "the operator is missing");
  const std::size_t first =
      last > 0 && text[last] == '=' && operators.find(text[last - 1]) != std::string::npos ? last - 1 : last;
  const std::string operation = text.substr(first, last - first + 1);
  std::vector<std::string> parts = parts_of(closed(text.substr(0, first))), number = parts_of(text.substr(last + 1));
  if (operation == "==") refuse(text, "'==' is not an operator");
  if (number.size() != 1) refuse(text, number.empty() ? "the number is missing" : "only a number may follow the operator");

  ClaimQuantity quantity;
  quantity.models = models;
  if (parts.size() >= 2 && parts[parts.size() - 2] == "of") {
    quantity.models = {parts.back()};
    parts.resize(parts.size() - 2);
  }
  const Measure* measure = &kMeasures[0];
  if (parts.size() == 2) {
    measure = std::ranges::find(kMeasures, parts.front(), &Measure::word);
    if (measure == std::end(kMeasures))
      refuse(text, "'" + parts.front() + "' is not a measure; choose from " + joined(kMeasures, &Measure::word));
    parts.erase(parts.begin());
  }
  if (parts.size() != 1) refuse(text, parts.empty() ? "the quantity is missing" : "'" + parts[1] + "' is not expected");
  const std::vector<std::string> sides = split(parts.front(), '/');
  if (sides.size() > 2) refuse(text, "a ratio has two sides");

  quantity.of = side(text, sides[0]);
  quantity.measure = measure->metric;
  quantity.quantity = std::string(measure->about) + ", " + sides[0];
  quantity.claimed = range_of(text, operation, number.front());
  if (sides.size() == 2) {
    quantity.kind = "ratio";
    quantity.to = side(text, sides[1]);
    quantity.quantity += " over " + sides[1];
    quantity.unit = "x";
  } else {
    quantity.kind = "value";
    quantity.unit = measure->unit;
    quantity.scale = measure->scale;
  }
  if (quantity.models.empty()) {
    quantity.kind = "missing";
    quantity.reason = "no run succeeded, so no model can be judged";
  }
  return {text,
          "",
          "none given",
          "the call",
          "runs of both sides with the same work, five repetitions each",
          "the 95 % interval beside the claimed range; the worst of the models",
          HoldsFor::all,
          {},
          {quantity}};
}

}  // namespace epochbench
