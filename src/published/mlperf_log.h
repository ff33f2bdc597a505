// The log of one training run of MLPerf: lines of :::MLLOG and JSON, among any other text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/published/import.h"

namespace epochbench {

struct MlperfLog {
  std::string benchmark, submitter, division;  // "resnet", "NVIDIA", "closed"
  std::optional<std::int64_t> batch;
  std::int64_t start_ms = 0, stop_ms = 0;  // since 1970; run_start and run_stop
  std::string status;                      // "success", or why the run does not count
  std::optional<std::int64_t> epochs;      // trained, of resnet
  std::optional<std::int64_t> samples;     // trained
};

// Errors: FormatError that names the line, for one that is not JSON, lines of v0.5 and v0.6, a benchmark other than resnet and
// bert, values that contradict each other, and a log without the submission's names, run_start or run_stop.
MlperfLog parse_mlperf_log(const NamedText& file);

}  // namespace epochbench
