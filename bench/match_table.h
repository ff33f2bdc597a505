// The printed side of a match: a line for each contestant of each work, and at the end what they come to over the whole file.
#pragma once

#include <string>
#include <vector>

#include "bench/standings.h"
#include "bench/work.h"

namespace epochbench::bench {

struct Played {  // one work's turns
  Work work;
  double bytes = 0;             // of its operands, each moved once
  std::vector<Rounds> seconds;  // [contestant][round] of one call; no rounds: it has no such work
  std::vector<Rounds> cores;    // [contestant][round] that were busy
  std::vector<Rounds> peaks;    // [burst][round] FLOP/s; the second: of one thread
};

class MatchTable {
 public:
  std::vector<std::string> contestants;  // ours first
  bool one_thread_last = false;          // the last contestant is ours on one thread
  double bytes_per_second = 0;           // of the machine's memory

  void begin(const std::string& path, const std::string& precision, int threads, int rounds);
  void add(Played played);
  void end() const;

 private:
  void print_whole(const std::string& name, const std::vector<const Played*>& works) const;

  std::vector<Played> works_;
};

}  // namespace epochbench::bench
