// A document of two binaries that took turns, as tests of the page make it up.
#pragma once

#include <cmath>
#include <string>

#include "src/result/turns.h"

namespace epochbench {

// Ten pairs in which the new side takes about `ratio` times as long.
inline NamedTurns by_turns(const std::string& path, double ratio, const std::string& date) {
  NamedTurns named{path, {}};
  TurnsDocument& document = named.document;
  document.context.date = date;
  document.context.host_name = "box";
  document.suite = "private/gate.json";
  document.binaries = {"private/old", "private/new"};
  document.builds[kBaseline] = document.builds[kContender] = {"0.1.0", "1234567890abcdef", false, "Release", "gcc 12.2.0"};
  TurnsCase& turns = document.cases.emplace_back();
  turns.name = "mlp/cpu/fp32/b64";
  turns.device = "cpu";
  turns.precision = Precision::fp32;
  turns.threads = 2;
  for (int i = 0; i < 10; ++i) {
    TurnsPair& pair = turns.pairs.emplace_back();
    pair.log_ratio = std::log(ratio) + 1e-4 * (i % 3);
    pair.foreign_cpu_cores = 0.25;
    for (const Side side : kSides) {
      pair.sides[side].fingerprint = "1111";
      pair.sides[side].step_seconds_median = side == kContender ? 0.01 * ratio : 0.01;
    }
  }
  TurnsCase& skipped = document.cases.emplace_back();
  skipped.name = "mlp/cuda/fp32/b64";
  skipped.device = "cuda:0";
  skipped.skipped = "no GPU";
  return named;
}

}  // namespace epochbench
