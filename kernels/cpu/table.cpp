// The table of one instruction set.
#include <type_traits>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"

#define EPOCHBENCH_STRING_(text) #text
#define EPOCHBENCH_STRING(text) EPOCHBENCH_STRING_(text)

// In the order of Kernels.
// By hand, as the formatter takes the list for one expression.
// clang-format off
#define EPOCHBENCH_KERNELS(X)                                                                                             \
  X(gemm_workspace_bytes) X(gemm) X(conv2d_workspace_bytes) X(conv2d) X(conv2d_grad_input_workspace_bytes)                \
  X(conv2d_grad_input) X(conv2d_grad_weight_workspace_bytes) X(conv2d_grad_weight) X(conv2d_is_winograd)                  \
  X(bias_add) X(reduction_workspace_bytes) X(bias_add_grad) X(relu) X(relu_grad) X(add) X(batch_norm) X(batch_norm_inference)         \
  X(batch_norm_grad) X(max_pool) X(max_pool_grad) X(global_average_pool) X(global_average_pool_grad) X(cross_entropy)     \
  X(cross_entropy_grad) X(count_correct) X(layer_norm) X(layer_norm_grad) X(gelu) X(gelu_grad) X(dropout) X(embedding)    \
  X(embedding_grad) X(add_rows) X(add_rows_grad) X(gather_rows) X(gather_rows_grad) X(attention_workspace_bytes)          \
  X(attention) X(attention_grad) X(cast) X(sgd) X(adamw)
// clang-format on

namespace epochbench::cpu::EPOCHBENCH_ISA {

#define X(kernel) extern std::remove_pointer_t<decltype(Kernels<Real>::kernel)> kernel;
EPOCHBENCH_KERNELS(X)
#undef X

extern const Kernels<Real> table;
#define X(kernel) kernel,
const Kernels<Real> table = {EPOCHBENCH_STRING(EPOCHBENCH_ISA), kWhole > 1, EPOCHBENCH_KERNELS(X)};
#undef X

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
