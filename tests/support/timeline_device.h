// A CUDA device that is a timeline: when each piece of work begins and ends follows from when the host enqueued it, from the
// work before it on its stream and from the events that it waits for. It computes nothing. The host's clock is one with the
// device's, and moves on by what a call costs the host; so every duration is exact and no time passes.
//
// Not a model of what work costs on a GPU: how long a step and a copy take is given.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "src/backend/cuda/cuda_device.h"

struct CUstream_st {
  double free_at = 0;  // when the work enqueued so far is done
};
struct CUevent_st {
  double seconds = 0;  // when the device reaches it
};
struct CUgraphExec_st {};

namespace epochbench::test {

struct TimelineSpeeds {
  double step_seconds = 1e-3;      // of a captured step
  double copy_seconds = 4e-3;      // of a batch
  double launch_seconds = 15e-6;   // of the host, to launch a step or a copy
  double wake_up_seconds = 60e-6;  // from the end of what the host waits for until it goes on
};

class TimelineDevice final : public cuda::Device {
 public:
  explicit TimelineDevice(const TimelineSpeeds& speeds) : speeds_(speeds) {}

  double now() const { return now_; }
  void pass(double seconds) { now_ += seconds; }

  cuda::DeviceProperties properties() const override { return {"timeline", 90, std::int64_t{1} << 40}; }
  std::byte* allocate(std::size_t bytes) override { return allocate_pinned(bytes); }
  void free(std::byte* memory) noexcept override { free_pinned(memory); }
  std::int64_t bytes_in_use() const override { return 0; }
  std::byte* allocate_pinned(std::size_t bytes) override {
    auto* memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
    std::memset(memory, 0, bytes);
    return memory;
  }
  void free_pinned(std::byte* memory) noexcept override { ::operator delete(memory, kAlignment); }

  cuda::Stream make_stream() override { return new CUstream_st; }
  void destroy(cuda::Stream stream) noexcept override { delete stream; }
  cuda::Event make_event() override { return new CUevent_st; }
  void destroy(cuda::Event event) noexcept override { delete event; }

  void copy_to_device(void*, const void*, std::size_t, cuda::Stream stream) override {
    launch_work(stream, speeds_.copy_seconds);
  }
  void copy_to_host(void*, const void*, std::size_t, cuda::Stream) override {}
  void copy_on_device(void*, const void*, std::size_t, cuda::Stream) override {}
  void clear(void*, std::size_t, cuda::Stream) override {}
  void record(cuda::Event event, cuda::Stream stream) override { event->seconds = std::max(stream->free_at, now_); }
  void wait(cuda::Stream stream, cuda::Event event) override { stream->free_at = std::max(stream->free_at, event->seconds); }

  void synchronize(cuda::Stream stream) override { wait_until(stream->free_at); }
  void synchronize(cuda::Event event) override { wait_until(event->seconds); }
  bool done(cuda::Event event) const override { return event->seconds <= now_; }
  double seconds_between(cuda::Event begin, cuda::Event end) const override { return end->seconds - begin->seconds; }

  void begin_capture(cuda::Stream) override {}
  cuda::GraphExec end_capture(cuda::Stream) override { return new CUgraphExec_st; }
  void launch(cuda::GraphExec, cuda::Stream stream) override { launch_work(stream, speeds_.step_seconds); }
  void destroy(cuda::GraphExec graph) noexcept override { delete graph; }

 private:
  static constexpr std::align_val_t kAlignment{256};

  void launch_work(cuda::Stream stream, double seconds) {
    now_ += speeds_.launch_seconds;
    stream->free_at = std::max(stream->free_at, now_) + seconds;
  }
  void wait_until(double seconds) {
    if (seconds > now_) now_ = seconds + speeds_.wake_up_seconds;
  }

  TimelineSpeeds speeds_;
  double now_ = 1000;
};

}  // namespace epochbench::test
