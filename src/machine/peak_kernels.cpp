// Each function is compiled for its own instruction set, so that the file needs no flags and runs on any CPU.
//
// Latency times throughput of a multiply-add is at most 10 on all current x86-64 cores (5 cycles, 2 per cycle): 12 accumulators
// or more keep the units full, and all of them fit the register file. On Neoverse V1 and V2 it is 20 (5 cycles of BFMMLA, 4 per
// cycle).
#include "src/machine/peak_kernels.h"

#include "kernels/cpu/instruction_sets.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace epochbench {
namespace {

#if !defined(__aarch64__)

constexpr int kPortableAccumulators = 12;

double fp32_portable(std::int64_t rounds) {
  using Vector = float __attribute__((vector_size(16)));
  const Vector scale = {0.999f, 0.998f, 0.997f, 0.996f}, shift = {0.001f, 0.002f, 0.003f, 0.004f};
  Vector accumulator[kPortableAccumulators];
  for (int i = 0; i < kPortableAccumulators; ++i) accumulator[i] = shift * static_cast<float>(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kPortableAccumulators; ++i) accumulator[i] = accumulator[i] * scale + shift;
  }
  for (int i = 0; i < kPortableAccumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kPortableAccumulators * 4 * 2;
}

#endif

#if defined(__x86_64__)

constexpr int kAvx2Accumulators = 12;
constexpr int kAvx512Accumulators = 16;

__attribute__((target("avx2,fma"))) double fp32_avx2(std::int64_t rounds) {
  const __m256 scale = _mm256_set1_ps(0.999f), shift = _mm256_set1_ps(0.001f);
  __m256 accumulator[kAvx2Accumulators];
  for (int i = 0; i < kAvx2Accumulators; ++i) accumulator[i] = _mm256_set1_ps(static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kAvx2Accumulators; ++i) accumulator[i] = _mm256_fmadd_ps(accumulator[i], scale, shift);
  }
  for (int i = 0; i < kAvx2Accumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kAvx2Accumulators * 8 * 2;
}

__attribute__((target("avx512f"))) double fp32_avx512(std::int64_t rounds) {
  const __m512 scale = _mm512_set1_ps(0.999f), shift = _mm512_set1_ps(0.001f);
  __m512 accumulator[kAvx512Accumulators];
  for (int i = 0; i < kAvx512Accumulators; ++i) accumulator[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kAvx512Accumulators; ++i) accumulator[i] = _mm512_fmadd_ps(accumulator[i], scale, shift);
  }
  for (int i = 0; i < kAvx512Accumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kAvx512Accumulators * 16 * 2;
}

__attribute__((target("avx512f,avx512bf16"))) double bf16_avx512(std::int64_t rounds) {
  const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3f803f80), b = (__m512bh)_mm512_set1_epi32(0x3c003c00);  // 1 and 1/128
  __m512 accumulator[kAvx512Accumulators];
  for (int i = 0; i < kAvx512Accumulators; ++i) accumulator[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kAvx512Accumulators; ++i) accumulator[i] = _mm512_dpbf16_ps(accumulator[i], a, b);
  }
  for (int i = 0; i < kAvx512Accumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kAvx512Accumulators * 16 * 2 * 2;
}

__attribute__((target("avx512f,avx512vnni"))) double int8_avx512(std::int64_t rounds) {
  const __m512i a = _mm512_set1_epi32(0x7f80817e), b = _mm512_set1_epi32(0x01ff02fe);  // of both signs
  __m512i accumulator[kAvx512Accumulators];
  for (int i = 0; i < kAvx512Accumulators; ++i) accumulator[i] = _mm512_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kAvx512Accumulators; ++i) accumulator[i] = _mm512_dpbusd_epi32(accumulator[i], a, b);
  }
  for (int i = 0; i < kAvx512Accumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kAvx512Accumulators * 16 * 4 * 2;
}

__attribute__((target("avx2"))) double int8_avx2(std::int64_t rounds) {
  const __m256i a = _mm256_set1_epi32(0x007f00fe), b = _mm256_set1_epi32(0x0001ff82);  // bytes in 16 bits, of both signs
  __m256i accumulator[kAvx2Accumulators];
  for (int i = 0; i < kAvx2Accumulators; ++i) accumulator[i] = _mm256_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kAvx2Accumulators; ++i) {
      __m256i factor = a;
      asm("" : "+x"(factor));  // otherwise the product would be computed once
      accumulator[i] = _mm256_add_epi32(accumulator[i], _mm256_madd_epi16(factor, b));
    }
  }
  for (int i = 0; i < kAvx2Accumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kAvx2Accumulators * 8 * 2 * 2;
}

__attribute__((target("avx2,avxvnni"))) double int8_avx_vnni(std::int64_t rounds) {
  const __m256i a = _mm256_set1_epi32(0x7f80817e), b = _mm256_set1_epi32(0x01ff02fe);  // of both signs
  __m256i accumulator[kAvx2Accumulators];
  for (int i = 0; i < kAvx2Accumulators; ++i) accumulator[i] = _mm256_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kAvx2Accumulators; ++i) accumulator[i] = _mm256_dpbusd_avx_epi32(accumulator[i], a, b);
  }
  for (int i = 0; i < kAvx2Accumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kAvx2Accumulators * 8 * 4 * 2;
}

struct alignas(64) TileConfiguration {  // what LDTILECFG reads: Intel's manual, volume 2
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

// Four accumulator tiles from two tiles of each factor: a tile multiplication takes 16 cycles, and four of them cover the
// latency.
template <Precision kPrecision>
__attribute__((target("amx-tile,amx-bf16,amx-int8"))) double tiles_amx(std::int64_t rounds) {
  constexpr bool kBytes = kPrecision == Precision::int8;
  TileConfiguration configuration;
  for (int tile = 0; tile < 8; ++tile) {
    configuration.row_bytes[tile] = 64;
    configuration.rows[tile] = 16;
  }
  // Numbers of both signs, in bf16 from 2^-7 to 2: tiles of zeros would run at a higher clock. Bits from Lehmer's generator
  // with the constants of Park and Miller (1988).
  alignas(64) std::uint16_t factors[4][16 * 32];
  std::uint64_t random = 1;
  for (std::uint16_t(&tile)[16 * 32] : factors) {
    for (std::uint16_t& factor : tile) {
      random = random * 48271 % 2147483647;
      factor = static_cast<std::uint16_t>(kBytes ? random : 0x3c00 | (random & 0x83ff));
    }
  }
  // The intrinsics of GCC 11 and 12 do not tell the compiler what they read, so it would drop the stores above.
  asm volatile("ldtilecfg %0" : : "m"(configuration), "m"(factors));
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, factors[0], 64);
  _tile_loadd(5, factors[1], 64);
  _tile_loadd(6, factors[2], 64);
  _tile_loadd(7, factors[3], 64);
  for (std::int64_t round = 0; round < rounds; ++round) {
    if constexpr (kBytes) {
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(1, 4, 7);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    } else {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_release();
  return static_cast<double>(rounds) * 4 * (16.0 * 16 * (kBytes ? 64 : 32) * 2);
}

#elif defined(__aarch64__)

constexpr int kNeonAccumulators = 24;

double fp32_neon(std::int64_t rounds) {
  const float32x4_t a = vdupq_n_f32(0.999f), b = vdupq_n_f32(0.001f);
  float32x4_t accumulator[kNeonAccumulators];
  for (int i = 0; i < kNeonAccumulators; ++i) accumulator[i] = vdupq_n_f32(static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kNeonAccumulators; ++i) accumulator[i] = vfmaq_f32(accumulator[i], a, b);
  }
  for (int i = 0; i < kNeonAccumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kNeonAccumulators * 4 * 2;
}

__attribute__((target("arch=armv8.2-a+bf16"))) double bf16_neon(std::int64_t rounds) {
  std::uint16_t one = 0x3f80, thousandth = 0x3a83;
  asm("" : "+r"(one), "+r"(thousandth));  // g++ 12 would build the constant vector with an instruction that needs fp16
  const bfloat16x8_t a = vreinterpretq_bf16_u16(vdupq_n_u16(one)), b = vreinterpretq_bf16_u16(vdupq_n_u16(thousandth));
  float32x4_t accumulator[kNeonAccumulators];
  for (int i = 0; i < kNeonAccumulators; ++i) accumulator[i] = vdupq_n_f32(static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kNeonAccumulators; ++i) accumulator[i] = vbfmmlaq_f32(accumulator[i], a, b);
  }
  for (int i = 0; i < kNeonAccumulators; ++i) asm volatile("" : : "m"(accumulator[i]));
  return static_cast<double>(rounds) * kNeonAccumulators * (2 * 2 * 4 * 2);
}

#endif

}  // namespace

PeakKernel fp32_peak_kernel() {
#if defined(__x86_64__)
  if (cpu::supported(cpu::Isa::avx512)) return {fp32_avx512, "vfmadd (avx512)"};
  if (cpu::supported(cpu::Isa::avx2)) return {fp32_avx2, "vfmadd (avx2)"};
#endif
#if defined(__aarch64__)
  return {fp32_neon, "fmla (neon)"};
#else
  return {fp32_portable, "128-bit vectors (portable)"};
#endif
}

PeakKernel bf16_peak_kernel() {
#if defined(__x86_64__)
  if (cpu::supported(cpu::Isa::amx_bf16)) return amx_peak_kernel(Precision::bf16);
  if (cpu::supported(cpu::Isa::avx512_bf16)) return {bf16_avx512, "vdpbf16ps (avx512)"};
#elif defined(__aarch64__)
  if (cpu::supported(cpu::Isa::neon_bf16)) return {bf16_neon, "bfmmla (neon)"};
#endif
  return {};
}

PeakKernel int8_peak_kernel() {
#if defined(__x86_64__)
  if (cpu::supported(cpu::Isa::amx_int8)) return amx_peak_kernel(Precision::int8);
  if (cpu::supported(cpu::Isa::avx512_vnni)) return {int8_avx512, "vpdpbusd (avx512)"};
  if (cpu::supported(cpu::Isa::avx_vnni)) return {int8_avx_vnni, "vpdpbusd (avx_vnni)"};
  if (cpu::supported(cpu::Isa::avx2)) return {int8_avx2, "vpmaddwd (avx2)"};
#endif
  return {};
}

PeakKernel amx_peak_kernel([[maybe_unused]] Precision precision) {
#if defined(__x86_64__)
  if (precision == Precision::int8) return {tiles_amx<Precision::int8>, "tdpbusd (amx)"};
  return {tiles_amx<Precision::bf16>, "tdpbf16ps (amx)"};
#else
  return {};
#endif
}

}  // namespace epochbench
