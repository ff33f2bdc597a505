// Whole models through the CUDA backend, with our kernels compiled for the CPU, a fake device and fake libraries,
// against the reference backend in every precision.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cuda_training.h"
#include "tests/support/made_workload.h"
#include "tests/support/print.h"
#include "tests/support/roundoff.h"

namespace epochbench {
namespace {

using test::kNoPlans;
using test::Outcome;
using test::roundoff_beyond_floats;
using test::train;
using test::train_on_cuda;
using test::Training;
using test::unit_roundoff;

constexpr double kFloatEps = 0x1p-24;

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

// A bias of the keys moves all scores of a row alike, which softmax does not see: its gradient is rounding and nothing else.
bool is_noise(const std::string& variable) { return variable.find(".key.bias") != std::string::npos; }

// Both round at the same places. What differs is the order of float sums; that tips a rounding to `eps` (0: float) here and
// there, of one element in thousands, and AdamW makes a whole step of a gradient whose sign it decides: what is allowed doubles
// with each step.
void expect_same_roundings(const Outcome& actual, const Outcome& expected, double eps) {
  for (std::size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(actual.losses.at(i) / expected.losses[i], 1, std::ldexp(16 * kFloatEps + eps / 16, static_cast<int>(i)))
        << "loss " << i;
  for (const auto& [name, values] : expected.variables) {
    if (is_noise(name)) continue;
    std::vector<float> off = actual.variables.at(name);
    for (std::size_t i = 0; i < values.size(); ++i) off[i] -= values[i];
    EXPECT_LE(norm(off), (256 * kFloatEps + std::sqrt(eps)) * norm(values)) << name;
  }
}

// Fusion and im2col round less or elsewhere. The first loss, a mean over all that was rounded on the way, is off by a fraction
// of eps. Then ReLU and pooling decide differently where numbers are closer than a rounding, for a share eps of the elements:
// gradients, and the weights after a few steps, err by a fraction of sqrt(eps).
void expect_other_roundings(const Outcome& actual, const Outcome& expected, double eps) {
  EXPECT_NEAR(actual.losses.at(0) / expected.losses[0], 1, eps / 2);
  for (std::size_t i = 1; i < expected.losses.size(); ++i)
    EXPECT_NEAR(actual.losses.at(i) / expected.losses[i], 1, std::sqrt(eps) / 4) << "loss " << i;
}

class CudaModels : public testing::TestWithParam<std::tuple<Training, Precision>> {
 protected:
  Training training() const {
    Training training = std::get<0>(GetParam());
    training.precision = std::get<1>(GetParam());
    return training;
  }
};

TEST_P(CudaModels, TrainAsTheReferenceDoes) {
  const Training own_masks = training();
  const double eps = roundoff_beyond_floats(own_masks.precision);
  const Outcome expected = train(own_masks, *make_reference_backend());
  if (own_masks.precision == Precision::fp32 || own_masks.precision == Precision::tf32) {
    expect_same_roundings(train_on_cuda(own_masks), expected, eps);
    expect_same_roundings(train_on_cuda(own_masks, kNoPlans), expected, eps);
    return;
  }
  expect_other_roundings(train_on_cuda(own_masks, kNoPlans), expected, eps);
  Training no_masks = own_masks;  // as a library draws its own
  if (no_masks.dropout > 0) no_masks.dropout = 0;
  const Outcome without = no_masks.dropout == own_masks.dropout ? expected : train(no_masks, *make_reference_backend());
  expect_same_roundings(train_on_cuda(no_masks, {}, 0, false), without, eps);
  expect_other_roundings(train_on_cuda(no_masks), without, eps);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaModels,
    testing::Combine(testing::Values(Training{"lenet5", 4}, Training{"mlp:width=96", 6}, Training{"resnet20", 2},
                                     Training{"bert-tiny:sequence=16", 2, Precision::fp32, 0.1}, Training{test::kSmallVit, 2},
                                     Training{test::kSmallGpt2, 2, Precision::fp32, 0.1}, Training{test::kSmallLlama, 2},
                                     Training{"lstm:units=20,sequence=6,vocabulary=50", 3},
                                     Training{"lstm-lm:units=17,sequence=5,vocabulary=41", 2, Precision::fp32, 0.3}),
                     testing::ValuesIn(kPrecisions)),
    [](const auto& info) {
      std::string name = std::get<0>(info.param).model;
      name = name.substr(0, name.find(':'));
      std::erase(name, '-');
      return name + "_" + epochbench::name(std::get<1>(info.param));
    });

// With their dropout and stochastic depth, whose masks are those of the reference. Deep networks of norms over a few pixels
// amplify roundings, a thousandfold in each step with the models' own learning rates.
class CudaMobileNetworks : public testing::TestWithParam<Precision> {};

TEST_P(CudaMobileNetworks, TrainAsTheReferenceDoes) {
  for (const char* model : {test::kSmallMobileNet, test::kSmallEfficientNet, test::kSmallNasNet}) {
    SCOPED_TRACE(model);
    const Training training{model, 4, GetParam(), -1, 1e-6};
    const Outcome expected = train(training, *make_reference_backend()), actual = train_on_cuda(training);
    const double tolerance = GetParam() == Precision::fp32 ? 1e-4 : 16 * unit_roundoff(GetParam());
    for (std::size_t i = 0; i < expected.losses.size(); ++i)
      EXPECT_NEAR(actual.losses.at(i) / expected.losses[i], 1, tolerance) << "loss " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaMobileNetworks, testing::ValuesIn(kPrecisions),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace epochbench
