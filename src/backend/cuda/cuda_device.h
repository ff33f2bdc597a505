// A thin interface to the CUDA runtime: memory, streams, events and captured graphs of one device. The backend uses it for
// everything except launching kernels, so its logic is tested with a fake device on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/kernels.h"

struct CUevent_st;
struct CUgraphExec_st;

namespace epochbench::cuda {

using Event = CUevent_st*;
using GraphExec = CUgraphExec_st*;

struct DeviceProperties {
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90
  std::int64_t memory_bytes = 0;
  std::string driver = {};           // "580.65.06"; empty if unknown
  double fp32_flops_per_second = 0;  // of all multiprocessors at their highest clock, without tensor cores; 0 if unknown
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceProperties properties() const = 0;

  // Memory is aligned to 256 bytes. Errors: OutOfMemory with the requested and the free size.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory) noexcept = 0;
  virtual std::int64_t bytes_in_use() const = 0;              // by all processes
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0;  // of the host, accessible to the device
  virtual void free_pinned(std::byte* memory) noexcept = 0;

  virtual Stream make_stream() = 0;
  virtual void destroy(Stream stream) noexcept = 0;
  virtual Event make_event() = 0;
  virtual void destroy(Event event) noexcept = 0;

  // Enqueued on the stream; asynchronous if the host memory is pinned.
  virtual void copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  virtual void copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  virtual void copy_on_device(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  virtual void clear(void* memory, std::size_t bytes, Stream stream) = 0;  // to zero
  virtual void record(Event event, Stream stream) = 0;
  virtual void wait(Stream stream, Event event) = 0;  // the stream waits, not the caller

  // The caller waits. Errors: Error with the first failure of the device since.
  virtual void synchronize(Stream stream) = 0;
  virtual void synchronize(Event event) = 0;
  virtual bool done(Event event) const = 0;
  virtual double seconds_between(Event begin, Event end) const = 0;  // both done

  // Work enqueued on the stream between the two calls becomes a graph and is not run.
  virtual void begin_capture(Stream stream) = 0;
  virtual GraphExec end_capture(Stream stream) = 0;
  virtual void launch(GraphExec graph, Stream stream) = 0;
  virtual void destroy(GraphExec graph) noexcept = 0;
};

// The real device. Errors: DeviceError with the reason: no driver, a driver that is too old, no such device.
std::unique_ptr<Device> make_device(int index);

}  // namespace epochbench::cuda
