// What a process inherits from the one that started it, or gets from a preloaded library, before main begins.
#pragma once

namespace epochbench {

// Opens /dev/null for each closed standard stream, so that no file gets its number; reading or writing it still fails. Lets the
// others wait for their readers and writers. Unblocks all signals. To be called first in main.
void repair_inherited_state();

// Lets floats round to nearest and keep subnormal numbers in this thread, and in those that it creates. Returns whether
// something had changed that, as libraries built with -ffast-math do.
bool restore_float_rounding();

}  // namespace epochbench
