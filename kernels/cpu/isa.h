// The namespace of the instruction set that this translation unit is compiled for.
//
// A kernel file must emit no symbol outside of it: a template or inline function of the standard library that is not
// inlined would be merged with its twins by the linker, and a CPU without the instructions could meet the wrong one. So
// kernels use plain loops, raw pointers and the helpers below.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef EPOCHBENCH_ISA
#error "compiled once an instruction set with -DEPOCHBENCH_ISA=..."
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct Range {
  std::int64_t begin, end;
};

// Part `index` of `parts` of [0, n), cut at multiples of `grain`: the same for every kernel, so a thread meets the memory
// that it touched first.
static inline Range part_of(std::int64_t n, int index, int parts, std::int64_t grain) {
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t begin = grains * index / parts * grain, end = grains * (index + 1) / parts * grain;
  return {begin < n ? begin : n, end < n ? end : n};
}

static inline std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
static inline std::int64_t max_of(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
