// What a number of a run is called, its unit, which direction is better, and how the repetitions of a case become one number.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "src/base/lookup.h"
#include "src/result/result.h"

namespace epochbench {

struct Unit {
  const char* name;             // in the terms of OpenMetrics: "seconds"; "" for a pure number
  const char* shown;            // for tools that take a number and a unit apart: "ms"
  double scale;                 // from `name` to `shown`
  std::string (*text)(double);  // for people: "1.23 ms"
};

// The direction in which a tool that sends alerts takes a change for an improvement.
enum class Better : std::uint8_t { smaller, bigger, neither };

// How the repetitions of a case become one number (src/figures/summarize.h).
enum class Pooling : std::uint8_t {
  geometric_mean,
  mean,      // for values that may be 0
  greatest,  // for values that do not depend on chance, or that should not occur at all
  by_seed    // for qualities: the mean of the repetitions with one seed; seeds stay apart
};

struct Figure {
  const char* key;     // as in the result if it has this key: "step_seconds_median"
  const char* metric;  // OpenMetrics' name, which ends with the unit; null: not for formats that take single numbers
  const Unit& unit;
  const char* title;        // "step time, median"
  const char* short_title;  // at the head of a column: "step"
  Better better;
  Pooling pooling;
  std::optional<double> (*value)(const Run&);  // in `unit`; empty: not known
};

// A number as the run has it: recorded<&Run::timing, &Timing::epoch_seconds>(run). Empty if its group or the number is not
// known.
template <auto kGroup, auto kMember>
std::optional<double> recorded(const Run& run) {
  const auto member = member_of(run.*kGroup, kMember);
  if (!member || !std::isfinite(static_cast<double>(*member))) return std::nullopt;
  return static_cast<double>(*member);
}

// Whether the amounts are in USD, as their names say; a file of another origin may name another currency; the two never mix.
bool in_usd(const Cost& cost);

}  // namespace epochbench
