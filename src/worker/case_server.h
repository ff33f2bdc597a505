// The child's side of a case (hidden subcommand `case`): does what the parent asks over src/worker/protocol.h.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "epochbench/communicator.h"
#include "epochbench/gpu.h"
#include "src/case/case_spec.h"
#include "src/workload/prepared_case.h"

namespace epochbench {

// The processes of a case with ranks. Rank 0 talks to the parent; the others do what it is asked, and speak only of errors.
struct ServedRanks {
  Communicator& communicator;
  std::function<void(const std::string& line)> send;  // of rank 0, to all others; an empty one: the parent is gone
  std::function<std::string()> receive;               // of the others; waits as long as it takes
};

struct CaseServices {
  std::function<PreparedCase(const CaseSpec&)> prepare;
  std::function<void(GpuInfo&, int index)> measure_gpu;  // fills in what is measured of the GPU of that index
  std::optional<ServedRanks> ranks = {};                 // empty: the case is this process
};

// Reads commands from in_fd and answers on out_fd until `finish` or end of file. What `prepare` or a step throws becomes a
// status for the parent; what a library prints goes to standard error. Returns the process's exit code. Of a case with ranks,
// one that reports an error does not return, so that the launcher has nothing to report besides: the parent ends them all.
int serve_case(int in_fd, int out_fd, const CaseServices& services);

}  // namespace epochbench
