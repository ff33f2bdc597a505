// Small results for tests of exports, and their texts.
#pragma once

#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/report/export/export.h"
#include "support/made_results.h"
#include "support/made_settings.h"

namespace epochbench {

inline constexpr std::int64_t kMadeMilliseconds = 1767323045000;  // of the results' date, 2026-01-02T03:04:05Z

inline Result result_of(const std::vector<MadeRun>& runs) {
  Result result = made_result("a.json", "box", runs).result;
  result.context.build_type = "Release";
  result.context.compiler = "gcc 12";
  return result;
}

// One run of 8 steps per second at batch 16, whose name may be anything.
inline Result one_run(const std::string& name = "resnet50/cpu/fp32/b16") {
  Result result = result_of({{.rate = 128, .repetitions = 1}});
  rename(result.runs[0], name);
  return result;
}

inline Run failed_run(RunStatus status = RunStatus::failed) {
  Run run = result_of({{.repetitions = 1}}).runs[0];
  rename(run, "mlp/cpu/fp32/b16");
  run.status = status;
  run.message = "killed by signal 9";
  run.timing.reset();
  run.throughput.reset();
  run.efficiency.reset();
  run.interference.reset();
  run.quality.reset();
  run.energy.reset();
  run.cost.reset();
  return run;
}

inline Json json_of(const char* format, const Result& result) {
  return parse_json(find_export_format(format)->whole.text(result), format);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace epochbench
