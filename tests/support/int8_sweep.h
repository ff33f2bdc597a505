// Runs a check with the int8 kernels of every instruction set of this CPU, and on the model of AMX.
#pragma once

#include <string>

#include "kernels/cpu/int8_kernels.h"
#include "kernels/reference/kernels.h"
#include "tests/support/amx_model.h"
#include "tests/support/compare.h"

namespace epochbench::test {

template <typename Check>
void for_each_int8_isa(const std::string& what, Check check) {
  for (cpu::Isa isa : cpu::kInt8Isas) {
    if (!cpu::available<cpu::Int8Kernels>(isa)) continue;
    const cpu::Int8Kernels& kernels = cpu::int8_kernels(isa);
    SCOPED_TRACE(what + " " + kernels.isa);
    check(kernels);
  }
  if (&cpu::amx_int8_model::table == nullptr || !cpu::supported(cpu::Isa::avx512_vnni) ||
      cpu::available<cpu::Int8Kernels>(cpu::Isa::amx_int8))
    return;
  SCOPED_TRACE(what + " " + cpu::amx_int8_model::table.isa);
  check(cpu::amx_int8_model::table);
}

using Codes = GuardedBuffer<std::uint8_t>;

inline Codes random_codes(std::int64_t n, std::uint64_t seed) {
  const GuardedBuffer<float> values = [&] {
    GuardedBuffer<float> uniform(n);
    fill_uniform(uniform, seed, 0, 256);
    return uniform;
  }();
  Codes codes(n);
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(values[i] < 255 ? values[i] : 255);
  return codes;
}

// A buffer of n bytes that begins `offset` bytes after a boundary of 64.
inline Codes shifted(const Codes& codes, std::int64_t offset) {
  Codes copy(static_cast<std::int64_t>(codes.size()) + offset);
  std::copy(codes.begin(), codes.end(), copy.begin() + offset);
  return copy;
}

}  // namespace epochbench::test
