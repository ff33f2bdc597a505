// Resources of a CUDA device that destructors release. The device must outlive them.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>

#include "src/backend/cuda/cuda_device.h"

namespace epochbench::cuda {

template <std::byte* (Device::*kAllocate)(std::size_t), void (Device::*kFree)(std::byte*) noexcept>
class Memory {
 public:
  Memory() = default;
  Memory(Device& device, std::size_t bytes)  // none for 0 bytes
      : data_(bytes == 0 ? nullptr : (device.*kAllocate)(bytes), {&device}), size_(bytes) {}

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { (device->*kFree)(data); }
    Device* device;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

using DeviceMemory = Memory<&Device::allocate, &Device::free>;
using PinnedMemory = Memory<&Device::allocate_pinned, &Device::free_pinned>;  // of the host

template <typename Handle>
class Owned {  // a stream, event or captured graph
 public:
  Owned() = default;
  Owned(Device& device, Handle handle) : handle_(handle, {&device}) {}

  Handle get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(Handle handle) const { device->destroy(handle); }
    Device* device;
  };
  std::unique_ptr<std::remove_pointer_t<Handle>, Destroy> handle_;
};

// What `enqueue` enqueues on the stream, as a graph. Errors: those of the device and of `enqueue`, after which the stream
// captures no more.
inline Owned<GraphExec> captured(Device& device, Stream stream, const std::function<void()>& enqueue) {
  device.begin_capture(stream);
  try {
    enqueue();
  } catch (...) {
    try {
      const Owned<GraphExec> unfinished(device, device.end_capture(stream));
    } catch (const std::exception&) {  // the first error is the one to report
    }
    throw;
  }
  return {device, device.end_capture(stream)};
}

}  // namespace epochbench::cuda
