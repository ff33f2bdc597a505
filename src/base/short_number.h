// Numbers in messages.
#pragma once

#include <cstdio>
#include <string>

namespace epochbench {

inline std::string short_number(double value) {  // 4 digits: "0.9733", "1e+06", "nan"
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace epochbench
