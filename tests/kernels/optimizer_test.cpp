// SGD, AdamW and the clipping of gradients: the reference against steps computed by hand, the CPU kernels against the
// reference.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

// v = 0.5 * 0 + (1 + 0.25 * 2) = 1.5, w = 2 - 0.5 * 1.5 = 1.25;
// v = 0.5 * 1.5 + (-1 + 0.25 * 1.25) = 0.0625, w = 1.25 - 0.5 * 0.0625 = 1.21875.
TEST(Sgd, TwoStepsWorkedOutByHand) {
  const float rate = 0.5f;
  const auto check = [&](auto step) {
    float weight = 2, velocity = 0, gradient = 1;
    const SgdTensor tensor = {&weight, &velocity, &gradient, 1};
    step(tensor);
    EXPECT_EQ(velocity, 1.5f);
    EXPECT_EQ(weight, 1.25f);
    gradient = -1;
    step(tensor);
    EXPECT_EQ(velocity, 0.0625f);
    EXPECT_EQ(weight, 1.21875f);
  };
  const SgdNumbers numbers = {0.5, 0.25};
  check([&](const SgdTensor& tensor) { reference::sgd(&tensor, 1, &rate, numbers); });
  for_each_kernels("", [&](const auto& kernels, int threads) {
    check([&](const SgdTensor& tensor) { kernels.sgd(&tensor, 1, &rate, numbers, threads); });
  });
}

// beta1 0.5, beta2 0.75, epsilon 1, rate 1/8, decay 1/2, w = 2, g = 4 at the first step:
// w = 2 * (1 - 1/16) = 1.875, m = 2, v = 4, corrections 0.5 and 0.25, w -= (0.125 / 0.5) * 2 / (2 / 0.5 + 1) = 0.1 -> 1.775.
// Second, g = 0: w = 1.775 * 15/16 = 1.6640625, m = 1, v = 3, corrections 0.75 and 0.4375,
// w -= (0.125 / 0.75) * 1 / (sqrt(3 / 0.4375) + 1) = 0.0460581 -> 1.6180044.
TEST(Adamw, TwoStepsWorkedOutByHand) {
  const float rate = 0.125f;
  const auto check = [&](auto update) {
    float weight = 2, moment1 = 0, moment2 = 0, gradient = 4;
    const AdamwTensor tensor = {&weight, &moment1, &moment2, &gradient, 1, 0.5};
    std::int32_t step = 0;
    update(tensor, &step);
    EXPECT_EQ(moment1, 2);
    EXPECT_EQ(moment2, 4);
    EXPECT_NEAR(weight, 1.775, 2 * kEps);
    gradient = 0;
    step = 1;
    update(tensor, &step);
    EXPECT_EQ(moment1, 1);
    EXPECT_EQ(moment2, 3);
    EXPECT_NEAR(weight, 1.6180044, 4e-7);
  };
  const AdamwNumbers numbers = {0.5, 0.75, 1};
  check([&](const AdamwTensor& t, const std::int32_t* step) { reference::adamw(&t, 1, &rate, step, numbers); });
  for_each_kernels("", [&](const auto& kernels, int threads) {
    check([&](const AdamwTensor& t, const std::int32_t* step) { kernels.adamw(&t, 1, &rate, step, numbers, threads); });
  });
}

// Parameters like those of a small model, half of the gradients in Bf16: some tensors end within the range of one thread, some
// span several, one is empty.
struct Model {
  std::vector<GuardedBuffer<float>> weights, gradients, first, second;
  std::vector<GuardedBuffer<Bf16>> gradients_bf16;  // the same values, where gradients have this type

  Model() {
    std::uint64_t seed = 1;
    for (std::int64_t n : {1, 5, 17, 20011, 0, 33, 16, 9000}) {
      weights.push_back(random_floats(n, seed++));
      gradients_bf16.push_back(random_reals<Bf16>(n, seed));
      gradients.push_back(is_bf16(gradients.size()) ? floats(gradients_bf16.back()) : random_floats(n, seed));
      ++seed;
      first.push_back(random_floats(n, seed++));
      second.push_back(random_floats(n, seed++, 0, 1));
    }
  }
  static bool is_bf16(std::size_t t) { return t % 4 > 1; }
  // For the reference, and for kernels, which read Bf16 directly.
  std::vector<SgdTensor> sgd() {
    std::vector<SgdTensor> tensors;
    for (std::size_t t = 0; t < weights.size(); ++t)
      tensors.push_back(
          {weights[t].data(), first[t].data(), gradients[t].data(), static_cast<std::int64_t>(weights[t].size())});
    return tensors;
  }
  template <typename Tensor>
  std::vector<Tensor> with_bf16(std::vector<Tensor> tensors) const {
    for (std::size_t t = 0; t < tensors.size(); ++t)
      if (is_bf16(t)) {
        tensors[t].gradient = nullptr;
        tensors[t].gradient_bf16 = gradients_bf16[t].data();
      }
    return tensors;
  }
  std::vector<GradientTensor> only_gradients() {
    std::vector<GradientTensor> tensors;
    for (GuardedBuffer<float>& gradient : gradients)
      tensors.push_back({gradient.data(), static_cast<std::int64_t>(gradient.size())});
    return with_bf16(tensors);
  }
  std::vector<AdamwTensor> adamw() {
    std::vector<AdamwTensor> tensors;
    for (std::size_t t = 0; t < weights.size(); ++t)
      tensors.push_back({weights[t].data(), first[t].data(), second[t].data(), gradients[t].data(),
                         static_cast<std::int64_t>(weights[t].size()), t % 2 == 0 ? 0.01 : 0.0});
    return tensors;
  }
};

// Each step adds a few roundings of values up to 4.
void expect_same(const Model& actual, const Model& expected, int steps) {
  const test::Tolerance tolerance = {2 * kEps * steps, 2 * kEps * steps};
  for (std::size_t t = 0; t < expected.weights.size(); ++t) {
    expect_close(actual.weights[t], expected.weights[t], tolerance);
    expect_close(actual.first[t], expected.first[t], tolerance);
    expect_close(actual.second[t], expected.second[t], tolerance);
    EXPECT_TRUE(actual.weights[t].guards_intact() && actual.first[t].guards_intact() && actual.second[t].guards_intact());
  }
}

TEST(Sgd, StepsMatchReference) {
  const float rate = 0.05f;
  const float clip = 0.3f;
  for (const SgdNumbers& numbers : {SgdNumbers{0.9, 1e-4}, SgdNumbers{0, 0}, SgdNumbers{0.9, 1e-4, &clip}}) {
    Model expected;
    for (int step = 0; step < 4; ++step)
      reference::sgd(expected.sgd().data(), static_cast<int>(expected.sgd().size()), &rate, numbers);
    for_each_kernels("", [&](const auto& kernels, int threads) {
      Model model;
      const std::vector<SgdTensor> tensors = model.with_bf16(model.sgd());
      for (int step = 0; step < 4; ++step)
        kernels.sgd(tensors.data(), static_cast<int>(tensors.size()), &rate, numbers, threads);
      expect_same(model, expected, 4);
    });
  }
}

TEST(Adamw, StepsMatchReference) {
  const float rate = 0.01f;
  const float clip = 0.3f;
  for (std::int32_t first : {0, 1000, 2000000}) {
    const AdamwNumbers numbers = {0.9, 0.999, 1e-8, first == 1000 ? &clip : nullptr};
    Model expected;
    for (std::int32_t step = first; step < first + 4; ++step)
      reference::adamw(expected.adamw().data(), static_cast<int>(expected.adamw().size()), &rate, &step, numbers);
    for_each_kernels(std::to_string(first), [&](const auto& kernels, int threads) {
      Model model;
      const std::vector<AdamwTensor> tensors = model.with_bf16(model.adamw());
      for (std::int32_t step = first; step < first + 4; ++step)
        kernels.adamw(tensors.data(), static_cast<int>(tensors.size()), &rate, &step, numbers, threads);
      expect_same(model, expected, 4);
    });
  }
}

// A zero gradient with zero moments: only epsilon keeps the update from 0 / 0.
TEST(Adamw, ZeroGradientOnlyDecays) {
  const float rate = 0.5f;
  const std::int32_t step = 0;
  for_each_kernels("", [&](const auto& kernels, int threads) {
    GuardedBuffer<float> weight(19), moment1(19), moment2(19), gradient(19);
    std::fill(weight.begin(), weight.end(), 2.0f);
    for (GuardedBuffer<float>* zero : {&moment1, &moment2, &gradient}) std::fill(zero->begin(), zero->end(), 0.0f);
    const AdamwTensor tensor = {weight.data(), moment1.data(), moment2.data(), gradient.data(), 19, 0.5};
    kernels.adamw(&tensor, 1, &rate, &step, {0.9, 0.999, 1e-8}, threads);
    for (float value : weight) EXPECT_EQ(value, 1.5f);
  });
}

// What gradients are multiplied by.
template <typename Kernels>
float clip_factor(const Kernels& kernels, const std::vector<GradientTensor>& tensors, double largest_norm, int threads) {
  GuardedBuffer<float> workspace(static_cast<std::int64_t>(kernels.squares_workspace_bytes(threads) / sizeof(float)));
  double squares = -1;
  kernels.sum_of_squares(&squares, tensors.data(), static_cast<int>(tensors.size()), workspace.data(), threads);
  EXPECT_TRUE(workspace.guards_intact());
  return static_cast<float>(clip_factor_of(std::sqrt(squares), largest_norm));
}

// 1 + 4 + 4 = 3 * 3; a gradient shorter than the largest norm stays as it is. 1e-6 is what the definition adds to the norm.
TEST(ClipFactor, WorkedOutByHand) {
  const float gradient[] = {1, -2}, other[] = {2};
  for_each_kernels("", [&](const auto& kernels, int threads) {
    for (const auto& [largest, expected] : {std::pair{1.5, 1.5 / (3 + 1e-6)}, {3.0, 3 / (3 + 1e-6)}, {4.0, 1.0}})
      EXPECT_NEAR(clip_factor(kernels, {{gradient, 2}, {other, 1}}, largest, threads), expected, kEps);
  });
}

// Squares are positive, so chunks of up to 1,024 in float err by less than kEps times the logarithm of their lanes' additions;
// 64 additions per lane, and at most that many roundings without vectors.
TEST(ClipFactor, MatchesTheReferenceAndIsBitEqualForEqualThreads) {
  double squares = 0;
  Model model;
  for (const GuardedBuffer<float>& gradient : model.gradients)
    squares += reference::sum_of_squares(gradient.data(), Element::f32, static_cast<std::int64_t>(gradient.size()));
  const std::vector<GradientTensor> tensors = model.only_gradients();
  for_each_kernels("", [&](const auto& kernels, int threads) {
    std::vector<float> factors;
    for (int repetition = 0; repetition < 3; ++repetition) factors.push_back(clip_factor(kernels, tensors, 1, threads));
    EXPECT_NEAR(factors[0] * std::sqrt(squares), 1, 32 * kEps);
    EXPECT_TRUE(factors[0] == factors[1] && factors[0] == factors[2]);
  });
}

TEST(ClipFactor, LeavesNoFiniteGradientWhereOneIsNot) {
  for_each_kernels("", [&](const auto& kernels, int threads) {
    for (float bad : {INFINITY, NAN}) {
      const float gradient[] = {1, bad};
      const float factor = clip_factor(kernels, {{gradient, 2}}, 1, threads);
      EXPECT_TRUE(std::isnan(factor * bad)) << factor;
    }
  });
}

}  // namespace
}  // namespace epochbench
