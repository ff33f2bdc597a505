// Our kernels and those of other libraries, interleaved on the problems of a file with bursts of the machine's peak. Does not
// use Google Benchmark.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/interleaved_calls.h"
#include "bench/peer.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {

struct NamedPeer {
  std::string name;
  std::shared_ptr<Library> peer;
};

struct ComparisonSettings {
  std::vector<NamedPeer> peers;
  int threads = 1;
  bool scaling = false;  // also our kernels on one thread, beside a burst of one thread
  CallSettings calls;
  int processes = 1;               // above 1: each measures all rounds, and a ratio's interval is over processes
  bool lines = false;              // this is one of these processes: prints lines of JSON for its parent, and no table
  std::vector<std::string> flags;  // for these processes
};

// Measures the products and convolutions of the file `path`, ignores other problems, and prints a table of them and of the
// whole. Real: float or Bf16. Errors: std::runtime_error if a peer's result differs from ours, or there is nothing to measure.
template <typename Real>
void compare_libraries(const std::string& path, const cpu::Kernels<Real>& kernels, const ComparisonSettings& settings);

// Sets how threads of OpenMP and of the libraries wait: passively, so that those of one library do not take cores from another;
// with `spin`, actively for some milliseconds first, as in a run, where products follow each other and threads are awake. The
// runtimes read this once, when they are loaded, so this starts the program again, unless the environment already sets it.
void choose_waiting(char** argv, bool spin);

}  // namespace epochbench::bench
