// The CPU kernels, as one table an instruction set. Each file below is compiled once for every set, in a namespace of its
// own, and the table is chosen at run time by cpuid, so one binary runs everywhere and is fast where it can be.
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

struct Kernels {
  const char* isa;  // "avx512", "avx2", "portable"

  std::size_t (*gemm_workspace_bytes)(const GemmShape& shape, int threads);
  void (*gemm)(float* c, const float* a, const float* b, const GemmShape& shape, const Epilogue& epilogue, void* workspace,
               int threads);

  std::size_t (*conv2d_workspace_bytes)(const Conv2dShape& shape, int threads);
  void (*conv2d)(float* y, const float* x, const float* weight, const Conv2dShape& shape, const Epilogue& epilogue,
                 void* workspace, int threads);
  std::size_t (*conv2d_grad_input_workspace_bytes)(const Conv2dShape& shape, int threads);
  void (*conv2d_grad_input)(float* dx, const float* dy, const float* weight, const Conv2dShape& shape, void* workspace,
                            int threads);
  std::size_t (*conv2d_grad_weight_workspace_bytes)(const Conv2dShape& shape, int threads);
  void (*conv2d_grad_weight)(float* dweight, const float* dy, const float* x, const Conv2dShape& shape, void* workspace,
                             int threads);

  void (*bias_add)(float* y, const float* x, const float* bias, std::int64_t rows, std::int64_t channels, int threads);
  // Scratch of every reduction over rows: per-thread partial sums.
  std::size_t (*reduction_workspace_bytes)(std::int64_t channels, int threads);
  void (*bias_add_grad)(float* dbias, const float* dy, std::int64_t rows, std::int64_t channels, void* workspace, int threads);
  void (*relu)(float* y, const float* x, std::int64_t n, int threads);
  void (*relu_grad)(float* dx, const float* dy, const float* y, std::int64_t n, int threads);
  void (*add)(float* y, const float* a, const float* b, std::int64_t n, int threads);

  void (*batch_norm)(float* y, float* mean, float* inv_std, float* running_mean, float* running_variance, const float* x,
                     const float* scale, const float* bias, const float* shortcut, std::int64_t rows, std::int64_t channels,
                     double epsilon, double momentum, bool relu, void* workspace, int threads);
  void (*batch_norm_inference)(float* y, const float* x, const float* scale, const float* bias, const float* running_mean,
                               const float* running_variance, const float* shortcut, std::int64_t rows, std::int64_t channels,
                               double epsilon, bool relu, void* workspace, int threads);
  void (*batch_norm_grad)(float* dx, float* dscale, float* dbias, float* dz, const float* dy, const float* y, const float* x,
                          const float* scale, const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels,
                          void* workspace, int threads);

  void (*max_pool)(float* y, std::uint8_t* index, const float* x, const PoolShape& shape, int threads);
  void (*max_pool_grad)(float* dx, const float* dy, const std::uint8_t* index, const PoolShape& shape, int threads);
  void (*global_average_pool)(float* y, const float* x, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                              int threads);
  void (*global_average_pool_grad)(float* dx, const float* dy, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                                   int threads);

  void (*cross_entropy)(float* loss, float* log_sum_exp, const float* logits, const std::int32_t* labels, std::int64_t rows,
                        std::int64_t classes, bool mean, int threads);
  void (*cross_entropy_grad)(float* dlogits, const float* logits, const std::int32_t* labels, const float* log_sum_exp,
                             std::int64_t rows, std::int64_t classes, bool mean, int threads);
  void (*count_correct)(float* count, const float* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes,
                        int threads);

  // One parallel region over all tensors, divided by elements.
  void (*sgd)(const SgdTensor* tensors, int count, const float* learning_rate, const SgdNumbers& numbers, int threads);
  void (*adamw)(const AdamwTensor* tensors, int count, const float* learning_rate, const std::int32_t* step,
                const AdamwNumbers& numbers, int threads);
};

enum class Isa : std::uint8_t { portable, avx2, avx512 };
inline constexpr Isa kIsas[] = {Isa::portable, Isa::avx2, Isa::avx512};

bool available(Isa isa);  // compiled in, and this CPU has it
Isa best_isa();
const Kernels& kernels(Isa isa);  // precondition: available(isa)

}  // namespace epochbench::cpu
