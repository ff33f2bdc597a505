#include "tests/support/cuda_clock.h"

#include <chrono>
#include <optional>

namespace epochbench {
namespace {

thread_local std::optional<std::uint64_t> shown;

}  // namespace

void test::set_device_nanoseconds(std::uint64_t nanoseconds) { shown = nanoseconds; }

namespace cuda {

std::uint64_t device_nanoseconds() {
  const auto host = std::chrono::steady_clock::now().time_since_epoch();
  return shown.value_or(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(host).count()));
}

}  // namespace cuda
}  // namespace epochbench
