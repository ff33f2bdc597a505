// Parameters with their state and gradients, for tests of optimizers, and the reference's updates of them.
#pragma once

#include <vector>

#include "kernels/reference/kernels.h"
#include "tests/support/op_tensor.h"

namespace epochbench::test {

struct Parameter {
  DeviceBuffer<float> weight, state1, state2;
  Tensor gradient;
  double weight_decay;

  std::int64_t n() const { return gradient.size(); }
};
using Parameters = std::vector<Parameter>;

// Like those of a small model. Some end within a vector, within a thread's range, or within a part of a chunk of CUDA (32,768
// elements); some span several; one is empty. Gradients have each of `elements` in turn and are multiplied by `scale`.
inline Parameters small_model(const std::vector<Element>& elements, double scale = 1) {
  Parameters parameters;
  std::uint64_t seed = 1;
  for (std::int64_t n : {1, 5, 17, 20011, 0, 33, 7, 16, 32768, 9000, 8192, 65539}) {
    const std::size_t t = parameters.size();
    const auto floats = [&](double low, double high) { return random_device_floats(n, seed++, low, high); };
    parameters.push_back({floats(-1, 1), floats(-1, 1), floats(0, 1),
                          random_tensor(n, elements[t % elements.size()], seed++, -scale, scale), t % 2 == 0 ? 0.01 : 0.0});
  }
  return parameters;
}

inline Parameters one_parameter(float weight, float state1, float state2, float gradient, double weight_decay) {
  const auto one = [](const float& value) { return on_device<float>({&value, 1}); };
  Parameters parameters;
  parameters.push_back({one(weight), one(state1), one(state2), Tensor({&gradient, 1}, Element::f32), weight_decay});
  return parameters;
}

inline GuardedBuffer<float> unscaled_gradient(const Parameter& p, double scale) {
  GuardedBuffer<float> gradient = p.gradient.floats();
  for (float& value : gradient) value = static_cast<float>(value / scale);
  return gradient;
}

inline void reference_sgd(Parameters& parameters, const float* learning_rate, const SgdNumbers& numbers, double scale = 1) {
  for (Parameter& p : parameters) {
    const GuardedBuffer<float> gradient = unscaled_gradient(p, scale);
    const SgdTensor tensor = {p.weight.data(), p.state1.data(), gradient.data(), p.n()};
    reference::sgd(&tensor, 1, learning_rate, numbers);
  }
}

inline void reference_adamw(Parameters& parameters, const float* learning_rate, const std::int32_t* step,
                            const AdamwNumbers& numbers, double scale = 1) {
  for (Parameter& p : parameters) {
    const GuardedBuffer<float> gradient = unscaled_gradient(p, scale);
    const AdamwTensor tensor = {p.weight.data(), p.state1.data(), p.state2.data(), gradient.data(), p.n(), p.weight_decay};
    reference::adamw(&tensor, 1, learning_rate, step, numbers);
  }
}

inline double reference_norm(const Parameters& parameters, double scale = 1) {
  double squares = 0;
  for (const Parameter& p : parameters)
    squares += reference::sum_of_squares(p.gradient.floats().data(), Element::f32, p.n()) / (scale * scale);
  return std::sqrt(squares);
}

// Each step adds a few roundings of values up to 4.
inline void expect_same_parameters(const Parameters& actual, const Parameters& expected, int steps) {
  const Tolerance tolerance = {2 * kEps * steps, 2 * kEps * steps};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Parameter &a = actual[i], &e = expected[i];
    expect_close(a.weight, e.weight, tolerance);
    expect_close(a.state1, e.state1, tolerance);
    expect_close(a.state2, e.state2, tolerance);
    EXPECT_TRUE(a.weight.guards_intact() && a.state1.guards_intact() && a.state2.guards_intact());
    EXPECT_TRUE(a.gradient.guards_intact());
  }
}

// A float of a norm errs by half the roundings of its sum of squares: a thread of CUDA adds up 128, a lane of the CPU 64 to
// 256, of at most half kEps each, and trees of a few additions follow. Squares of different size rarely round the same way.
inline constexpr double kNormError = 40 * kEps;

}  // namespace epochbench::test
