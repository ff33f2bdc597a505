// The child's side of a case (hidden subcommand `case`): does what the parent asks over src/worker/protocol.h.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "epochbench/communicator.h"
#include "epochbench/gpu.h"
#include "src/case/case_spec.h"
#include "src/workload/prepared_case.h"

namespace epochbench {

// The processes of a case with ranks. Rank 0 talks to the parent; the others do what it is asked to do, and report only errors.
struct ServedRanks {
  Communicator& communicator;
  std::function<void(const std::string& line)> send;  // on rank 0, to all others; an empty line: the parent is gone
  std::function<std::string()> receive;               // on the others; waits as long as it takes
  // A call of all ranks: the bytes per second that each sends for a sum of so many floats, with nothing else to do.
  std::function<double(std::size_t elements)> sum_rate;
};

struct CaseServices {
  std::function<PreparedCase(const CaseSpec&)> prepare;
  std::function<MeasuredGpu(int index)> measure_gpu;
  std::optional<ServedRanks> ranks = {};  // empty: the case is only this process
};

// Reads commands from in_fd and answers on out_fd until `finish` or end of file. What `prepare` or a step throws becomes a
// status for the parent; what a library prints goes to standard error. Returns the process's exit code. A rank that reports an
// error does not return, so that the launcher reports nothing else: the parent ends all ranks.
int serve_case(int in_fd, int out_fd, const CaseServices& services);

}  // namespace epochbench
