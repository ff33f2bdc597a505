// Whole training in bf16 on the CPU against the reference backend in bf16, with the kernels of every instruction set.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "src/workload/workload.h"
#include "support/made_workload.h"
#include "support/parts_only.h"
#include "support/print.h"
#include "support/trainer.h"

namespace epochbench {
namespace {

using test::PartsOnly;
using test::Trainer;
using test::Training;

constexpr double kEps = 0x1p-8, kFloatEps = 0x1p-24;  // half the distance of 1 and the next number

Training in_bf16(Training training) {
  training.precision = Precision::bf16;
  return training;
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

class CpuBf16Models : public testing::TestWithParam<Training> {};

INSTANTIATE_TEST_SUITE_P(All, CpuBf16Models,
                         testing::Values(Training{"mlp:width=96", 12, "digits"}, Training{"lenet5", 6, "digits"},
                                         Training{"resnet20", 2}, Training{test::kSmallVit, 16},
                                         Training{test::kSmallGpt2, 2, "synthetic", Precision::fp32, 0.1},
                                         Training{test::kSmallLlama, 2},
                                         Training{"bert-tiny:sequence=16", 2, "synthetic", Precision::fp32, 0.1}),
                         [](const auto& info) {
                           std::string name = info.param.model.substr(0, info.param.model.find(':'));
                           std::erase(name, '-');
                           return name;
                         });

// Both round at the same places. What differs is the order of float sums; that tips a rounding here and there, of one element
// in thousands, and AdamW makes a whole step of a gradient whose sign it decides: what is allowed doubles with each step. One
// logit between 1 and 2 that tips, by 2 kEps, moves a mean loss of 2.3 over 16 samples by kEps / 18.
TEST_P(CpuBf16Models, PartsTrainAsTheReferenceDoes) {
  const Training training = in_bf16(GetParam());
  Trainer reference(training, *make_reference_backend());
  const std::vector<double> expected = reference.losses(3);
  for (int threads : {1, 3}) {
    Trainer trainer(training, PartsOnly(make_cpu_backend(threads)));
    const std::vector<double> losses = trainer.losses(3);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(losses[i] / expected[i], 1, std::ldexp(16 * kFloatEps + kEps / 16, static_cast<int>(i))) << "step " << i;
    for (VariableRole role : {VariableRole::parameter, VariableRole::statistic}) {
      const std::vector<float> weights = reference.state(role);
      std::vector<float> off = trainer.state(role);
      for (std::size_t i = 0; i < off.size(); ++i) off[i] -= weights[i];
      EXPECT_LE(norm(off), (256 * kFloatEps + std::sqrt(kEps)) * norm(weights));
    }
  }
}

// Fusion rounds less. The first loss, a mean over all that was rounded on the way, is off by a fraction of eps. Then ReLU and
// pooling decide differently where numbers are closer than a rounding, for a share eps of the elements: gradients, and what
// three steps make of them, err by a fraction of sqrt(eps), and so again every three steps.
TEST_P(CpuBf16Models, TenLossesAreThoseOfTheReference) {
  const Training training = in_bf16(GetParam());
  const std::vector<double> expected = Trainer(training, *make_reference_backend()).losses(10);
  const auto expect_near = [&](int threads, const BackendOptions& options) {
    SCOPED_TRACE(options.kernels + " threads=" + std::to_string(threads));
    const std::vector<double> losses = Trainer(training, *make_cpu_backend(threads, options)).losses(10);
    EXPECT_NEAR(losses[0] / expected[0], 1, kEps / 2);
    for (std::size_t i = 1; i < expected.size(); ++i)
      EXPECT_NEAR(losses[i] / expected[i], 1, std::sqrt(kEps) / 4 * std::ceil(static_cast<double>(i) / 3)) << "step " << i;
  };
  for (int threads : {1, 3}) expect_near(threads, {});
  for (const cpu::Isa isa : cpu::kIsas<float>)  // which --kernels can name
    if (cpu::available<cpu::Kernels<Bf16>>(isa)) expect_near(2, {.kernels = cpu::name(isa)});
}

TEST_P(CpuBf16Models, RoundsWhatFp32DoesNot) {
  const auto backend = make_cpu_backend(2);
  EXPECT_NE(Trainer(in_bf16(GetParam()), *backend).losses(1), Trainer(GetParam(), *backend).losses(1));
}

TEST_P(CpuBf16Models, SameThreadsGiveBitEqualLosses) {
  for (int threads : {1, 2, 3}) {
    const auto backend = make_cpu_backend(threads);
    EXPECT_EQ(Trainer(in_bf16(GetParam()), *backend).losses(5), Trainer(in_bf16(GetParam()), *backend).losses(5));
  }
}

TEST(CpuBf16, TheResultSaysWhichInstructionsRan) {
  CaseSpec spec;
  spec.model = find_model("mlp:width=16");
  spec.data = "digits";
  spec.batch = 8;
  spec.threads = 1;
  spec.precision = Precision::bf16;
  const Device best = prepare_case(spec).device;
  const bool multiplies = *best.isa == "avx512_bf16" || *best.isa == "amx_bf16" || *best.isa == "neon_bf16";
  EXPECT_EQ(best.products, multiplies ? std::nullopt : std::optional(Precision::fp32)) << *best.isa;
  EXPECT_EQ(product_precision(spec), multiplies ? Precision::bf16 : Precision::fp32);
  if (cpu::compiled<cpu::Kernels<Bf16>>(cpu::Isa::portable)) {
    spec.kernels = Kernels::portable;
    const Device portable = prepare_case(spec).device;
    EXPECT_EQ(portable.isa, "portable");
    EXPECT_EQ(portable.products, Precision::fp32);
    EXPECT_EQ(product_precision(spec), Precision::fp32);
  }
  spec.precision = Precision::fp32;
  EXPECT_EQ(prepare_case(spec).device.products, std::nullopt);
}

// As in a native build, which has bf16 for the best instruction set alone.
TEST(CpuBf16, KernelsThatABuildHasInFp32AloneTrainInFp32) {
  for (const cpu::Isa isa : cpu::kIsas<float>) {
    if (!cpu::available<cpu::Kernels<float>>(isa)) continue;
    SCOPED_TRACE(cpu::name(isa));
    const auto backend = make_cpu_backend(2, {.kernels = cpu::name(isa)});
    EXPECT_EQ(backend->device().isa, cpu::name(isa));
    const Training training{"mlp:width=16", 4};
    EXPECT_TRUE(std::isfinite(Trainer(training, *backend).losses(1)[0]));
    const bool has_bf16 = cpu::compiled<cpu::Kernels<Bf16>>(isa);
    EXPECT_EQ(backend->device().bf16_isa, has_bf16 ? cpu::name(isa) : "");
    std::string refused;
    try {
      Trainer(in_bf16(training), *backend).losses(1);
    } catch (const std::exception& error) {
      refused = error.what();
    }
    if (has_bf16)
      EXPECT_EQ(refused, "");
    else
      EXPECT_THAT(refused, testing::HasSubstr("kernels for bf16; use fp32 with them, or build with EPOCHBENCH_KERNELS=all"));
  }
}

TEST(CpuBf16, EveryNodeRunsInTheNumbersOfItsTensors) {
  Trainer trainer(in_bf16({"resnet20", 2}), *make_cpu_backend(2));
  const DeviceInfo device = make_cpu_backend(2)->device();
  const std::string isa = device.bf16_isa;
  trainer.step(Entry::train, 0);
  int in_floats = 0;
  for (const NodeTime& node : trainer.executable().profile(Entry::train, 1)) {
    const bool bf16 = node.implementation.rfind(isa + " ", 0) == 0;
    in_floats += !bf16;
    EXPECT_TRUE(bf16 || node.op == Op::increment) << node.name << ": " << node.implementation;
  }
  EXPECT_EQ(in_floats, isa == device.isa ? 0 : 1);  // the same set has both where products are widened
}

}  // namespace
}  // namespace epochbench
