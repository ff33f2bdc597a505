// --dry-run of run and sweep: the cases that would run, with their memory and time; measures nothing and writes nothing.
#include <map>
#include <utility>

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/session/measuring.h"
#include "src/session/resume.h"
#include "src/workload/workload.h"

namespace epochbench {

int dry_run(const MeasuringRequest& request) {
  checked_prices(request);
  const std::vector<PlannedCase> cases = resume(request.resume, request.cases, request.anonymous).remaining;
  const TimeLeft times = expected_times(cases, request.budget_seconds, nullptr);
  DatasetSizes sizes;
  std::map<std::string, int> runs;  // by name
  for (const PlannedCase& planned : cases) ++runs[planned.spec.name];
  Table table({"case", ">runs", ">memory", ">time per run"});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const PlannedCase& planned = cases[i];
    const int count = std::exchange(runs[planned.spec.name], 0);
    if (count == 0 || planned.obstacle) continue;
    table.add({planned.spec.name, std::to_string(count), format_bytes(static_cast<double>(planned_bytes(planned.spec, sizes))),
               "about " + about_seconds(times.duration(i))});
  }
  print_fitted(table.to_string());
  print_obstacles(cases);
  print_fitted(expected_text(cases, times) + "; times are guesses from FLOPs before anything is measured\n");
  return request.allow_skipped ? kExitDone : exit_code_for_skipped(request.cases, request.call);
}

}  // namespace epochbench
