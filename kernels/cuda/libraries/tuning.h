// Tools for selecting a library's algorithm by measured time: operands and a stopwatch.
#pragma once

#include <cstddef>
#include <functional>

#include "kernels/cuda/kernels.h"
#include "kernels/shapes.h"

struct CUevent_st;

namespace epochbench::cuda {

// Random numbers in (-0.5, 0.5) of type `element`: products of zeros draw less power than products of data and so run faster.
void fill_random(void* memory, std::size_t bytes, Element element, Stream stream);

// The time of one call of `enqueue` on an otherwise idle stream, after a warm-up: the minimum of several averages. If it is
// clearly slower than `to_beat`, the first measurement is returned.
class Stopwatch {
 public:
  explicit Stopwatch(Stream stream);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  double seconds(const std::function<void()>& enqueue, double to_beat);

 private:
  double average(const std::function<void()>& enqueue, int calls);
  Stream stream_;
  CUevent_st* begin_ = nullptr;
  CUevent_st* end_ = nullptr;
};

}  // namespace epochbench::cuda
