// Products and convolutions by other libraries in place of our kernels: each call against the reference, and whole training.
// In a build without them (EPOCHBENCH_LIBRARIES) these tests are skipped.
#include "src/backend/cpu/cpu_libraries.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/reference/kernels.h"
#include "support/made_workload.h"
#include "support/products.h"
#include "support/shapes.h"
#include "support/trainer.h"

namespace epochbench {
namespace {

using test::Trainer;
using test::Training;
using testing::HasSubstr;

TEST(CpuLibraries, OursRunUnlessAnotherIsFasterByMoreThanNoise) {
  EXPECT_EQ(place_of_fastest({1.0}), 0u);
  EXPECT_EQ(place_of_fastest({1.0, 0.995, 1.2}), 0u);
  EXPECT_EQ(place_of_fastest({1.0, 0.98, 1.2}), 1u);
  EXPECT_EQ(place_of_fastest({1.0, 0.98, 0.979}), 2u);
}

TEST(CpuLibraries, WriteProblemsLikeTheFilesOfShapes) {
  EXPECT_EQ(
      to_text(LibraryProblem{.gemm = GemmShape{8, 4, 2, false, true}, .element = Element::bf16, .epilogue = {true, true}}),
      "gemm m=8 n=4 k=2 transpose_b=1 bf16 bias relu");
  EXPECT_EQ(to_text(LibraryProblem{.conv2d = test::convolution_shape(2, 9, 7, 3, 5, 3, 3, 2, 1), .pass = Pass::grad_weight}),
            "conv2d grad_weight n=2 h=9 w=7 c=3 k=5 r=3 s=3 stride=2 pad=1");
}

TEST(CpuLibraries, AreRefusedInABuildWithout) {
  if (!built_libraries().empty()) GTEST_SKIP() << "this build has libraries";
  try {
    make_cpu_backend(1, {.libraries = kFastest});
    FAIL() << "it has none";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("build with EPOCHBENCH_LIBRARIES=ON scripts/run"));
  }
}

// Both ends of what built_libraries() may hold.
class EachLibrary : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (built_libraries().empty()) GTEST_SKIP() << "this build has no libraries: configure with EPOCHBENCH_LIBRARIES=ON";
  }
};

INSTANTIATE_TEST_SUITE_P(All, EachLibrary, testing::Values("onednn", "openblas"));

std::vector<float> uniform(std::int64_t n, std::uint64_t seed) {
  const test::GuardedBuffer<float> values = test::random_floats(n, seed);
  return {values.begin(), values.end()};
}

// Runs the call on two sets of operands, so that it is bound twice; returns the last result.
void run(LibraryCall& call, float* first, float* second, float* third, const float* bias) {
  std::vector<float> elsewhere(1 << 16);
  test::GuardedBuffer<float> workspace(static_cast<std::int64_t>(call.workspace_bytes() / sizeof(float) + 1));
  call.bind(elsewhere.data(), elsewhere.data() + (1 << 14), elsewhere.data() + (2 << 14), bias, workspace.data());
  call.run();
  call.bind(first, second, third, bias, workspace.data());
  call.run();
  EXPECT_TRUE(workspace.guards_intact());
}

void expect_near(const std::vector<float>& expected, const std::vector<float>& actual, std::int64_t terms) {
  const test::Tolerance tolerance = test::product_tolerance(terms);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance.absolute + tolerance.relative * std::abs(expected[i])) << "element " << i;
}

TEST_P(EachLibrary, MultipliesLikeTheReference) {
  const auto library = load_built_library(GetParam(), 2);
  for (int variant = 0; variant < 8; ++variant) {
    const GemmShape s{13, 31, 17, (variant & 1) != 0, (variant & 2) != 0};
    const LibraryEpilogue epilogue{variant >= 4, variant >= 4};
    const auto call = library->gemm(s, Element::f32, epilogue);
    if (!call && epilogue.bias) continue;  // our kernels do that
    ASSERT_NE(call, nullptr);
    std::vector<float> a = uniform(s.m * s.k, 1), b = uniform(s.k * s.n, 2), bias = uniform(s.n, 3);
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n)), expected(c.size());
    reference::gemm(expected.data(), a.data(), b.data(), s, {epilogue.bias ? bias.data() : nullptr, epilogue.relu});
    run(*call, c.data(), a.data(), b.data(), epilogue.bias ? bias.data() : nullptr);
    expect_near(expected, c, s.k);
  }
}

TEST_P(EachLibrary, ConvolvesLikeTheReferenceIfItDoes) {
  const auto library = load_built_library(GetParam(), 2);
  for (const Conv2dShape& direct :
       {test::convolution_shape(2, 9, 7, 3, 5, 3, 3, 2, 1), test::convolution_shape(1, 8, 8, 16, 32, 1, 1, 1, 0)}) {
    Conv2dShape s = direct;
    s.winograd = false;
    std::vector<float> x = uniform(s.batch * s.height * s.width * s.channels, 1);
    std::vector<float> weight = uniform(s.out_channels * s.kernel_height * s.kernel_width * s.channels, 2);
    std::vector<float> y = uniform(s.batch * s.out_height * s.out_width * s.out_channels, 3), bias = uniform(s.out_channels, 4);
    for (const Pass pass : {Pass::forward, Pass::grad_input, Pass::grad_weight}) {
      const bool forward = pass == Pass::forward;
      const auto call = library->conv2d(s, pass, Element::f32, {forward, forward});
      if (!call) continue;
      std::vector<float>& written = forward ? y : pass == Pass::grad_input ? x : weight;
      std::vector<float> expected(written.size());
      if (forward)
        reference::conv2d(expected.data(), x.data(), weight.data(), s, {bias.data(), true});
      else if (pass == Pass::grad_input)
        reference::conv2d_grad_input(expected.data(), y.data(), weight.data(), s);
      else
        reference::conv2d_grad_weight(expected.data(), y.data(), x.data(), s);
      run(*call, y.data(), x.data(), weight.data(), forward ? bias.data() : nullptr);
      expect_near(expected, written, s.batch * s.out_height * s.out_width + s.kernel_height * s.kernel_width * s.channels);
    }
  }
}

std::int64_t nodes_of(const Executable& executable, const std::string& library) {
  std::int64_t nodes = 0;
  for (const auto& [text, count] : executable.chosen_algorithms())
    if (text.find(": " + library) != std::string::npos) nodes += count;
  return nodes;
}

// As the ten losses of a model against PyTorch's. In bf16 as cpu_bf16_test.cpp says of fused programs.
void expect_losses_of_reference(const Training& training, const BackendOptions& options, const std::string& library) {
  const std::vector<double> expected = Trainer(training, *make_reference_backend()).losses(3);
  Trainer trainer(training, *make_cpu_backend(2, options));
  const std::vector<double> losses = trainer.losses(3);
  const double tolerance = training.precision == Precision::bf16 ? std::sqrt(0x1p-8) / 4 : 1e-4;
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i] / expected[i], 1, tolerance) << "step " << i;
  EXPECT_GT(nodes_of(trainer.executable(), library), 0) << library << " ran nothing";
}

TEST_P(EachLibrary, TrainsLikeTheReference) {
  const std::string library = std::string(GetParam()) == "onednn" ? "oneDNN" : "OpenBLAS";
  for (const Training& training : {Training{"lenet5", 6, "digits"}, Training{"resnet20", 4},
                                   Training{"bert-tiny:sequence=16", 2, "synthetic", Precision::fp32, 0.1}}) {
    SCOPED_TRACE(training.model);
    expect_losses_of_reference(training, {.libraries = GetParam()}, library);
  }
}

TEST_P(EachLibrary, TrainsInBf16WhereItMultipliesAsOurKernelsDo) {
  if (std::string(GetParam()) != "onednn") GTEST_SKIP() << "it has no products in bf16";
  if (load_built_library("onednn", 2)->widens() != make_cpu_backend(2)->device().widens_bf16)
    GTEST_SKIP() << "its products of bf16 are others";
  expect_losses_of_reference({"resnet20", 4, "synthetic", Precision::bf16}, {.libraries = "onednn"}, "oneDNN");
}

TEST(CpuLibraries, TheFastestTrainsLikeOurs) {
  if (built_libraries().empty()) GTEST_SKIP() << "this build has no libraries: configure with EPOCHBENCH_LIBRARIES=ON";
  for (const char* model : {"resnet20", "bert-tiny:sequence=16"}) {
    SCOPED_TRACE(model);
    const Training training{model, 4};
    const std::vector<double> expected = Trainer(training, *make_cpu_backend(2)).losses(3);
    Trainer trainer(training, *make_cpu_backend(2, {.libraries = kFastest}));
    const std::vector<double> losses = trainer.losses(3);
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i] / expected[i], 1, 1e-4) << "step " << i;
    const auto chosen = trainer.executable().chosen_algorithms();
    ASSERT_FALSE(chosen.empty());
    for (const auto& [text, count] : chosen) EXPECT_THAT(text, HasSubstr(", oneDNN ")) << "both were timed";
  }
}

TEST(CpuLibraries, OurKernelsAloneChooseNothing) {
  EXPECT_TRUE(Trainer({"lenet5", 2}, *make_cpu_backend(1)).executable().chosen_algorithms().empty());
}

}  // namespace
}  // namespace epochbench
