// Ids of rows of a table, for the tests of embeddings.
#pragma once

#include <cmath>
#include <string>

#include "epochbench/philox.h"
#include "tests/support/op_tensor.h"

namespace epochbench::test {

struct Lookup {
  std::int64_t rows, vocabulary, width;
};

inline std::string describe(const Lookup& l) {
  return std::to_string(l.rows) + " of " + std::to_string(l.vocabulary) + "x" + std::to_string(l.width);
}

enum class Ids { random, all_equal, one_frequent };

inline DeviceBuffer<std::int32_t> ids_for(const Lookup& l, Ids kind) {
  DeviceBuffer<std::int32_t> ids(l.rows);
  for (std::int64_t r = 0; r < l.rows; ++r) {
    const std::uint32_t word = philox(1, {static_cast<std::uint32_t>(r), 0, 0, 0})[0];
    const bool frequent = kind == Ids::all_equal || (kind == Ids::one_frequent && word % 3 == 0);
    ids[r] = static_cast<std::int32_t>(frequent ? l.vocabulary - 1 : word % l.vocabulary);
  }
  return ids;
}

// Rows of one id are added in float, in any order; partial sums grow no faster than a random walk.
inline Tolerance embedding_grad_tolerance(const Lookup& l) {
  const double rows = static_cast<double>(l.rows);
  return sum_tolerance(rows, std::sqrt(rows));
}

}  // namespace epochbench::test
