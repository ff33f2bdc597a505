// The CPU kernels, as one table an instruction set. Each file below is compiled once for every set, in a namespace of its
// own, and the table is chosen at run time by cpuid, so one binary runs everywhere and is fast where it can be.
//
// A set computes with one kind of number, Real: float, or Bf16 where the CPU multiplies it. Tensors that flow through a network
// (activations, copies of weights, and gradients of both) are Real; scale, bias and statistics of norms, log_sum_exp, losses,
// counts, tables' gradients, weights and state of optimizers are float, as op_list.inc has it. Sums are float whatever Real is,
// and rounded once, to nearest even.
//
// host_kernels.inc defines each kernel and its arguments; the CPU's end in `threads`.
// `threads`: the size of the OpenMP team. Results depend on it by rounding only, and are bit-equal for equal `threads`.
// Element-wise outputs may alias their inputs exactly. No kernel allocates. `workspace` is 64-byte aligned scratch memory
// of the size that the *_workspace_bytes function states.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench::cpu {

template <typename Real>
struct CastTensor {  // y = x, n elements
  Real* y;
  const float* x;
  std::int64_t n;
};

template <typename Real>
struct Kernels {
  const char* isa;  // the name of its Isa
  bool masks;       // batch_norm writes them, and batch_norm_grad reads them

#define EPOCHBENCH_LIST(...) __VA_ARGS__
#define KERNEL(name, arguments, further) void (*name)(EPOCHBENCH_LIST arguments, EPOCHBENCH_LIST further);
#define CPU_KERNEL(result, name, arguments) result(*name) arguments;
#include "kernels/host_kernels.inc"
#undef EPOCHBENCH_LIST
};

enum class Isa : std::uint8_t { portable, avx2, avx512, avx512_bf16, amx_bf16 };
// Those with a table for Real, worst first.
template <typename Real>
inline constexpr Isa kIsas[] = {Isa::portable, Isa::avx2, Isa::avx512};
template <>
inline constexpr Isa kIsas<Bf16>[] = {Isa::avx512_bf16, Isa::amx_bf16};

bool available(Isa isa);  // compiled in, and this CPU has it
template <typename Real>
const Kernels<Real>& kernels(Isa isa);  // precondition: available(isa), and it is one of kIsas<Real>

// The best available table; null where there is none.
template <typename Real>
const Kernels<Real>* best_kernels() {
  const Kernels<Real>* best = nullptr;
  for (Isa isa : kIsas<Real>)
    if (available(isa)) best = &kernels<Real>(isa);
  return best;
}

}  // namespace epochbench::cpu
