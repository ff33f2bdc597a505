// What a program was started with. One that links clean_start.cpp starts itself again without the variables of OpenMP's
// run-times.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace epochbench {

// The variable in which it passes them to itself, each entry followed by kEntryEnd.
inline constexpr std::string_view kStartedWith = "EPOCHBENCH_STARTED_WITH";
inline constexpr char kEntryEnd = '\x1f';

// The variables with which this program was started and computes differently, or would: those of OpenMP's run-times, LD_PRELOAD
// and GLIBC_TUNABLES, as far as they are set.
std::map<std::string, std::string> environment_at_start();

}  // namespace epochbench
