// The clock that everything timed here reads; a function, so that tests bring their own.
#pragma once

#include <chrono>
#include <functional>

namespace epochbench {

using Clock = std::function<double()>;  // seconds since a fixed moment, never going back

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace epochbench
