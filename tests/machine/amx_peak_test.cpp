// The burst of tile multiplications on a CPU that has none: its instructions trap, and the handler takes note of what they
// would have done, with the very bytes that the compiled code put into memory. What it cannot show is speed.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "src/machine/environment.h"
#include "src/machine/peak_kernels.h"

#if defined(__x86_64__)
#include <ucontext.h>

namespace epochbench {
namespace {

// Written by the handler.
struct Seen {
  std::array<std::uint8_t, 64> configuration{};
  std::array<std::vector<std::uint16_t>, 8> factors;  // of a loaded tile
  std::array<bool, 8> zeroed{};
  std::vector<std::array<int, 3>> products;  // tiles of sum, first and second factor
  int configured = 0, released = 0, unknown = 0;
};
Seen seen;

constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

struct Operand {
  int mod, reg, rm, bytes;  // bytes: of ModRM and what belongs to it
  long long base = 0, index = 0;
};

// The operand behind a three-byte VEX prefix and an opcode, as in Intel's manual, volume 2, chapter 2.
Operand operand_of(const std::uint8_t* code, const greg_t* registers) {
  const bool extends_index = (code[1] & 0x40) == 0, extends_base = (code[1] & 0x20) == 0;
  const std::uint8_t modrm = code[4];
  Operand operand{modrm >> 6, modrm >> 3 & 7, modrm & 7, 1};
  if (operand.mod == 3) return operand;
  int base = operand.rm;
  if (operand.rm == 4) {
    const std::uint8_t sib = code[5];
    const int index = (sib >> 3 & 7) + (extends_index ? 8 : 0);
    base = sib & 7;
    if (index != 4) operand.index = registers[kRegisters[index]] << (sib >> 6);
    ++operand.bytes;
  }
  const std::uint8_t* displacement = code + 4 + operand.bytes;
  if (operand.mod == 1) {
    operand.base = static_cast<std::int8_t>(*displacement);
    operand.bytes += 1;
  } else if (operand.mod == 2 || base == 5) {
    std::int32_t value = 0;
    std::memcpy(&value, displacement, sizeof value);
    operand.base = value;
    operand.bytes += 4;
  }
  if (operand.mod == 0 && base == 5)
    operand.base += operand.rm == 5 ? reinterpret_cast<long long>(code + 4 + operand.bytes) : 0;
  else
    operand.base += registers[kRegisters[base + (extends_base ? 8 : 0)]];
  return operand;
}

void note_load(int tile, const Operand& operand) {
  constexpr std::size_t kColumns = 32;
  std::vector<std::uint16_t>& factors = seen.factors[static_cast<std::size_t>(tile)];
  for (std::size_t row = 0; row < 16; ++row)
    std::memcpy(&factors[row * kColumns],
                reinterpret_cast<const char*>(operand.base) + static_cast<long long>(row) * operand.index,
                kColumns * sizeof factors[0]);
}

void take_note(int, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]);
  const Operand operand = operand_of(code, registers);
  const int opcode = code[3], prefix = code[2] & 3, source = ~(code[2] >> 3) & 7;
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) {
    std::signal(SIGILL, SIG_DFL);  // none of them: a fault, as without this handler
    return;
  }
  if (opcode == 0x49 && prefix == 0 && operand.mod != 3) {
    ++seen.configured;
    std::memcpy(seen.configuration.data(), reinterpret_cast<const void*>(operand.base + operand.index), 64);
  } else if (opcode == 0x49 && prefix == 0) {
    ++seen.released;
  } else if (opcode == 0x49 && prefix == 3) {
    seen.zeroed[static_cast<std::size_t>(operand.reg)] = true;
  } else if (opcode == 0x4b && prefix == 3) {
    note_load(operand.reg, operand);
  } else if (opcode == 0x5c && prefix == 2) {
    seen.products.push_back({operand.reg, operand.rm, source});
  } else {
    ++seen.unknown;
  }
  registers[REG_RIP] += 4 + operand.bytes;
}

bool cpu_has_tiles() {
  const std::vector<std::string> isa = cpu_info().isa;
  return std::find(isa.begin(), isa.end(), "amx_tile") != isa.end();
}

TEST(AmxPeak, BurstConfiguresLoadsAndMultipliesAsItCounts) {
  if (cpu_has_tiles()) GTEST_SKIP() << "this CPU has tiles and measures with them";
  constexpr std::int64_t kRounds = 5;
  seen = {};
  seen.products.reserve(100);
  for (std::vector<std::uint16_t>& factors : seen.factors) factors.resize(16 * 32);
  struct sigaction action {
  }, before{};
  action.sa_sigaction = take_note;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
  const double flops = amx_peak_kernel(Precision::bf16).run(kRounds);
  sigaction(SIGILL, &before, nullptr);

  EXPECT_EQ(seen.configured, 1);
  EXPECT_EQ(seen.released, 1);
  EXPECT_EQ(seen.unknown, 0);
  // Palette 1; eight tiles of 16 rows of 64 bytes; whatever else is not 0 would be a fault.
  std::array<std::uint8_t, 64> expected{};
  expected[0] = 1;
  for (std::size_t tile = 0; tile < 8; ++tile) {
    expected[16 + 2 * tile] = 64;
    expected[48 + tile] = 16;
  }
  EXPECT_EQ(seen.configuration, expected);
  for (std::size_t tile = 0; tile < 4; ++tile) EXPECT_TRUE(seen.zeroed[tile]) << tile;
  // Numbers of both signs from 2^-7 to 2, as different as data are.
  for (std::size_t tile = 4; tile < 8; ++tile) {
    const std::vector<std::uint16_t>& factors = seen.factors[tile];
    EXPECT_THAT(factors, testing::Each(testing::Truly([](std::uint16_t bits) { return (bits & 0x7c00) == 0x3c00; }))) << tile;
    EXPECT_THAT(factors, testing::Contains(testing::Lt(0x8000)).Times(testing::Gt(128))) << tile;
    EXPECT_THAT(factors, testing::Contains(testing::Ge(0x8000)).Times(testing::Gt(128))) << tile;
    EXPECT_GT(std::set<std::uint16_t>(factors.begin(), factors.end()).size(), 256u) << tile;
  }
  ASSERT_EQ(seen.products.size(), 4u * kRounds);
  for (std::size_t i = 0; i < seen.products.size(); ++i) {
    const auto [sum, first, second] = seen.products[i];
    EXPECT_EQ(sum, static_cast<int>(i % 4)) << "each waits for the one before it of the same sum only";
    EXPECT_THAT((std::vector<int>{first, second}), testing::Each(testing::AllOf(testing::Ge(4), testing::Le(7))));
  }
  EXPECT_EQ(flops, static_cast<double>(seen.products.size()) * 2 * 16 * 16 * 32);
}

}  // namespace
}  // namespace epochbench
#endif
