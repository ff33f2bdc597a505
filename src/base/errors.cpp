#include "src/base/errors.h"

#include <cstdio>

namespace epochbench {

void print_error(const std::string& message) {
  constexpr std::size_t kLongest = 700;
  std::string line = "epochbench: " + message;
  if (line.size() > kLongest) {
    // The remedy is at the end, so the middle is cut, at a code point's border.
    std::size_t head = kLongest / 2, tail = line.size() - kLongest / 2;
    while (head > 0 && (static_cast<unsigned char>(line[head]) & 0xC0) == 0x80) --head;
    while (tail < line.size() && (static_cast<unsigned char>(line[tail]) & 0xC0) == 0x80) ++tail;
    line = line.substr(0, head) + " ... " + line.substr(tail);
  }
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace epochbench
