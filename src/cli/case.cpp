// epochbench case: the process that `run` starts for each case.
#include <csignal>

#include <sys/prctl.h>
#include <unistd.h>

#include "epochbench/gpu.h"
#include "src/cli/commands.h"
#include "src/worker/case_server.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

struct ServeOptions {};

int serve(const ServeOptions&) {
  prctl(PR_SET_NAME, "epochbench");  // a process executed by its descriptor is named after the number
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // also if a wrapper was started in its place
  return serve_case(STDIN_FILENO, STDOUT_FILENO, {[](const CaseSpec& spec) { return prepare_case(spec); }, measure_gpu});
}

}  // namespace

void add_case(Commands& commands) { commands.add("case", "one case, driven by its parent", "", serve).first.group(""); }

}  // namespace epochbench
