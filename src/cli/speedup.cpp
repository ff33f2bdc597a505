// epochbench speedup: pairs of runs of one workload, out of result files.
#include "src/analysis/speedup/speedup.h"

#include <cstdio>

#include "src/base/errors.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/report/text/speedup_text.h"

namespace epochbench {
namespace {

std::string why_no_pair(const Speedup& speedup) {
  std::string message = "speedup: no two runs can be paired";
  if (speedup.unpaired.empty()) return message + ": there is no run in what was given; name other results";
  const Unpaired& first = speedup.unpaired.front();
  message += ": " + first.name + ": " + first.reason;
  if (speedup.unpaired.size() > 1) message += "; and " + std::to_string(speedup.unpaired.size() - 1) + " more";
  return message +
         "; measure one workload on two devices or in two precisions, such as `epochbench run --model resnet20 --device "
         "cpu,cuda:0 --precision fp32,bf16 --repetitions 5`";
}

}  // namespace

int speedup_command(const SpeedupOptions& options) {
  const auto results = read_result_arguments("speedup", options.results);
  const Speedup speedup = speedup_of(results, options.best ? SpeedupOf::best_batch : SpeedupOf::same_batch);
  if (speedup.pairs.empty()) throw CallError(why_no_pair(speedup));
  std::fputs((options.json ? print_json(speedup_json(speedup)) : speedup_text(speedup)).c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
