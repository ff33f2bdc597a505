// The tables that this build contains. Compiled for the baseline instruction set only.
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/kernels.h"

// EPOCHBENCH_TABLES is TABLE(instruction set, namespace, its type) for each table of this build (kernels/CMakeLists.txt).
namespace epochbench::cpu {

#define TABLE(isa, space, Type) \
  namespace space {             \
  extern const Type table;      \
  }
EPOCHBENCH_TABLES
#undef TABLE

namespace {

// The address of the table, null if this build lacks it.
template <typename Table>
const Table* table_of([[maybe_unused]] Isa wanted) {
  const Table* found = nullptr;
  [[maybe_unused]] const auto offer = [&]<typename Other>(Isa isa, const Other& table) {
    if constexpr (std::is_same_v<Other, Table>)
      if (isa == wanted) found = &table;
  };
#define TABLE(isa, space, Type) offer(Isa::isa, space::table);
  EPOCHBENCH_TABLES
#undef TABLE
  return found;
}

template <typename Table>
const Table& available_table(Isa isa) {
  if (!available<Table>(isa)) throw std::logic_error(std::string("no such kernels for ") + name(isa));
  return *table_of<Table>(isa);
}

}  // namespace

template <typename Table>
bool compiled(Isa isa) {
  return table_of<Table>(isa) != nullptr;
}
template bool compiled<Kernels<float>>(Isa);
template bool compiled<Kernels<Bf16>>(Isa);
template bool compiled<Int8Kernels>(Isa);

template <>
const Kernels<float>& kernels<float>(Isa isa) {
  return available_table<Kernels<float>>(isa);
}

template <>
const Kernels<Bf16>& kernels<Bf16>(Isa isa) {
  return available_table<Kernels<Bf16>>(isa);
}

const Int8Kernels& int8_kernels(Isa isa) { return available_table<Int8Kernels>(isa); }

}  // namespace epochbench::cpu
