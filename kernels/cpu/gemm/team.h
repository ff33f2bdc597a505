// How many threads share the work of one call.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// With less work than this (a multiply-add counts 2), one thread finishes before a second one starts: starting and joining a
// team takes about 10 microseconds. Team sizes other than 1 and `threads` would make libgomp end and start threads.
constexpr double kTeamFlops = 1e6;

static inline int team_size(double flops, int threads) { return flops < kTeamFlops ? 1 : threads; }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
