// Why two runs of one case say nothing about a change of the code between them: one difference as text, or "".
#pragma once

#include <string>

#include "src/result/named_result.h"

namespace epochbench {

struct RecordedRun {  // points into results, which must outlive it
  const Run* run = nullptr;
  const NamedResult* source = nullptr;

  const Context& context() const { return source->result.context; }
};

// What makes it other work: mode, data set, seed, and what the fingerprint stands for. "batch 64 and 128".
std::string workload_difference(const Workload& a, const Workload& b);

// What makes memory incomparable: the device and its threads. "different threads: 1 and 2".
std::string device_difference(const RecordedRun& a, const RecordedRun& b);

// What else makes times incomparable: machine (and whether it is known), GPU driver, compiler, build type.
std::string setting_difference(const RecordedRun& a, const RecordedRun& b);

}  // namespace epochbench
