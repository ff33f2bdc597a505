// How the ranks of a case are started: mpirun, or the launcher that the call names, with the program epochbench-mpi.
#pragma once

#include <optional>
#include <string>

#include "src/case/case_spec.h"
#include "src/worker/case_process.h"

namespace epochbench {

inline constexpr const char* kRanksProgram = "epochbench-mpi";

// What keeps this machine from starting the ranks of the case, and how to fix it, in one line; empty: nothing.
std::optional<std::string> launch_obstacle(const CaseSpec& spec, int cores);

// For a case without an obstacle. `patience_seconds`: how long a rank may keep the others waiting.
WorkerCommand launch_command(const CaseSpec& spec, double patience_seconds);

// The environment that launchers and ranks need here: a folder where the user has none, no copies between processes that the
// system refuses, answers without marks, and no machines of a batch system unless the call names a launcher.
EnvironmentSettings rank_settings(const CaseSpec& spec);

// What makes ranks slower on this machine than they could be; empty: nothing is known.
std::string launch_remark(const CaseSpec& spec);

// Errors: CallError if a launcher (mpirun, srun, torchrun) has started this program as one of several copies, which would
// measure each other.
void refuse_several_copies();

// What the parent may expect of a launcher. It cannot see whether ranks on other machines compute.
ProcessLimits launcher_limits(ProcessLimits limits, const CaseSpec& spec);

}  // namespace epochbench
