#include <cstdio>
#include <cstdlib>

#include "fuzz/targets.h"

namespace epochbench::fuzz {

void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", promise);
  std::abort();
}

void require_message(std::string_view message) {
  constexpr std::size_t kLongest = 8192;  // paths of 64 levels and a few quotations; print_error truncates it
  require(!message.empty(), "an error says what is wrong");
  require(message.size() <= kLongest, "an error is no longer than what one reads");
}

}  // namespace epochbench::fuzz
