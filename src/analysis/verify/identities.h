// What must be true of the numbers of any result, each against the others.
//
// A run whose numbers contradict each other was edited or damaged. What agrees may still be false: nothing in a file is signed,
// and a side that was slowed on purpose passes any arithmetic (docs/results.md).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/analysis/cost/cost.h"
#include "src/analysis/predict/device_catalog.h"
#include "src/result/turns.h"

namespace epochbench {

// What the numbers of a file are compared with besides each other.
struct KnownFacts {
  const DeviceCatalog& devices;
  std::span<const CatalogPrice> prices;
  // How a run's parameters and FLOPs differ from those of its model, "" where they do not or this build has no such model.
  std::function<std::string(const Run&)> model_contradiction = {};
};

struct Contradiction {
  std::size_t place = 0;  // index in Result::runs or in TurnsDocument::cases
  std::string key;  // the identity: the figure that it is about, or what several runs share: "samples_per_second", "repetition"
  std::string text;  // "samples_per_second is 130, but batch × steps / total time is 13"
};

inline constexpr const char* kRepetitionNumbers = "repetition";  // the identity that all repetitions share

// Checks runs that are ok, before complete() replaces shares of the peak. Returns at most one per run and identity, in the
// order of the runs.
std::vector<Contradiction> contradictions_in(const Result& result, const KnownFacts& facts);
// At most one per pair and identity.
std::vector<Contradiction> contradictions_in(const TurnsDocument& document);

// Times of two measured series differ by no common factor; those of a copy do. Equal times show nothing: clocks may be as
// coarse.
bool is_multiple(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace epochbench
