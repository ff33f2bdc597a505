// The hidden subcommand that `run` starts for each case.
#include <unistd.h>

#include "epochbench/gpu.h"
#include "src/cli/commands.h"
#include "src/worker/case_server.h"
#include "src/workload/workload.h"

namespace epochbench {

int case_command() { return serve_case(STDIN_FILENO, STDOUT_FILENO, {prepare_case, measure_gpu}); }

}  // namespace epochbench
