// Batch normalization (Ioffe and Szegedy 2015) over rows, one channel at a time.
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

double activated(double value, Activation activation) {
  if (activation.kind != Activation::none && value < 0) return 0;
  return activation.kind == Activation::relu6 && value > kSix ? double{kSix} : value;
}

}  // namespace

void batch_norm(float* y, float* mean, float* inv_std, float* running_mean, float* running_variance, const float* x,
                const float* scale, const float* bias, const float* shortcut, std::int64_t rows, std::int64_t channels,
                double epsilon, double momentum, Activation activation) {
  const double n = static_cast<double>(rows);
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += x[r * channels + c];
    const double center = sum / n;
    double squares = 0;
    for (std::int64_t r = 0; r < rows; ++r) squares += (x[r * channels + c] - center) * (x[r * channels + c] - center);
    const double inverse = 1 / std::sqrt(squares / n + epsilon);
    const double unbiased = rows > 1 ? squares / (n - 1) : 0;

    for (std::int64_t i = c; i < rows * channels; i += channels) {
      double value = (x[i] - center) * inverse * scale[c] + bias[c];
      if (shortcut != nullptr) value += shortcut[i];
      y[i] = static_cast<float>(activated(value, activation));
    }
    if (mean != nullptr) mean[c] = static_cast<float>(center);
    if (inv_std != nullptr) inv_std[c] = static_cast<float>(inverse);
    if (running_mean != nullptr) running_mean[c] = static_cast<float>((1 - momentum) * running_mean[c] + momentum * center);
    if (running_variance != nullptr)
      running_variance[c] = static_cast<float>((1 - momentum) * running_variance[c] + momentum * unbiased);
  }
}

void batch_norm_inference(float* y, const float* x, const float* scale, const float* bias, const float* running_mean,
                          const float* running_variance, const float* shortcut, std::int64_t rows, std::int64_t channels,
                          double epsilon, Activation activation) {
  for (std::int64_t i = 0; i < rows * channels; ++i) {
    const std::int64_t c = i % channels;
    const double inverse = 1 / std::sqrt(running_variance[c] + epsilon);
    double value = (static_cast<double>(x[i]) - running_mean[c]) * inverse * scale[c] + bias[c];
    if (shortcut != nullptr) value += shortcut[i];
    y[i] = static_cast<float>(activated(value, activation));
  }
}

void batch_norm_grad(float* dx, float* dscale, float* dbias, float* dz, const float* dy, const float* y, const float* x,
                     const float* scale, const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels) {
  const double n = static_cast<double>(rows);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto upstream = [&](std::int64_t i) -> double { return y == nullptr || y[i] > 0 ? dy[i] : 0; };
    const auto normalized = [&](std::int64_t i) { return (static_cast<double>(x[i]) - mean[c]) * inv_std[c]; };
    double sum = 0, product = 0;
    for (std::int64_t i = c; i < rows * channels; i += channels) {
      sum += upstream(i);
      product += upstream(i) * normalized(i);
    }
    for (std::int64_t i = c; i < rows * channels; i += channels) {
      const double g = upstream(i);
      const double value = static_cast<double>(scale[c]) * inv_std[c] * (g - sum / n - normalized(i) * product / n);
      if (dx != nullptr) dx[i] = static_cast<float>(value);
      if (dz != nullptr) dz[i] = static_cast<float>(g);
    }
    if (dscale != nullptr) dscale[c] = static_cast<float>(product);
    if (dbias != nullptr) dbias[c] = static_cast<float>(sum);
  }
}

}  // namespace epochbench::reference
