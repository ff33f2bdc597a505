// How work is shared between the threads of one call.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Below this much work (a multiply-add is 2) one thread is done before a second one has begun: it takes some 10 microseconds
// to start and to join a team. Teams of other sizes than 1 and `threads` would make libgomp end and start threads.
constexpr double kTeamFlops = 1e6;

static inline int team_size(double flops, int threads) { return flops < kTeamFlops ? 1 : threads; }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
