// Lets the C++ compiler build unmodified .cu files, so that tests run our kernels without a GPU. CMake force-includes it into
// each of them: kernels/cuda/device_code.cuh names what a kernel may use.
//
// A grid runs block after block, a block's threads as fibers of one operating-system thread (cuda_on_cpu.cpp). It checks
// results, barriers, warp operations and, with the sanitizers, bounds and races; it does not model speed, memory spaces
// or asynchrony inside a kernel, and is not a backend. Numbers differ from a GPU's by contraction and the math library.
//
// What is undefined on a GPU prints a report and aborts: divergent barriers, threads that wait forever, warp operations
// whose lanes disagree or whose mask names a missing lane.
#pragma once

#if defined(__CUDACC__)
#error "for compilers without CUDA"
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/cuda/kernels.h"
#include "tests/support/cuda_launch.h"

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __shared__
#define __shared__ static_assert(false, "declare shared memory by SHARED_ARRAY or DYNAMIC_SHARED");

// NOLINTBEGIN: CUDA's names.
inline thread_local constinit uint3 threadIdx{0, 0, 0}, blockIdx{0, 0, 0};
inline thread_local constinit dim3 blockDim(1, 1, 1), gridDim(1, 1, 1);
inline constexpr int warpSize = 32;
// NOLINTEND

namespace epochbench::test {

struct Place {
  const char* file;
  int line;
  bool operator==(const Place& other) const {
    return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0);
  }
  // Member by member: a copy of both at once would wait until what the caller stored has reached the cache.
  void assign(const Place& other) {
    file = other.file;
    line = other.line;
  }
};

enum class BarrierOp : std::uint8_t { sync, count, all, any };
int block_barrier(BarrierOp op, int predicate, Place place);

enum class WarpOp : std::uint8_t { sync, ballot, shuffle, shuffle_up, shuffle_down, shuffle_xor };
// A lane's part in an operation of the lanes in `mask`: what it contributes and what it gets. `argument`: the source lane, the
// distance or the lane mask of a shuffle.
std::uint64_t warp_exchange(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, int width, Place place);

// The block's array for `key`, of exactly this size and full of NaN when the block starts.
void* shared_array(const void* key, std::size_t bytes);
void* dynamic_shared_array();
int multiprocessors();

// Errors: cuda::Error where a GPU would refuse the launch.
void check_launch(dim3 grid, dim3 block, std::size_t shared_bytes);
void check_pointer(const void* pointer);
template <typename T>
void check_argument(const T& argument) {
  if constexpr (std::is_pointer_v<T>) check_pointer(argument);
}
void enqueue(cuda::Stream stream, std::function<void()> work);
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, void (*kernel)(const void*), const void* arguments);

template <typename T>
T warp_shuffle(WarpOp op, unsigned mask, T value, unsigned argument, int width, Place place) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = warp_exchange(op, mask, bits, argument, width, place);
  std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}

}  // namespace epochbench::test

#define SHARED_ARRAY(T, name, count)                                \
  T* const name = static_cast<T*>(::epochbench::test::shared_array( \
      [] {                                                          \
        static char key;                                            \
        return &key;                                                \
      }(),                                                          \
      sizeof(T) * (count)))
#define DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::epochbench::test::dynamic_shared_array())

#include "tests/support/cuda_on_cpu_device.h"

namespace epochbench::cuda {

void check(cudaError_t status, const char* what);  // Errors: Error
inline int multiprocessors() { return test::multiprocessors(); }

// As in device_code.cuh.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
            Arguments&&... arguments) {
  test::check_launch(grid, block, shared_bytes);
  using Call = std::pair<void (*)(Parameters...), std::tuple<std::remove_cv_t<Parameters>...>>;
  const Call call{kernel, {static_cast<Parameters>(arguments)...}};
  std::apply([](const auto&... made) { (test::check_argument(made), ...); }, call.second);
  test::enqueue(stream, [=] {
    const auto thread = [](const void* address) {
      const Call& made = *static_cast<const Call*>(address);
      std::apply(made.first, made.second);
    };
    test::run_grid(grid, block, shared_bytes, thread, &call);
  });
}

}  // namespace epochbench::cuda
