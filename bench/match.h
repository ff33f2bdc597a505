// Matches: our kernels and those of other libraries take turns on the problems of a file, beside bursts of the machine's peak.
// Google Benchmark has no part in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/contest.h"
#include "bench/peer.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {

struct NamedPeer {
  std::string name;
  std::shared_ptr<Peer> peer;
};

struct MatchOptions {
  std::vector<NamedPeer> peers;
  int threads = 1;
  bool scaling = false;  // our kernels on one thread play too, beside a burst of one thread
  ContestOptions contest;
};

// Plays the products and convolutions of the file `path`, others are passed over, and prints a table of them and of the whole.
// Real: float or Bf16. Errors: std::runtime_error if a peer's result is not ours, or there is nothing to play.
template <typename Real>
void run_match(const std::string& path, const cpu::Kernels<Real>& kernels, const MatchOptions& options);

// How OpenMP's threads, and those of the libraries, wait: passively, or the ones would take the others' cores; with `spin` for
// some milliseconds actively first, as in a run, where a product follows the next and its threads are awake. Their runtimes
// read that once, as they are loaded: starts this program anew, unless the environment says already how to wait.
void choose_waiting(char** argv, bool spin);

}  // namespace epochbench::bench
