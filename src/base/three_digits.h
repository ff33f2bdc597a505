// Numbers in the sentences of answers.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace epochbench {

inline std::string three_digits(double value) {  // significant ones: "4.81", "0.00123", "2.5e+09"
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

}  // namespace epochbench
