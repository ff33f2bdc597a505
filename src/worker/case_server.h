// The child's side of a case (hidden subcommand `case`): does what the parent asks over src/worker/protocol.h.
#pragma once

#include <functional>

#include "epochbench/gpu.h"
#include "src/case/case_spec.h"
#include "src/workload/prepared_case.h"

namespace epochbench {

struct CaseServices {
  std::function<PreparedCase(const CaseSpec&)> prepare;
  std::function<void(GpuInfo&, int index)> measure_gpu;  // fills in what is measured of the GPU of that index
};

// Reads commands from in_fd and answers on out_fd until `finish` or end of file. What `prepare` or a step throws becomes a
// status for the parent; what a library prints goes to standard error. Returns the process's exit code.
int serve_case(int in_fd, int out_fd, const CaseServices& services);

}  // namespace epochbench
