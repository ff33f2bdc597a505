// Which algorithms of a fake cuBLASLt are offered for a product, and which one is chosen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/libraries/cublas_product.h"
#include "src/backend/cuda/cuda_choices.h"
#include "tests/support/cuda_fake_cublas.h"
#include "tests/support/cuda_fake_device.h"

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
    choices_ = std::make_unique<Choices>(device_, cuda::LibraryVersions{}, ChoiceOptions{.seconds_per_program = 1e3});
    choices_->begin_program({{"layer", {1, 1}}});
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
  std::byte* at(std::size_t i, std::size_t shift = 0) const { return memory_.data() + i * kPiece + shift; }
  cuda::ProductOperands operands(std::size_t shift = 0) const {
    return {at(0, shift), at(1, shift), at(2, shift), at(3, shift)};
  }

  std::shared_ptr<cuda::Product> choose(const ProductSpec& spec, std::size_t shift = 0) {
    const cuda::ProductOperands memory = operands(shift);
    const auto algorithms = products_->product(spec, memory);
    const auto run = [&](cuda::Product& product, cuda::Stream stream) {
      product.run(memory.c, memory.a, memory.b, memory.bias, at(4), stream);
    };
    return choices_->choose<cuda::Product>("layer", *algorithms, {run, {}, stream_.get()}).plan;
  }
  std::string chosen(const ProductSpec& spec, std::size_t shift = 0) { return choose(spec, shift)->implementation(); }

  static constexpr std::size_t kPiece = 1024;
  std::shared_ptr<test::FakeDevice> device_ = std::make_shared<test::FakeDevice>();
  cuda::Owned<cuda::Stream> stream_{*device_, device_->make_stream()};
  cuda::DeviceMemory memory_{*device_, 5 * kPiece + 256};
  std::unique_ptr<cuda::CublasProducts> products_;
  std::unique_ptr<Choices> choices_;
};

TEST_F(CublasChoice, TakesAndNamesTheFastest) {
  fake_cublas().algorithms = {kSlow, kFast};
  fake_cublas().algorithms[1].split_k = 3;
  const auto product = choose(spec());
  EXPECT_EQ(product->implementation(), "cublasLt 128x64 stages 0 split-k 3 algorithm 7");
  product->run(at(0), at(1), at(2), nullptr, at(4), stream_.get());
  EXPECT_EQ(fake_cublas().last_algorithm, 7);
  EXPECT_EQ(fake_cublas().asked_workspace_bytes, cuda::kProductWorkspaceBytes);
  device_->synchronize(stream_.get());
}

TEST_F(CublasChoice, StrictFp32UsesNoTensorCoresWhateverTheHeuristicsSay) {
  fake_cublas().algorithms = {kTensorCores, kSlow};
  for (const bool heeds_masks : {true, false}) {
    fake_cublas().heeds_masks = heeds_masks;
    EXPECT_THAT(chosen(spec(), heeds_masks ? 0 : 64), HasSubstr("algorithm 8"));
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
    choices_ = std::make_unique<Choices>(device_, cuda::LibraryVersions{}, ChoiceOptions{.seconds_per_program = 1e3});
    choices_->begin_program({{"layer", {1, 1}}});
    for (const Element element : {Element::bf16, Element::f16}) {
      EXPECT_THAT(chosen(spec(element)), HasSubstr("algorithm 13"));
      EXPECT_EQ(fake_cublas().reduction_schemes_allowed, kInFloat.reduction_scheme);
    }
    ProductSpec to_float = spec(Element::bf16);
    to_float.out = Element::f32;
    EXPECT_THAT(chosen(to_float), HasSubstr("algorithm 12"));
    EXPECT_THAT(chosen(spec()), HasSubstr("algorithm 12"));
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
  const auto product = choose(spec());
  EXPECT_THAT([&] { product->run(at(0) + 4, at(1), at(2), nullptr, at(4), stream_.get()); },
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

TEST_F(CublasChoice, AnAlgorithmIsBuiltFromItsTagWithoutAsking) {
  fake_cublas().algorithms = {kSlow, kFast};
  const std::string tag = products_->product(spec(), operands())->offers().at(1).tag;
  EXPECT_EQ(tag.size(), 128u);
  const int questions = fake_cublas().questions;
  const auto algorithms = products_->product(spec(), operands());
  EXPECT_THAT(algorithms->build(tag)->implementation(), HasSubstr("algorithm 7"));
  EXPECT_EQ(fake_cublas().questions, questions);

  // What the library no longer accepts, what rounds otherwise than the precision, and what no library wrote.
  fake_cublas().algorithms[1].checks = false;
  EXPECT_THAT([&] { algorithms->build(tag); }, ThrowsMessage<cuda::Error>(HasSubstr("not supported")));
  fake_cublas().algorithms[1] = kFast;
  fake_cublas().algorithms[1].tensor_cores = true;
  EXPECT_THAT([&] { algorithms->build(tag); }, ThrowsMessage<cuda::Error>(HasSubstr("rounds more")));
  for (const std::string& foreign : {std::string(), tag.substr(2), "g" + tag.substr(1), tag + "00"})
    EXPECT_THAT([&] { algorithms->build(foreign); }, ThrowsMessage<cuda::Error>(HasSubstr("is not an algorithm")));
}

}  // namespace
}  // namespace epochbench
