// The identities of attention with dropout: they hold for our own kernels, compiled for the CPU, and find a library whose masks
// differ between the directions or drop another share; such a library is not used. On a fake device.
#include "src/backend/cuda/attention_identities.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_backend.h"
#include "tests/support/attention_step.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"

namespace epochbench {
namespace {

using test::broken_identity;
using test::CompiledAttentionStep;
using test::FakeDevice;
using test::FakeLibraries;
using test::FakeLibrariesOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kDropouts[] = {0, 0.1, 0.125, 0.9};

struct Fakes {
  explicit Fakes(const FakeLibrariesOptions& options, double seconds_per_program = 0) {
    ChoiceOptions choices{.seconds_per_program = seconds_per_program};
    choices.clock = [device = device] { return device->seconds(); };
    backend = make_cuda_backend(
        device, [=, device = device] { return std::make_shared<FakeLibraries>(*device, options); }, {}, choices);
  }
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  std::unique_ptr<Backend> backend;
};

std::vector<AttentionShape> odd_shapes() {
  return {{3, 17, 3, 5}, {2, 21, 3, 4, false, true}, {1, 33, 1, 7}, {1, 19, 6, 3, false, true, 2}};
}

void expect_both_identities(const Backend& backend, const AttentionShape& shape, DType dtype, Element element) {
  for (const double dropout : kDropouts)
    EXPECT_EQ(broken_identity(backend, {shape, dtype, dropout}, element), "")
        << "sequence " << shape.sequence << " dropout " << dropout << " " << size_bytes(dtype) << " bytes";
}

TEST(AttentionIdentities, HoldForOurKernelsInOddSizes) {
  const Fakes fakes({.attention = false});
  for (const AttentionShape& shape : odd_shapes()) {
    expect_both_identities(*fakes.backend, shape, DType::bf16, Element::bf16);
    AttentionShape joint = shape;
    joint.joint = true;
    expect_both_identities(*fakes.backend, joint, DType::f16, Element::f16);
  }
  expect_both_identities(*fakes.backend, odd_shapes()[0], DType::f32, Element::f32);
}

TEST(AttentionIdentities, HoldForTheReference) {
  for (const AttentionShape& shape : odd_shapes())
    expect_both_identities(*make_reference_backend(), shape, DType::f32, Element::f32);
}

// The forward pass and the gradient are those of different steps.
TEST(AttentionIdentities, FindMasksThatDifferBetweenTheDirections) {
  const auto reference = make_reference_backend();
  for (const AttentionShape& shape : odd_shapes())
    for (const double dropout : {0.1, 0.125, 0.9})
      for (const Element element : {Element::f32, Element::bf16, Element::f16}) {
        CompiledAttentionStep compiled(*reference, {shape, DType::f32, dropout});
        const auto run = [&](const AttentionInputs& in, std::int32_t step) {
          return AttentionOutputs{compiled.run_on(in, step).y, compiled.run_on(in, step + 1000).dv};
        };
        EXPECT_THAT(broken_attention_identity(shape, element, dropout, run),
                    StartsWith("the gradient draws other dropout masks: <dy, y> and <dV, V> are apart by"))
            << shape.sequence << " " << dropout;
      }
}

TEST(AttentionIdentities, FindAProbabilityThatIsRoundedToASixteenth) {
  const auto reference = make_reference_backend();
  const AttentionShape shape{4, 32, 2, 4};
  for (const auto& [asked, drawn] : {std::pair{0.1, 2.0 / 16}, {0.1, 1.0 / 16}, {0.9, 14.0 / 16}, {0.125, 3.0 / 16}})
    for (const Element element : {Element::f32, Element::bf16, Element::f16}) {
      CompiledAttentionStep compiled(*reference, {shape, DType::f32, drawn});
      const auto run = [&, asked = asked, drawn = drawn](const AttentionInputs& in, std::int32_t step) {
        AttentionOutputs out = compiled.run_on(in, step);
        for (std::vector<float>* values : {&out.y, &out.dv})
          for (float& value : *values) value *= static_cast<float>((1 - drawn) / (1 - asked));
        return out;
      };
      EXPECT_THAT(broken_attention_identity(shape, element, asked, run),
                  AllOf(HasSubstr(" of the weights: for V = 1 the mean output is "), StartsWith("dropout 0.")))
          << asked << " " << drawn;
    }
}

TEST(AttentionIdentities, FindWhatIsNoNumber) {
  const auto run = [](const AttentionInputs& in, std::int32_t) {
    return AttentionOutputs{std::vector<float>(in.q.size(), NAN), std::vector<float>(in.v.size(), NAN)};
  };
  EXPECT_NE(broken_attention_identity({1, 16, 2, 4}, Element::bf16, 0, run), "");
}

TEST(AttentionIdentities, CannotTellASmallDifferenceFromRounding) {
  const Fakes fakes({.attention = false});
  EXPECT_EQ(broken_identity(*fakes.backend, {{1, 8, 1, 2}, DType::bf16, 0.005}, Element::bf16),
            "too few weights to tell whether a share of 0.005 is dropped");
}

std::string implementation(const Fakes& fakes, double dropout, bool joint = false) {
  CompiledAttentionStep compiled(*fakes.backend, {{3, 32, 2, 8, joint}, DType::bf16, dropout});
  for (const auto& [text, count] : compiled.executable().chosen_algorithms())
    if (text.find("attention_grad") != std::string::npos) return text.substr(text.find(": ") + 2);
  return "";
}

TEST(LibrarysAttention, IsUsedWithDropoutIfBothIdentitiesHold) {
  const Fakes timed({.seconds = {1e-6}}, 1e6);
  for (const bool joint : {false, true})
    for (const double dropout : kDropouts)
      EXPECT_THAT(implementation(timed, dropout, joint), AllOf(StartsWith("fake attention"), HasSubstr("fastest of 2]")));
}

TEST(LibrarysAttention, IsNotUsedIfItsGradientDrawsOtherMasks) {
  for (const double seconds : {0.0, 1e6})
    for (const double dropout : {0.125, 0.5}) {
      const Fakes fakes({.attention_masks_differ = true}, seconds);
      EXPECT_THAT(implementation(fakes, dropout),
                  AllOf(StartsWith("cuda attention_softmax + fake product"),
                        HasSubstr("(cuDNN: fake attention: the gradient draws other dropout masks: ")));
    }
}

TEST(LibrarysAttention, IsNotUsedIfItDropsAMultipleOfASixteenthInstead) {
  const Fakes fakes({.attention_rounds_dropout = true}, 1e6);
  EXPECT_THAT(implementation(fakes, 0.1), AllOf(StartsWith("cuda attention_softmax + fake product"),
                                                HasSubstr("(cuDNN: fake attention: dropout 0.1 drops 0.12")));
  EXPECT_THAT(implementation(fakes, 0.125), Not(HasSubstr("drops")));
}

TEST(LibrarysAttention, IsNotTriedWithoutTimeWhereItsProbabilityIsAtRisk) {
  const Fakes fakes({});
  EXPECT_EQ(implementation(fakes, 0.1),
            "cuda attention_softmax + fake product (cuDNN: dropout 0.1 is not a multiple of 1/16, and there was no time "
            "to check its masks)");
  EXPECT_THAT(implementation(fakes, 0.125), StartsWith("fake attention [first of 2]"));
  EXPECT_THAT(implementation(fakes, 0), StartsWith("fake attention [first of 2]"));
}

}  // namespace
}  // namespace epochbench
