// Counts memory allocations in the tests that link allocations.cpp.
#pragma once

#include <cstdint>

namespace epochbench::test {

// Whether malloc and related functions are counted for every caller, including OpenMP and operator new. Otherwise, where the C
// library is not glibc or a sanitizer replaces malloc, only operator new is counted.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsMalloc = true;
#else
inline constexpr bool kCountsMalloc = false;
#endif

std::int64_t allocations();

}  // namespace epochbench::test
