// What a test says to the CUDA kernels that run on the CPU: in which order a block's threads take turns, and who gets the
// launches. It needs no CUDA header. See cuda_on_cpu.h for how they run.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/cuda/kernels.h"

namespace epochbench::test {

// How the threads of a block, and the blocks of a grid, take turns between two barriers. A correct kernel does not care.
enum class ThreadOrder : std::uint8_t { forward, reverse, random };

void set_thread_order(ThreadOrder order, std::uint64_t seed = 1);  // of the kernels that run from now on; the seed for `random`

// Gets every launch, as a closure that holds the kernel's arguments by value and runs the grid when it is called. Without a
// hook a launch runs at once. Returns the hook before.
using LaunchHook = std::function<void(cuda::Stream, std::function<void()>)>;
LaunchHook set_launch_hook(LaunchHook hook);

// Gets every pointer, but null, that a launch passes to a kernel; structs are not looked into. Returns the check before.
using PointerCheck = void (*)(const void*);
PointerCheck set_pointer_check(PointerCheck check);

}  // namespace epochbench::test
