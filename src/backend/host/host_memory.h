// Page-aligned host memory that is touched once, before any timed step, by the threads that will use it.
#pragma once

#include <cstddef>
#include <memory>

namespace epochbench {

class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::size_t bytes);  // zeroed, not yet touched. Errors: OutOfMemory with the size.

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return data_.get_deleter().size; }

 private:
  struct Unmap {
    void operator()(std::byte* data) const;
    std::size_t size;
  };
  std::unique_ptr<std::byte, Unmap> data_;
};

// Touches [begin, begin + bytes): each of `threads` threads touches its own part, divided as kernels divide their work.
void touch_first(std::byte* begin, std::size_t bytes, int threads);

}  // namespace epochbench
