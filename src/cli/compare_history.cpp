#include "src/cli/compare_history.h"

#include <cstdio>

#include "src/analysis/history.h"
#include "src/cli/errors.h"
#include "src/cli/result_arguments.h"
#include "src/report/history_text.h"
#include "src/report/result_json.h"
#include "src/report/turns_json.h"

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
  std::vector<NamedResult> results;
  std::vector<NamedTurns> turns;
  for (const std::string& path : json_files_of(options.history)) {
    const std::string text = read_text_file(path);
    if (is_turns(text))
      turns.push_back({path, parse_turns(text, path)});
    else if (is_result(text, path))
      results.push_back({path, parse_result(text, path)});
    else
      print_error("left out: " + path + " is neither a result nor a document of interleaved turns");
  }
  const History history = history_of(results, turns);
  if (history.series.empty())
    throw CallError(options.history +
                    ": no run that is ok in any *.json of this folder; keep the files of `epochbench run --out "
                    "FILE` or of `epochbench compare --interleave` there");
  std::fputs((options.json ? print_json(history_json(history)) : history_text(history)).c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
