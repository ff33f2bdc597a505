// Runs a check of CUDA kernels in every thread order and for every element type. The kernels are those compiled for the CPU
// (cuda_on_cpu.h) or, linked with cuda_kernel_sweep_gpu.cpp, those of a GPU.
#pragma once

#include <string>

#include "kernels/cuda/kernels.h"
#include "tests/support/cuda_launch.h"
#include "tests/support/op_tensor.h"

namespace epochbench::test {

// The stream of the check's launches.
inline constexpr cuda::Stream kNoStream = nullptr;

// Runs check() in every thread order; once on a GPU, which has its own order, and under AddressSanitizer, for which other
// orders bring no other addresses.
bool on_gpu();
template <typename Check>
void for_each_order(const std::string& what, Check check) {
  struct Order {
    ThreadOrder order;
    const char* name;
  };
  for (const Order& of :
       {Order{ThreadOrder::forward, "forward"}, Order{ThreadOrder::reverse, "reverse"}, Order{ThreadOrder::random, "random"}}) {
    SCOPED_TRACE(what + " threads " + of.name);
    set_thread_order(of.order);
    check();
    if (on_gpu() || under_address_sanitizer()) break;
  }
  set_thread_order(ThreadOrder::forward);
}

// Runs check(element) for every type.
template <typename Check>
void for_each_element(const std::string& what, Check check) {
  for (Element element : {Element::f32, Element::bf16, Element::f16}) {
    SCOPED_TRACE(what + " " + name_of(element));
    check(element);
  }
}

}  // namespace epochbench::test
