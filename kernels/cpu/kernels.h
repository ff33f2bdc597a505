// The CPU kernels, as one table an instruction set. Each file below is compiled once for every set, in a namespace of its
// own, and the table is chosen at run time by cpuid, so one binary runs everywhere and is fast where it can be.
//
// A set computes with one kind of number, Real: float, or Bf16 where the CPU multiplies it. Tensors that flow through a network
// (activations, copies of weights, and gradients of both) are Real; scale, bias and statistics of norms, log_sum_exp, losses,
// counts, tables' gradients, weights and state of optimizers are float, as op.h has it. Sums are float whatever Real is, and
// rounded once, to nearest even.
//
// Arguments: outputs, inputs, dimensions, threads, as in kernels/reference/kernels.h, whose comments define each kernel.
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

  std::size_t (*gemm_workspace_bytes)(const GemmShape& shape, int threads);
  void (*gemm)(Real* c, const Real* a, const Real* b, const GemmShape& shape, const Epilogue<Real>& epilogue, void* workspace,
               int threads);

  std::size_t (*conv2d_workspace_bytes)(const Conv2dShape& shape, int threads);
  void (*conv2d)(Real* y, const Real* x, const Real* weight, const Conv2dShape& shape, const Epilogue<Real>& epilogue,
                 void* workspace, int threads);
  std::size_t (*conv2d_grad_input_workspace_bytes)(const Conv2dShape& shape, int threads);
  void (*conv2d_grad_input)(Real* dx, const Real* dy, const Real* weight, const Conv2dShape& shape, void* workspace,
                            int threads);
  std::size_t (*conv2d_grad_weight_workspace_bytes)(const Conv2dShape& shape, int threads);
  void (*conv2d_grad_weight)(Real* dweight, const Real* dy, const Real* x, const Conv2dShape& shape, void* workspace,
                             int threads);
  // Whether conv2d and conv2d_grad_input compute it by Winograd's transforms instead of direct sums: what is multiplied is then
  // less than the FLOPs that are counted.
  bool (*conv2d_is_winograd)(const Conv2dShape& shape);

  void (*bias_add)(Real* y, const Real* x, const Real* bias, std::int64_t rows, std::int64_t channels, int threads);
  // Scratch of every reduction over rows: per-thread partial sums.
  std::size_t (*reduction_workspace_bytes)(std::int64_t channels, int threads);
  void (*bias_add_grad)(Real* dbias, const Real* dy, std::int64_t rows, std::int64_t channels, void* workspace, int threads);
  void (*relu)(Real* y, const Real* x, std::int64_t n, int threads);
  void (*relu_grad)(Real* dx, const Real* dy, const Real* y, std::int64_t n, int threads);
  void (*add)(Real* y, const Real* a, const Real* b, std::int64_t n, int threads);

  // mask (or null): bit i % 32 of word i / 32 says whether element i of y is above 0; needs relu, channels in sixteens, and a
  // set that has masks.
  void (*batch_norm)(Real* y, std::uint32_t* mask, float* mean, float* inv_std, float* running_mean, float* running_variance,
                     const Real* x, const float* scale, const float* bias, const Real* shortcut, std::int64_t rows,
                     std::int64_t channels, double epsilon, double momentum, bool relu, void* workspace, int threads);
  void (*batch_norm_inference)(Real* y, const Real* x, const float* scale, const float* bias, const float* running_mean,
                               const float* running_variance, const Real* shortcut, std::int64_t rows, std::int64_t channels,
                               double epsilon, bool relu, void* workspace, int threads);
  // The gradient that comes in is dy + dy2 (dy2 or null), where y was above 0: by the mask, else by y, else everywhere. It is
  // what dz (or null) gets. dx may be dy, dy2 or x.
  void (*batch_norm_grad)(Real* dx, float* dscale, float* dbias, Real* dz, const Real* dy, const Real* dy2,
                          const std::uint32_t* mask, const Real* y, const Real* x, const float* scale, const float* mean,
                          const float* inv_std, std::int64_t rows, std::int64_t channels, void* workspace, int threads);

  void (*max_pool)(Real* y, std::uint8_t* index, const Real* x, const PoolShape& shape, int threads);
  void (*max_pool_grad)(Real* dx, const Real* dy, const std::uint8_t* index, const PoolShape& shape, int threads);
  void (*global_average_pool)(Real* y, const Real* x, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                              int threads);
  void (*global_average_pool_grad)(Real* dx, const Real* dy, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                                   int threads);

  void (*cross_entropy)(float* loss, float* log_sum_exp, const Real* logits, const std::int32_t* labels, std::int64_t rows,
                        std::int64_t classes, bool mean, int threads);
  void (*cross_entropy_grad)(Real* dlogits, const Real* logits, const std::int32_t* labels, const float* log_sum_exp,
                             std::int64_t rows, std::int64_t classes, bool mean, int threads);
  void (*count_correct)(float* count, const Real* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes,
                        int threads);

  void (*layer_norm)(Real* y, float* mean, float* inv_std, const Real* x, const float* scale, const float* bias,
                     std::int64_t rows, std::int64_t channels, double epsilon, int threads);
  void (*layer_norm_grad)(Real* dx, float* dscale, float* dbias, const Real* dy, const Real* x, const float* scale,
                          const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels, void* workspace,
                          int threads);  // workspace: reduction_workspace_bytes
  void (*gelu)(Real* y, const Real* x, std::int64_t n, int threads);
  void (*gelu_grad)(Real* dx, const Real* dy, const Real* x, std::int64_t n, int threads);
  void (*dropout)(Real* y, const Real* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n, int threads);

  void (*embedding)(Real* y, const Real* table, const std::int32_t* ids, std::int64_t rows, std::int64_t width, int threads);
  void (*embedding_grad)(float* dtable, const Real* dy, const std::int32_t* ids, const Real* base, std::int64_t rows,
                         std::int64_t vocabulary, std::int64_t width, int threads);
  void (*add_rows)(Real* y, const Real* x, const Real* table, std::int64_t rows, std::int64_t width, std::int64_t period,
                   int threads);
  void (*add_rows_grad)(float* dtable, const Real* dy, std::int64_t rows, std::int64_t width, std::int64_t period,
                        std::int64_t table_rows, int threads);
  void (*gather_rows)(Real* y, const Real* x, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                      std::int64_t count, std::int64_t width, int threads);
  void (*gather_rows_grad)(Real* dx, const Real* dy, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                           std::int64_t count, std::int64_t width, int threads);

  std::size_t (*attention_workspace_bytes)(const AttentionShape& shape, int threads);  // of both directions
  void (*attention)(Real* y, float* log_sum_exp, const Real* q, const Real* k, const Real* v, const std::int32_t* step,
                    const AttentionShape& shape, const Dropout& dropout, void* workspace, int threads);
  void (*attention_grad)(Real* dq, Real* dk, Real* dv, const Real* dy, const Real* q, const Real* k, const Real* v,
                         const Real* y, const float* log_sum_exp, const std::int32_t* step, const AttentionShape& shape,
                         const Dropout& dropout, void* workspace, int threads);

  // One parallel region over all tensors, divided by elements.
  void (*cast)(const CastTensor<Real>* tensors, int count, int threads);
  void (*sgd)(const SgdTensor* tensors, int count, const float* learning_rate, const SgdNumbers& numbers, int threads);
  void (*adamw)(const AdamwTensor* tensors, int count, const float* learning_rate, const std::int32_t* step,
                const AdamwNumbers& numbers, int threads);
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
