// Resources of a CUDA device that destructors release. The device must outlive them.
#pragma once

#include <utility>

#include "src/backend/cuda/cuda_device.h"

namespace epochbench::cuda {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(Device& device, std::size_t bytes)  // none for 0 bytes
      : device_(&device), data_(bytes == 0 ? nullptr : device.allocate(bytes)), size_(bytes) {}
  ~DeviceMemory() {
    if (data_) device_->free(data_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

class PinnedMemory {  // of the host
 public:
  PinnedMemory(Device& device, std::size_t bytes)
      : device_(device), data_(bytes == 0 ? nullptr : device.allocate_pinned(bytes)), size_(bytes) {}
  ~PinnedMemory() {
    if (data_) device_.free_pinned(data_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  Device& device_;
  std::byte* data_;
  std::size_t size_;
};

template <typename Handle>
class Owned {  // a stream, event or captured graph
 public:
  Owned() = default;
  Owned(Device& device, Handle handle) : device_(&device), handle_(handle) {}
  ~Owned() {
    if (handle_) device_->destroy(handle_);
  }
  Owned(Owned&& other) noexcept { swap(other); }
  Owned& operator=(Owned&& other) noexcept {
    swap(other);
    return *this;
  }

  Handle get() const { return handle_; }

 private:
  void swap(Owned& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
  }

  Device* device_ = nullptr;
  Handle handle_ = nullptr;
};

}  // namespace epochbench::cuda
