// The CPU kernels, one table per instruction set. Each kernel file is compiled once per instruction set, in a separate
// namespace, and the table is selected at run time by what the CPU reports, so that one binary runs on every CPU of its
// architecture and uses the instructions it has.
//
// A table computes with one element type, Real: float, or Bf16. Where the instruction set multiplies only floats, products of
// Bf16 are those of the floats that they are widened to. Activations, copies of
// weights, and the gradients of both are Real. Scale, bias and statistics of normalizations, log_sum_exp, losses, counts,
// gradients of embedding tables, and weights and state of optimizers are float, as op_list.inc defines. Sums are float for
// every Real, and are rounded once, to nearest even.
//
// kernel_list.inc defines each kernel and its arguments; those of the CPU end with `threads`, the size of the OpenMP team. It
// affects results only by rounding; equal `threads` give bit-equal results. Element-wise outputs may alias their inputs
// exactly. Kernels do not allocate. `workspace` is 64-byte aligned scratch memory of the size that the *_workspace_bytes
// function returns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/instruction_sets.h"
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
  const char* isa;  // name of its Isa
  bool widens;      // whether Bf16 is widened before products, which are those of floats
  bool masks;       // whether batch_norm writes masks and batch_norm_grad reads them

#define CPU_KERNEL(result, name, arguments) result(*name) arguments;
#include "kernels/kernel_list.inc"
};

// The instruction sets that have a table for Real, slowest first.
template <typename Real>
inline constexpr Isa kIsas[] = {Isa::portable, Isa::avx2, Isa::avx512, Isa::neon};
template <>
inline constexpr Isa kIsas<Bf16>[] = {Isa::portable, Isa::avx2, Isa::avx512,   Isa::avx512_bf16,
                                      Isa::amx_bf16, Isa::neon, Isa::neon_bf16};

// Whether this build has the table, and whether this CPU can run it too. Table: Kernels<Real>, or Int8Kernels.
template <typename Table>
bool compiled(Isa isa);
template <typename Table>
bool available(Isa isa) {
  return compiled<Table>(isa) && supported(isa);
}
template <typename Real>
const Kernels<Real>& kernels(Isa isa);  // precondition: available<Kernels<Real>>(isa)

// The best available table; every build has the portable ones.
template <typename Real>
const Kernels<Real>* best_kernels() {
  const Kernels<Real>* best = nullptr;
  for (Isa isa : kIsas<Real>)
    if (available<Kernels<Real>>(isa)) best = &kernels<Real>(isa);
  return best;
}

}  // namespace epochbench::cpu
