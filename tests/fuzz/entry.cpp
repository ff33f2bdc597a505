// The libFuzzer entry point of the target that EPOCHBENCH_FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  epochbench::fuzz::EPOCHBENCH_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
