// The hidden subcommand that answers scripts which measure other frameworks: finished cases, so that they state no default.
#include <cstdio>

#include "src/base/errors.h"
#include "src/cli/commands.h"
#include "src/result/result_json.h"
#include "src/session/planned_case.h"

namespace epochbench {
namespace {

Json finished_case(const PlannedCase& planned) {
  return {{"name", planned.spec.name},
          {"settings", json_of(planned.settings)},
          {"workload", json_of(planned.workload)},
          {"case", case_to_json(planned.spec)},
          {"obstacle", planned.obstacle ? Json(planned.obstacle->reason) : Json(nullptr)}};
}

}  // namespace

int cases_command(const CaseBlock& asked) {
  if (!asked.contains("model")) throw CallError("cases: --model is missing; give one, such as --model resnet20");
  Json list = Json::array();
  for (const CaseSpec& spec : expand(asked)) list.push_back(finished_case(plan_case(spec)));
  std::fputs(print_json({{"cases", list}}).c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
