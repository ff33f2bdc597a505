// Runs a check with the kernels of every instruction set of this CPU and with several team sizes. The model of AMX takes the
// place of a CPU that has it.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "kernels/cpu/kernels.h"
#include "kernels/reference/kernels.h"
#include "tests/support/amx_model.h"
#include "tests/support/compare.h"

namespace epochbench::test {

template <typename KernelsType>
struct RealOfKernels;
template <typename Real>
struct RealOfKernels<cpu::Kernels<Real>> {
  using type = Real;
};
// The element type of a table: float or Bf16.
template <typename KernelsType>
using RealOf = typename RealOfKernels<std::remove_cvref_t<KernelsType>>::type;

template <typename Real, typename Check>
void for_each_isa_of(const std::string& what, Check check) {
  for (cpu::Isa isa : cpu::kIsas<Real>) {
    if (!cpu::available<cpu::Kernels<Real>>(isa)) continue;
    const cpu::Kernels<Real>& kernels = cpu::kernels<Real>(isa);
    SCOPED_TRACE(what + " " + kernels.isa);
    check(kernels);
  }
  if constexpr (std::is_same_v<Real, Bf16>) {
    if (&cpu::amx_model::table != nullptr && cpu::supported(cpu::Isa::avx512_bf16) &&
        !cpu::available<cpu::Kernels<Bf16>>(cpu::Isa::amx_bf16)) {
      SCOPED_TRACE(what + " " + cpu::amx_model::table.isa);
      check(cpu::amx_model::table);
    }
  }
}

// Runs check(kernels) for the tables of both element types.
template <typename Check>
void for_each_isa(const std::string& what, Check check) {
  for_each_isa_of<float>(what, check);
  for_each_isa_of<Bf16>(what, check);
}

// But for AMX, instruction sets divide work among threads by the same code, so the best one alone runs with every team; the
// model of AMX takes a microsecond for one CPU cycle of work.
template <typename Real, typename Check>
void for_each_kernels(const std::string& what, Check check) {
  for_each_isa_of<Real>(what, [&](const cpu::Kernels<Real>& kernels) {
    for (int threads : {1, 2, 3, 5}) {
      if (&kernels != cpu::best_kernels<Real>() && threads != 3) continue;
      SCOPED_TRACE("threads=" + std::to_string(threads));
      check(kernels, threads);
    }
  });
}

// TYPED_TEST_SUITE(Unit, test::Reals, test::RealName), template <typename Real> class Unit : public testing::Test {}:
// each test once per element type, for checks whose expectations depend on it.
using Reals = testing::Types<float, Bf16>;
struct RealName {
  template <typename Real>
  static std::string GetName(int) {
    return std::is_same_v<Real, float> ? "fp32" : "bf16";
  }
};

inline float widen(float x) { return x; }
inline float widen(Bf16 x) {
  float y;
  reference::cast(&y, &x, Element::f32, Element::bf16, 1);
  return y;
}

// Copies to the element type of a table and back; Bf16 rounds.
template <typename Real>
GuardedBuffer<Real> reals(const GuardedBuffer<float>& values) {
  if constexpr (std::is_same_v<Real, float>) {
    return values;
  } else {
    GuardedBuffer<Real> copy(static_cast<std::int64_t>(values.size()));
    reference::cast(copy.data(), values.data(), Element::bf16, Element::f32, static_cast<std::int64_t>(values.size()));
    return copy;
  }
}
template <typename Real>
GuardedBuffer<float> floats(const GuardedBuffer<Real>& values) {
  GuardedBuffer<float> copy(static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) copy.data()[i] = widen(values.data()[i]);
  return copy;
}
template <typename Real>
GuardedBuffer<Real> random_reals(std::int64_t n, std::uint64_t seed, double low = -1, double high = 1) {
  return reals<Real>(random_floats(n, seed, low, high));
}

// For a result whose last step rounds to Real: Bf16 has 8 bits of mantissa, so half a unit in its last place is 2^-9 to 2^-8.
template <typename Real>
Tolerance rounded(Tolerance tolerance) {
  return {tolerance.relative + (std::is_same_v<Real, Bf16> ? 0x1p-8 : 0), tolerance.absolute * (1 + 0x1p-8)};
}

template <typename Real>
bool bit_equal(const GuardedBuffer<Real>& a, const GuardedBuffer<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

}  // namespace epochbench::test
