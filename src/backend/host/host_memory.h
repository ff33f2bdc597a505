// Page-aligned host memory that is touched once, before any timed step, by the threads that will use it.
#pragma once

#include <cstddef>

namespace epochbench {

class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::size_t bytes);  // zeroed, not yet touched. Errors: OutOfMemory with the size.
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Touches [begin, begin + bytes): each of `threads` threads its own part, divided as kernels divide their work.
void touch_first(std::byte* begin, std::size_t bytes, int threads);

}  // namespace epochbench
