// The identities that one run must satisfy by itself.
#pragma once

#include <span>
#include <string>

#include "src/analysis/peak_share.h"
#include "src/analysis/verify/identities.h"

namespace epochbench {

struct CheckedResult {
  const Result& result;
  const KnownFacts& facts;
  CpuPeaks peaks;
};

struct RunIdentity {
  const char* key;                                                   // as in Contradiction
  std::string (*why)(const Run& run, const CheckedResult& checked);  // what is wrong; "" if it holds or a number is missing
};
std::span<const RunIdentity> run_identities();

}  // namespace epochbench
