// AddressSanitizer, asked for when the program runs: tests are not compiled for it, what they test is.
#pragma once

#include <cstddef>

extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* address, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* address, std::size_t bytes);
}

namespace epochbench::test {

inline bool under_address_sanitizer() { return __asan_poison_memory_region != nullptr; }

// Access to poisoned memory is an error under the sanitizer.
inline void poison_memory(const void* address, std::size_t bytes) {
  if (under_address_sanitizer()) __asan_poison_memory_region(address, bytes);
}
inline void unpoison_memory(const void* address, std::size_t bytes) {
  if (under_address_sanitizer()) __asan_unpoison_memory_region(address, bytes);
}

}  // namespace epochbench::test
