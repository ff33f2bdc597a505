// Which algorithm a Product chooses, with a fake cuBLASLt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/libraries/cublas_product.h"
#include "tests/support/cuda_fake_cublas.h"
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench {
namespace {

using cuda::ProductSpec;
using test::fake_cublas;
using test::FakeAlgorithm;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr FakeAlgorithm kFast{.id = 7, .seconds = 2e-5}, kSlow{.id = 8, .seconds = 5e-5},
    kTensorCores{.id = 9, .seconds = 1e-5, .tensor_cores = true}, kAligned{.id = 10, .seconds = 1.5e-5, .alignment = 16},
    kBroken{.id = 11, .seconds = 1e-9, .runs = false};
// Split along k: partial sums in the output itself, in float, and in the output's type.
constexpr FakeAlgorithm kInPlace{.id = 12, .seconds = 1e-5, .split_k = 2, .reduction_scheme = 1},
    kInFloat{.id = 13, .seconds = 1.5e-5, .split_k = 2, .reduction_scheme = 2},
    kInOutputType{.id = 14, .seconds = 1.2e-5, .split_k = 2, .reduction_scheme = 4};

class CublasChoice : public ::testing::Test {
 protected:
  CublasChoice() {
    fake_cublas() = {};
    products_ = std::make_unique<cuda::CublasProducts>();
  }
  ~CublasChoice() override {
    products_.reset();
    EXPECT_EQ(fake_cublas().handles, 0);
  }

  static ProductSpec spec(Element element = Element::f32) {
    ProductSpec spec;
    spec.shape = {4, 8, 16};
    spec.element = spec.out = element;
    return spec;
  }
  // `shift` bytes past an address aligned to 256.
  cuda::Scratch scratch(std::size_t shift = 0) {
    auto at = [&](std::size_t i) { return memory_ + i * kPiece + shift; };
    return {at(0), at(1), at(2), at(3), at(4)};
  }
  std::string chosen(const ProductSpec& spec, std::size_t shift = 0) {
    return products_->make(spec, scratch(shift), test::kNoStream)->implementation();
  }

  static constexpr std::size_t kPiece = 1024;
  alignas(256) std::byte memory_[5 * kPiece + 256];
  std::unique_ptr<cuda::CublasProducts> products_;
};

TEST_F(CublasChoice, TakesAndNamesTheFastest) {
  fake_cublas().algorithms = {kSlow, kFast};
  fake_cublas().algorithms[1].split_k = 3;
  EXPECT_EQ(chosen(spec()), "cublasLt 128x64 stages 0 split-k 3 algorithm 7");
  auto product = products_->make(spec(), scratch(), test::kNoStream);
  product->run(memory_, memory_ + kPiece, memory_ + 2 * kPiece, nullptr, nullptr, test::kNoStream);
  EXPECT_EQ(fake_cublas().last_algorithm, 7);
  EXPECT_EQ(fake_cublas().asked_workspace_bytes, cuda::kProductWorkspaceBytes);
}

TEST_F(CublasChoice, StrictFp32UsesNoTensorCoresWhateverTheHeuristicsSay) {
  fake_cublas().algorithms = {kTensorCores, kSlow};
  for (const bool heeds_masks : {true, false}) {
    fake_cublas().heeds_masks = heeds_masks;
    cuda::CublasProducts products;
    EXPECT_THAT(products.make(spec(), scratch(), test::kNoStream)->implementation(), HasSubstr("algorithm 8"));
    EXPECT_FALSE(fake_cublas().tensor_cores_allowed);
    EXPECT_FALSE(fake_cublas().tf32);
  }
}

TEST_F(CublasChoice, Tf32And16BitMayUseTensorCores) {
  fake_cublas().algorithms = {kSlow, kTensorCores};
  ProductSpec tf32 = spec();
  tf32.math = cuda::Math::tf32;
  EXPECT_THAT(chosen(tf32), HasSubstr("algorithm 9"));
  EXPECT_TRUE(fake_cublas().tf32);
  EXPECT_THAT(chosen(spec(Element::bf16)), HasSubstr("algorithm 9"));
  EXPECT_FALSE(fake_cublas().tf32);
}

TEST_F(CublasChoice, RoundsTo16BitOnceHoweverTheProductIsSplit) {
  fake_cublas().algorithms = {kInPlace, kInOutputType, kInFloat, kSlow};
  for (const bool heeds_masks : {true, false}) {
    fake_cublas().heeds_masks = heeds_masks;
    cuda::CublasProducts products;
    for (const Element element : {Element::bf16, Element::f16}) {
      EXPECT_THAT(products.make(spec(element), scratch(), test::kNoStream)->implementation(), HasSubstr("algorithm 13"));
      EXPECT_EQ(fake_cublas().reduction_schemes_allowed, kInFloat.reduction_scheme);
    }
    ProductSpec to_float = spec(Element::bf16);
    to_float.out = Element::f32;
    EXPECT_THAT(products.make(to_float, scratch(), test::kNoStream)->implementation(), HasSubstr("algorithm 12"));
    EXPECT_THAT(products.make(spec(), scratch(), test::kNoStream)->implementation(), HasSubstr("algorithm 12"));
  }
}

TEST_F(CublasChoice, PassesOnTheAlignmentOfTheOperands) {
  fake_cublas().algorithms = {kAligned, kFast};
  EXPECT_THAT(chosen(spec()), HasSubstr("algorithm 10"));
  EXPECT_THAT(fake_cublas().asked_alignment, ::testing::Each(64u));
  EXPECT_THAT(chosen(spec(), 8), HasSubstr("algorithm 7"));
  EXPECT_THAT(fake_cublas().asked_alignment, ::testing::Each(8u));
}

TEST_F(CublasChoice, RefusesLessAlignedMemoryThanItWasChosenFor) {
  auto product = products_->make(spec(), scratch(), test::kNoStream);
  EXPECT_THAT([&] { product->run(memory_ + 4, memory_ + kPiece, memory_ + 2 * kPiece, nullptr, nullptr, test::kNoStream); },
              ThrowsMessage<cuda::Error>(HasSubstr("less aligned")));
}

TEST_F(CublasChoice, SkipsAlgorithmsThatDoNotRun) {
  fake_cublas().algorithms = {kBroken, kSlow};
  EXPECT_THAT(chosen(spec()), HasSubstr("algorithm 8"));
}

TEST_F(CublasChoice, NoAlgorithmIsAnErrorThatNamesTheProduct) {
  fake_cublas().algorithms = {kBroken};
  EXPECT_THAT([&] { chosen(spec()); }, ThrowsMessage<cuda::Error>(HasSubstr("[4,16] [16,8] of fp32 strictly: not supported")));
  fake_cublas().knows_bias_gradient = false;
  ProductSpec gradient = spec();
  gradient.bias_gradient = true;
  EXPECT_THAT([&] { chosen(gradient); }, ThrowsMessage<cuda::Error>(HasSubstr("bias gradient")));
}

TEST_F(CublasChoice, EqualProductsAreTimedOnce) {
  chosen(spec());
  chosen(spec());
  EXPECT_EQ(fake_cublas().questions, 1);
  ProductSpec other = spec();
  other.relu = true;
  chosen(other);
  chosen(spec(), 4);
  EXPECT_EQ(fake_cublas().questions, 3);
}

}  // namespace
}  // namespace epochbench
