// Variables of OpenMP's run-times, which a cluster's modules set for other programs. They would bind this program's first
// thread before main, so that it sees one CPU, or cap the threads of a step; --threads and --pin decide instead.
#pragma once

#include <string_view>

namespace epochbench {

// "OMP_PROC_BIND", "KMP_AFFINITY=compact": a name, or an entry of the environment.
constexpr bool is_of_openmp(std::string_view entry) {
  return entry.starts_with("OMP_") || entry.starts_with("GOMP_") || entry.starts_with("KMP_");
}

}  // namespace epochbench
