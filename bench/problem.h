// Benchmark problems as lines of text: an operation, then its sizes, in any order.
//
//   gemm m=1024 n=1024 k=1024 transpose_b=1
//   conv2d n=128 h=32 w=32 c=16 k=16 r=3 s=3 stride=1 pad=1
//
// Empty lines and text after # are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace epochbench::bench {

struct Problem {
  std::string text;   // the line, the benchmark's name
  std::string where;  // "bench/shapes/mlp.txt:3"
  std::string operation;
  std::map<std::string, std::int64_t> sizes;
};

// All functions here throw std::runtime_error with one line that starts with the place.
std::vector<Problem> read_problems(const std::string& path);

// A size of at least `minimum`; a `fallback` >= minimum makes it optional.
std::int64_t size_of(const Problem& problem, const std::string& name, std::int64_t minimum = 1, std::int64_t fallback = -1);
// Reports sizes that the operation does not have.
void expect_only(const Problem& problem, const std::vector<std::string>& names);

}  // namespace epochbench::bench
