// Prints a library comparison: a line per library and work, and at the end a summary of the whole file.
#pragma once

#include <string>
#include <vector>

#include "bench/figures.h"
#include "bench/work.h"

namespace epochbench::bench {

struct Measured {  // the rounds of one work
  Work work;
  double bytes = 0;             // of its operands, each moved once
  std::vector<Figure> seconds;  // by library, of one call; empty: it has no such work
  std::vector<Figure> cores;    // busy cores, by library
  std::vector<Figure> peaks;    // by burst, FLOP/s; the second one: of one thread
};

class ComparisonTable {
 public:
  std::vector<std::string> libraries;  // ours first
  bool one_thread_last = false;        // the last one is ours on one thread
  double bytes_per_second = 0;         // of the machine's memory

  void begin(const std::string& path, const std::string& precision, int threads, int rounds, int processes) const;
  void add(Measured measured);
  void end() const;

 private:
  void print_whole(const std::string& name, const std::vector<const Measured*>& works) const;

  std::vector<Measured> works_;
};

}  // namespace epochbench::bench
