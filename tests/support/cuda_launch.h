// How a test controls the CUDA kernels that run on the CPU: the order in which the threads of a block run, and a hook for
// launches. It needs no CUDA header. See cuda_on_cpu.h for how they run.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/cuda/kernels.h"

namespace epochbench::test {

// The order of the threads of a block between barriers, and of the blocks of a grid. Correct kernels do not depend on it.
enum class ThreadOrder : std::uint8_t { forward, reverse, random };

// How many multiprocessors the device has, from which kernels derive their grids. Returns the previous number.
inline constexpr int kMultiprocessors = 132;  // until set
int set_multiprocessors(int count);

void set_thread_order(ThreadOrder order, std::uint64_t seed = 1);  // for kernels that run from now on; the seed is for `random`

// Receives every launch as a closure that holds the kernel's arguments by value and runs the grid when called. Without a hook
// a launch runs immediately. Returns the previous hook.
using LaunchHook = std::function<void(cuda::Stream, std::function<void()>)>;
LaunchHook set_launch_hook(LaunchHook hook);

// Receives every non-null pointer that a launch passes to a kernel, except members of structs. Returns the previous check.
using PointerCheck = void (*)(const void*);
PointerCheck set_pointer_check(PointerCheck check);

}  // namespace epochbench::test
