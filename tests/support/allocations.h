// How often the program has asked for memory, in the tests that link allocations.cpp.
#pragma once

#include <cstdint>

namespace epochbench::test {

// Whether malloc and its like are counted whoever calls them, OpenMP's library and operator new included. Otherwise, where the
// C library is not glibc or a sanitizer has put a malloc of its own in its place, operator new alone.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsMalloc = true;
#else
inline constexpr bool kCountsMalloc = false;
#endif

std::int64_t allocations();

}  // namespace epochbench::test
