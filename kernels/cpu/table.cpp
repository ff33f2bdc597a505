// The kernel table of one instruction set.
#include <type_traits>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"

#define EPOCHBENCH_STRING_(text) #text
#define EPOCHBENCH_STRING(text) EPOCHBENCH_STRING_(text)

namespace epochbench::cpu::EPOCHBENCH_ISA {

#define KERNEL(name, arguments, further) extern std::remove_pointer_t<decltype(Kernels<Real>::name)> name;
#define CPU_KERNEL(result, name, arguments) KERNEL(name, arguments, )
#include "kernels/host_kernels.inc"

extern const Kernels<Real> table;
const Kernels<Real> table = {
    EPOCHBENCH_STRING(EPOCHBENCH_ISA),
    kWhole > 1,
#define KERNEL(name, arguments, further) name,
#define CPU_KERNEL(result, name, arguments) name,
#include "kernels/host_kernels.inc"
};

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
