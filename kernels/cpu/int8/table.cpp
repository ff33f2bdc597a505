// The table of inference in bytes of one instruction set.
#include <type_traits>

#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

#define CPU_KERNEL(result, name, arguments) extern std::remove_pointer_t<decltype(Int8Kernels::name)> name;
#include "kernels/int8_kernels.inc"

extern const Int8Kernels table;
const Int8Kernels table = {
    EPOCHBENCH_ISA_NAME,
#define CPU_KERNEL(result, name, arguments) name,
#include "kernels/int8_kernels.inc"
};

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
