// SGD, AdamW and the clipping of gradients: the reference against steps computed by hand, the devices against the reference and
// against closed forms.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

using test::expect_same_parameters;
using test::one_parameter;
using test::Parameters;
using test::small_model;

template <typename T>
DeviceBuffer<T> scalar(T value) {
  return on_device<T>({&value, 1});
}

// v = 0.5 * 0 + (1 + 0.25 * 2) = 1.5, w = 2 - 0.5 * 1.5 = 1.25;
// v = 0.5 * 1.5 + (-1 + 0.25 * 1.25) = 0.0625, w = 1.25 - 0.5 * 0.0625 = 1.21875.
TEST(Sgd, TwoStepsWorkedOutByHand) {
  const DeviceBuffer<float> rate = scalar(0.5f);
  const SgdNumbers numbers = {0.5, 0.25};
  const auto check = [&](auto update) {
    Parameters parameters = one_parameter(2, 0, 0, 1, 0);
    update(parameters);
    EXPECT_EQ(parameters[0].state1[0], 1.5f);
    EXPECT_EQ(parameters[0].weight[0], 1.25f);
    parameters[0].gradient.write(std::vector<float>{-1});
    update(parameters);
    EXPECT_EQ(parameters[0].state1[0], 0.0625f);
    EXPECT_EQ(parameters[0].weight[0], 1.21875f);
  };
  check([&](Parameters& parameters) { test::reference_sgd(parameters, rate.data(), numbers); });
  for_each_device([&](const OpDevice& k) { check([&](Parameters& parameters) { k.sgd(parameters, rate.data(), numbers); }); });
}

// beta1 0.5, beta2 0.75, epsilon 1, rate 1/8, decay 1/2, w = 2, g = 4 at the first step:
// w = 2 * (1 - 1/16) = 1.875, m = 2, v = 4, corrections 0.5 and 0.25, w -= (0.125 / 0.5) * 2 / (2 / 0.5 + 1) = 0.1 -> 1.775.
// Second, g = 0: w = 1.775 * 15/16 = 1.6640625, m = 1, v = 3, corrections 0.75 and 0.4375,
// w -= (0.125 / 0.75) * 1 / (sqrt(3 / 0.4375) + 1) = 0.0460581 -> 1.6180044.
TEST(Adamw, TwoStepsWorkedOutByHand) {
  const DeviceBuffer<float> rate = scalar(0.125f);
  const DeviceBuffer<std::int32_t> first = scalar(0), second = scalar(1);
  const AdamwNumbers numbers = {0.5, 0.75, 1};
  const auto check = [&](auto update) {
    Parameters parameters = one_parameter(2, 0, 0, 4, 0.5);
    update(parameters, first.data());
    EXPECT_EQ(parameters[0].state1[0], 2);
    EXPECT_EQ(parameters[0].state2[0], 4);
    EXPECT_NEAR(parameters[0].weight[0], 1.775, 2 * kEps);
    parameters[0].gradient.write(std::vector<float>{0});
    update(parameters, second.data());
    EXPECT_EQ(parameters[0].state1[0], 1);
    EXPECT_EQ(parameters[0].state2[0], 3);
    EXPECT_NEAR(parameters[0].weight[0], 1.6180044, 4e-7);
  };
  check(
      [&](Parameters& parameters, const std::int32_t* step) { test::reference_adamw(parameters, rate.data(), step, numbers); });
  for_each_device([&](const OpDevice& k) {
    check([&](Parameters& parameters, const std::int32_t* step) { k.adamw(parameters, rate.data(), step, numbers); });
  });
}

constexpr int kSteps = 4;

TEST(Sgd, StepsMatchReference) {
  const DeviceBuffer<float> rate = scalar(0.05f), clip = scalar(0.3f);
  for (const SgdNumbers& numbers : {SgdNumbers{0.9, 1e-4}, SgdNumbers{0, 0}, SgdNumbers{0.9, 1e-4, clip.data()}}) {
    Parameters expected = small_model(test::gradient_elements());
    for (int step = 0; step < kSteps; ++step) test::reference_sgd(expected, rate.data(), numbers);
    for_each_device([&](const OpDevice& k) {
      Parameters parameters = small_model(test::gradient_elements());
      for (int step = 0; step < kSteps; ++step) k.sgd(parameters, rate.data(), numbers);
      expect_same_parameters(parameters, expected, kSteps);
    });
  }
}

TEST(Adamw, StepsMatchReference) {
  const DeviceBuffer<float> rate = scalar(0.01f), clip = scalar(0.3f);
  for (const std::int32_t first : {0, 1000, 2000000}) {
    const AdamwNumbers numbers = {0.9, 0.999, 1e-8, first == 1000 ? clip.data() : nullptr};
    DeviceBuffer<std::int32_t> step = scalar(first);
    Parameters expected = small_model(test::gradient_elements());
    for (step[0] = first; step[0] < first + kSteps; ++step[0])
      test::reference_adamw(expected, rate.data(), step.data(), numbers);
    for_each_device([&](const OpDevice& k) {
      Parameters parameters = small_model(test::gradient_elements());
      for (step[0] = first; step[0] < first + kSteps; ++step[0]) k.adamw(parameters, rate.data(), step.data(), numbers);
      expect_same_parameters(parameters, expected, kSteps);
    });
  }
}

// A zero gradient with zero moments: only epsilon keeps the update from 0 / 0.
TEST(Adamw, ZeroGradientOnlyDecays) {
  const DeviceBuffer<float> rate = scalar(0.5f);
  const DeviceBuffer<std::int32_t> step = scalar(0);
  const std::int64_t n = 19;
  for_each_device([&](const OpDevice& k) {
    DeviceBuffer<float> twos(n), zeros(n);
    std::fill(twos.begin(), twos.end(), 2.0f);
    std::fill(zeros.begin(), zeros.end(), 0.0f);
    Parameters parameters;
    parameters.push_back({twos, zeros, zeros, Tensor(zeros, Element::f32), 0.5});
    k.adamw(parameters, rate.data(), step.data(), {0.9, 0.999, 1e-8});
    for (float value : parameters[0].weight) EXPECT_EQ(value, 1.5f);
  });
}

// Moments and a gradient of 1 stay 1, so with rate 1 a weight of 0 becomes -sqrt(1 - beta2^t) / (1 - beta1^t). Besides both
// corrections (kernels/cuda/optimizer.cu: 4 * 2^-24, and half of that below the root), 6 operations round.
TEST(Adamw, BiasCorrectionsMatchDouble) {
  const DeviceBuffer<float> rate = scalar(1.0f);
  struct Betas {
    double beta1, beta2;
  };
  for (const Betas& b : {Betas{0.9, 0.999}, {0.999, 0.9}, {0, 0.999999}, {0.5, 0.95}})
    for (double t = 1; t <= 1 << 24; t = t < 32 ? t + 1 : std::floor(t * 1.37)) {
      const DeviceBuffer<std::int32_t> step = scalar(static_cast<std::int32_t>(t) - 1);
      const double expected = -std::sqrt(1 - std::pow(b.beta2, t)) / (1 - std::pow(b.beta1, t));
      for_each_device([&](const OpDevice& k) {
        Parameters parameters = one_parameter(0, 1, 1, 1, 0);
        k.adamw(parameters, rate.data(), step.data(), {b.beta1, b.beta2, 0});
        EXPECT_NEAR(parameters[0].weight[0] / expected, 1, 12 * kEps / 2) << b.beta1 << " " << b.beta2 << " at " << t;
      });
    }
}

// rate * weight_decay far below float's eps at 1 must not be lost: after many steps without a gradient the weight has decayed
// as computed in double.
TEST(Adamw, SmallDecayKeepsItsSize) {
  constexpr int kMany = 2000;
  const DeviceBuffer<float> rate = scalar(1e-3f);
  const DeviceBuffer<std::int32_t> step = scalar(0);
  const double decay = 0.02 * static_cast<double>(rate[0]);  // 2e-5 per step: 1 - 2e-5 as a float errs by up to 0.15 % of it
  for_each_device([&](const OpDevice& k) {
    Parameters parameters = one_parameter(1, 0, 0, 0, 0.02);
    for (int i = 0; i < kMany; ++i) k.adamw(parameters, rate.data(), step.data(), {0.9, 0.999, 1e-8});
    // Each step rounds by at most half of float's eps, and the errors of both signs cancel like a random walk's; margin of 8.
    EXPECT_NEAR(parameters[0].weight[0], std::pow(1 - decay, kMany), 8 * std::sqrt(kMany) * kEps / 2);
  });
}

// Where 1 - beta is small, the rounding of beta must not change where a moment goes: those of a constant gradient of 1 are 1 -
// beta^t. Roundings of either sign, as many as a moment remembers, are a random walk; margin of 8.
TEST(Adamw, MomentsOfAConstantGradientMatchDouble) {
  constexpr int kLong = 4000;
  constexpr double kBeta1 = 0.9995, kBeta2 = 0.9998;
  const DeviceBuffer<float> rate = scalar(0.0f);
  const DeviceBuffer<std::int32_t> step = scalar(0);
  const auto error = [](float moment, double beta) {
    return (moment / (1 - std::pow(beta, kLong)) - 1) / (8 * std::sqrt(1 / (1 - beta)) * kEps / 2);
  };
  for_each_device([&](const OpDevice& k) {
    Parameters parameters = one_parameter(0, 0, 0, 1, 0);
    for (int i = 0; i < kLong; ++i) k.adamw(parameters, rate.data(), step.data(), {kBeta1, kBeta2, 1e-8});
    EXPECT_LE(std::fabs(error(parameters[0].state1[0], kBeta1)), 1);
    EXPECT_LE(std::fabs(error(parameters[0].state2[0], kBeta2)), 1);
  });
}

// 1 + 4 + 4 = 3 * 3; a gradient shorter than the largest norm stays as it is. 1e-6 is what the definition adds to the norm.
TEST(ClipFactor, WorkedOutByHand) {
  for_each_device([&](const OpDevice& k) {
    Parameters parameters;
    for (const std::vector<float>& gradient : {std::vector<float>{1, -2}, std::vector<float>{2}}) {
      const DeviceBuffer<float> state(static_cast<std::int64_t>(gradient.size()));
      parameters.push_back({state, state, state, Tensor(gradient, Element::f32), 0});
    }
    for (const auto& [largest, expected] : {std::pair{1.5, 1.5 / (3 + 1e-6)}, {3.0, 3 / (3 + 1e-6)}, {4.0, 1.0}})
      EXPECT_NEAR(k.clip_factor(parameters, largest), expected, kEps);
  });
}

TEST(ClipFactor, MatchesReferenceAndRepeatsBitForBit) {
  Parameters parameters = small_model(test::gradient_elements());
  const double norm = test::reference_norm(parameters);
  for (const double largest : {norm / 3, norm * 2}) {
    SameBits same(true);
    for_each_device([&](const OpDevice& k) {
      for (int repetition = 0; repetition < 3; ++repetition) {
        const float factor = k.clip_factor(parameters, largest);
        EXPECT_NEAR(factor, std::min(1.0, largest / norm), test::kNormError);
        same.expect(k, {&factor, 1});
      }
    });
  }
}

TEST(ClipFactor, LeavesNoFiniteGradientWhereOneIsNot) {
  for_each_device([&](const OpDevice& k) {
    for (const float bad : {INFINITY, NAN}) {
      Parameters parameters = small_model(test::gradient_elements());
      parameters[0].gradient.write(std::vector<float>{bad});
      const float factor = k.clip_factor(parameters, 1);
      EXPECT_TRUE(std::isnan(factor * bad)) << factor;
    }
  });
}

}  // namespace
}  // namespace epochbench
