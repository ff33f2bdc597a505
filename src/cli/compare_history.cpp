#include "src/cli/compare_history.h"

#include <cstdio>

#include "src/analysis/compare/history.h"
#include "src/base/errors.h"
#include "src/cli/result_arguments.h"
#include "src/report/compare/history_text.h"

namespace epochbench {
namespace {

void refuse_beside_history(const CompareOptions& options) {
  if (!options.baseline.empty())
    throw CallError("--history: takes its folder alone, so leave " + options.baseline + " out, or leave --history out");
  if (options.github || options.allow_missing || options.force || !options.threshold.empty())
    throw CallError("--history: is advisory and has no verdict; leave --threshold, --allow-missing, --force and --github out");
}

}  // namespace

int compare_history(const CompareOptions& options) {
  refuse_beside_history(options);
  const Measurements measured = read_measurement_folder(options.history);
  const History history = history_of(measured.results, measured.turns);
  if (history.series.empty() && !history.left_out.empty())
    throw CallError(options.history + ": no measurement here is a point of a history; " + history.left_out.front().name + " (" +
                    history.left_out.front().path + "): " + history.left_out.front().reason);
  if (history.series.empty())
    throw CallError(options.history +
                    ": no run that is ok in any *.json of this folder; keep the files of `epochbench run --out "
                    "FILE` or of `epochbench compare --interleave` there");
  std::fputs((options.json ? print_json(history_json(history)) : history_text(history)).c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
