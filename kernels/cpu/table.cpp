// The kernel table of one instruction set.
#include <type_traits>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"

// Declares the kernel of a member of the table.
#define EPOCHBENCH_DECLARED(name) extern std::remove_pointer_t<decltype(Kernels<cpu::EPOCHBENCH_ISA::Real>::name)> name;
#define EPOCHBENCH_DECLARED_2(first, second) EPOCHBENCH_DECLARED(first) EPOCHBENCH_DECLARED(second)

#if EPOCHBENCH_AMX
namespace epochbench::cpu::avx512_bf16 {
#else
namespace epochbench::cpu::EPOCHBENCH_ISA {
#endif
#define CPU_KERNEL(result, name, arguments) EPOCHBENCH_DECLARED(name)
#include "kernels/kernel_list.inc"
}  // namespace

namespace epochbench::cpu::EPOCHBENCH_ISA {

#if EPOCHBENCH_AMX  // what is built on products; the other kernels are those of AVX-512
using namespace avx512_bf16;
EPOCHBENCH_DECLARED_2(gemm, gemm_workspace_bytes)
EPOCHBENCH_DECLARED_2(pack_gemm, gemm_packed_bytes)
EPOCHBENCH_DECLARED_2(conv2d, conv2d_workspace_bytes)
EPOCHBENCH_DECLARED_2(pack_conv2d, conv2d_packed_bytes)
EPOCHBENCH_DECLARED_2(conv2d_grad_input, conv2d_grad_input_workspace_bytes)
EPOCHBENCH_DECLARED_2(conv2d_grad_weight, conv2d_grad_weight_workspace_bytes)
EPOCHBENCH_DECLARED(conv2d_is_winograd)
EPOCHBENCH_DECLARED_2(attention, attention_grad)
EPOCHBENCH_DECLARED(attention_workspace_bytes)
EPOCHBENCH_DECLARED_2(lstm, lstm_grad)
EPOCHBENCH_DECLARED(lstm_workspace_bytes)
#endif

extern const Kernels<Real> table;
const Kernels<Real> table = {
    EPOCHBENCH_ISA_NAME,
    EPOCHBENCH_WIDENED,
    kWhole > 1,
#define CPU_KERNEL(result, name, arguments) name,
#include "kernels/kernel_list.inc"
};

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
