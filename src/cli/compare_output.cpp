#include "src/cli/compare_output.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/report/compare/compare_github.h"
#include "src/report/compare/compare_json.h"
#include "src/report/compare/compare_text.h"

namespace epochbench {
namespace {

// The verdict stands whether or not GitHub's page can show it, so this is told and ends nothing.
void append_summary(const Comparison& comparison) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (!path || !*path) return;
  std::FILE* file = std::fopen(path, "a");
  const bool written = file && std::fputs(github_summary(comparison).c_str(), file) >= 0;
  const bool closed = file && std::fclose(file) == 0;
  if (!written || !closed)
    print_error("no job summary: GITHUB_STEP_SUMMARY names " + std::string(path) +
                ", which cannot be written: " + std::strerror(errno));
}

int exit_code_of(Finding verdict) {
  switch (verdict) {
    case Finding::regression:
      return kExitAnswerIsNo;
    case Finding::inconclusive:
      return kExitInconclusive;
    case Finding::improvement:
    case Finding::no_change:
      return kExitDone;
  }
  return kExitInconclusive;
}

}  // namespace

double comparison_threshold(const CompareOptions& options) try {
  constexpr double kMostPercent = 1000, kPercent = 100;
  if (options.threshold.empty()) return kDefaultThreshold;
  return parse_real(options.threshold, {0, kMostPercent, false, true}) / kPercent;
} catch (const CallError& error) {
  throw CallError(std::string("--threshold: ") + error.what());
}

int present(Comparison comparison, const CompareOptions& options) {
  comparison.missing_allowed = options.allow_missing;
  std::fputs((options.json ? print_json(compare_json(comparison)) : compare_text(comparison)).c_str(), stdout);
  if (options.github) {
    std::fputs(github_annotations(comparison).c_str(), options.json ? stderr : stdout);
    append_summary(comparison);
  }
  return exit_code_of(verdict_of(comparison));
}

}  // namespace epochbench
