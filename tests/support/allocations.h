// How often the program has called operator new, in the tests that link allocations.cpp.
#pragma once

#include <cstdint>

namespace epochbench::test {

std::int64_t allocations();

}  // namespace epochbench::test
