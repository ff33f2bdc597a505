// Times work on a device: random operands, and a stopwatch by the device's own clock. What is timed is replayed from a graph,
// as a step is: launched one by one, kernels of a few microseconds would wait for the host, and many launches count as time.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "kernels/shapes.h"
#include "src/backend/cuda/cuda_handles.h"

namespace epochbench {

struct Operand {
  void* memory;
  std::size_t bytes;
  Element element;
};

// Random numbers of either sign, from 1/16 to 1: products of zeros draw less power than products of data and so run faster.
void fill_random(cuda::Device& device, const Operand& operand, cuda::Stream stream);

class Stopwatch {
 public:
  // `wait` returns once an event is done, or throws.
  Stopwatch(cuda::Device& device, cuda::Stream stream, std::function<void(cuda::Event)> wait)
      : device_(device),
        stream_(stream),
        wait_(std::move(wait)),
        begin_(device, device.make_event()),
        end_(device, device.make_event()) {}

  // The time of one call of `enqueue` on an otherwise idle stream, after a warm-up: the minimum of several averages. If it is
  // long, or clearly slower than `to_beat`, the first measurement is returned. Errors: Error of the device or of `enqueue`.
  double seconds(const std::function<void()>& enqueue, double to_beat);
  // The time of one call after a warm-up, which is enough to see its order of magnitude.
  double glance(const std::function<void()>& enqueue);

 private:
  void warm_up(const std::function<void()>& enqueue);
  cuda::Owned<cuda::GraphExec> graph_of(const std::function<void()>& enqueue, int calls);
  double seconds_of(const cuda::Owned<cuda::GraphExec>& graph);

  cuda::Device& device_;
  cuda::Stream stream_;
  std::function<void(cuda::Event)> wait_;
  cuda::Owned<cuda::Event> begin_, end_;
};

}  // namespace epochbench
