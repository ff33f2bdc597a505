// The measured ceilings: that they are of the right size, not how large they are.
#include "src/machine/peaks.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "src/base/clock.h"
#include "src/machine/environment.h"
#include "src/machine/peak_kernels.h"
#include "src/machine/system/system_state.h"
#include "src/worker/case_driver.h"

namespace epochbench {
namespace {

constexpr double kSlowest = 1e8, kFastest = 1e14;  // FLOP/s of one core, or bytes/s: no CPU is outside

TEST(Peaks, ComputeBurstsAreOfTheRightSize) {
  const double fp32 = peak_burst(Precision::fp32, 1, 0.02).value();
  EXPECT_GT(fp32, kSlowest);
  EXPECT_LT(fp32, kFastest);
  if (const auto bf16 = peak_burst(Precision::bf16, 1, 0.02)) {
    EXPECT_GT(*bf16, fp32 / 2);
    EXPECT_LT(*bf16, kFastest);
  }
}

TEST(Peaks, Bf16IsThereWhereTheCpuHasIt) {
  const std::vector<std::string> isa = cpu_info().isa;
  if (std::find(isa.begin(), isa.end(), "avx512_bf16") != isa.end()) {
    EXPECT_NE(bf16_peak_kernel().run, nullptr);
  }
  if (bf16_peak_kernel().run) {
    EXPECT_THAT(isa, testing::Contains(testing::AnyOf("avx512_bf16", "amx_bf16", "bf16")));
  }
}

TEST(Peaks, KernelsCountTheirWork) {
  const PeakKernel kernel = fp32_peak_kernel();
  EXPECT_GT(kernel.run(10), 0);
  EXPECT_DOUBLE_EQ(kernel.run(30), 3 * kernel.run(10));
}

TEST(Peaks, BandwidthIsOfTheRightSize) {
  const double bandwidth = triad_burst(2, 8 << 20, 2);
  EXPECT_GT(bandwidth, kSlowest);
  EXPECT_LT(bandwidth, kFastest);
}

TEST(Peaks, NeedAThread) {
  EXPECT_THROW(peak_burst(Precision::fp32, 0, 0.01), std::invalid_argument);
  EXPECT_THROW(triad_burst(0, 1 << 20, 1), std::invalid_argument);
}

TEST(Peaks, ComeFromAProcessOfTheirOwn) {
  const double begin = steady_seconds();
  MeasuredCpu cpu = measure_cpu_in_child(FAKE_CASE_BINARY, default_threads());
  EXPECT_LT(steady_seconds() - begin, 20);
  const auto of = [](auto& by_precision, Precision precision) { return by_precision[name(precision)]; };
  EXPECT_GT(of(cpu.peak_flops_per_second, Precision::fp32).value(), kSlowest);
  EXPECT_EQ(of(cpu.peak_instruction, Precision::fp32), fp32_peak_kernel().instruction);
  EXPECT_EQ(cpu.peak_threads, default_threads());
  EXPECT_EQ(of(cpu.peak_flops_per_second, Precision::bf16).has_value(), bf16_peak_kernel().run != nullptr);
  EXPECT_EQ(of(cpu.peak_instruction, Precision::bf16).has_value(), bf16_peak_kernel().run != nullptr);
  EXPECT_GT(cpu.memory_bandwidth_bytes_per_second.value(), kSlowest);
  for (const auto& [precision, bursts] : cpu.peak_bursts_flops_per_second) {
    EXPECT_EQ(bursts.size(), 5u) << precision;
    EXPECT_EQ(*std::max_element(bursts.begin(), bursts.end()), cpu.peak_flops_per_second[precision]) << precision;
  }
  EXPECT_TRUE(cpu.peak_bursts_flops_per_second.contains(name(Precision::fp32)));
  EXPECT_EQ(cpu.peak_foreign_cpu_cores.has_value(), foreign_cores_now(0.2).has_value()) << "where the kernel says";
}

TEST(Peaks, FailureInThatProcessIsAnError) {
  EXPECT_THROW(measure_cpu_in_child("/bin/false", 1), std::runtime_error);
  EXPECT_THROW(measure_cpu_in_child("/nowhere", 1), std::runtime_error);
}

}  // namespace
}  // namespace epochbench
