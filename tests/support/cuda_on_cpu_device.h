// The CUDA device functions that kernels/cuda uses, for kernels that run on the CPU; see cuda_on_cpu.h.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/support/cuda_on_cpu.h"

// NOLINTBEGIN: CUDA's names.

#define EPOCHBENCH_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(EPOCHBENCH_PLACE) {
  epochbench::test::block_barrier(epochbench::test::BarrierOp::sync, 0, {file, line});
}
inline int __syncthreads_count(int predicate, EPOCHBENCH_PLACE) {
  return epochbench::test::block_barrier(epochbench::test::BarrierOp::count, predicate, {file, line});
}
inline int __syncthreads_and(int predicate, EPOCHBENCH_PLACE) {
  return epochbench::test::block_barrier(epochbench::test::BarrierOp::all, predicate, {file, line});
}
inline int __syncthreads_or(int predicate, EPOCHBENCH_PLACE) {
  return epochbench::test::block_barrier(epochbench::test::BarrierOp::any, predicate, {file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffffu, EPOCHBENCH_PLACE) {
  epochbench::test::warp_exchange(epochbench::test::WarpOp::sync, mask, 0, 0, warpSize, {file, line});
}
inline unsigned __ballot_sync(unsigned mask, int predicate, EPOCHBENCH_PLACE) {
  return static_cast<unsigned>(
      epochbench::test::warp_exchange(epochbench::test::WarpOp::ballot, mask, predicate != 0, 0, warpSize, {file, line}));
}
inline int __any_sync(unsigned mask, int predicate, EPOCHBENCH_PLACE) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EPOCHBENCH_PLACE) {
  return __ballot_sync(mask, predicate, file, line) == mask;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize, EPOCHBENCH_PLACE) {
  return epochbench::test::warp_shuffle(epochbench::test::WarpOp::shuffle, mask, value, static_cast<unsigned>(lane), width,
                                        {file, line});
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = warpSize, EPOCHBENCH_PLACE) {
  return epochbench::test::warp_shuffle(epochbench::test::WarpOp::shuffle_up, mask, value, distance, width, {file, line});
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = warpSize, EPOCHBENCH_PLACE) {
  return epochbench::test::warp_shuffle(epochbench::test::WarpOp::shuffle_down, mask, value, distance, width, {file, line});
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize, EPOCHBENCH_PLACE) {
  return epochbench::test::warp_shuffle(epochbench::test::WarpOp::shuffle_xor, mask, value, static_cast<unsigned>(lanes), width,
                                        {file, line});
}
#undef EPOCHBENCH_PLACE

// Atomics order only themselves, as on a GPU. Each returns the previous value.
namespace epochbench::test {
template <typename T, typename Change>
T atomic_change(T* address, Change change) {
  std::atomic_ref<T> place(*address);
  T old = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(old, change(old), std::memory_order_relaxed)) {
  }
  return old;
}
}  // namespace epochbench::test

template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return epochbench::test::atomic_change(address, [=](T old) { return static_cast<T>(old + value); });
}
template <typename T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>);
  return epochbench::test::atomic_change(address, [=](T old) { return old < value ? value : old; });
}
template <typename T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return epochbench::test::atomic_change(address, [=](T old) { return old | value; });
}
template <typename T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return epochbench::test::atomic_change(address, [=](T) { return value; });
}

inline float __expf(float x) { return std::exp(x); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }

template <typename T>
constexpr T min(T a, std::type_identity_t<T> b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, std::type_identity_t<T> b) {
  return a < b ? b : a;
}

// NOLINTEND
