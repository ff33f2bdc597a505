// Element-wise functions with bounds, and their gradients: relu6 (Sandler et al. 2018), the logistic sigmoid, and silu = x
// sigmoid(x) (Elfwing et al. 2018).
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/logistic.cuh"

namespace epochbench::cuda {
namespace {

struct Relu6 {
  static constexpr int kInputs = 1;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = x[i] < 0 ? 0 : x[i] > kSix ? kSix : x[i];  // a NaN stays NaN
  }
};

struct Relu6Grad {
  static constexpr int kInputs = 2;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&dy)[kCount], const float (&y)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = y[i] > 0 && y[i] < kSix ? dy[i] : 0;
  }
};

template <bool kExact>
struct Sigmoid {
  static constexpr int kInputs = 1;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = logistic<kExact>(x[i]).value;
  }
};

struct SigmoidGrad {
  static constexpr int kInputs = 2;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&dy)[kCount], const float (&y)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = dy[i] * (y[i] * (1 - y[i]));
  }
};

template <bool kExact>
struct Silu {
  static constexpr int kInputs = 1;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = x[i] * logistic<kExact>(x[i]).value;
  }
};

template <bool kExact>
struct SiluGrad {
  static constexpr int kInputs = 2;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&dy)[kCount], const float (&x)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = dy[i] * silu_gradient<kExact>(x[i]);
  }
};

}  // namespace

void relu6(void* y, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) { elementwise<decltype(zero)>(y, x, nullptr, n, Relu6{}, stream); });
}

void relu6_grad(void* dx, const void* dy, const void* y, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) { elementwise<decltype(zero)>(dx, dy, y, n, Relu6Grad{}, stream); });
}

void sigmoid(void* y, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T>(y, x, nullptr, n, Sigmoid<std::is_same_v<T, float>>{}, stream);
  });
}

void sigmoid_grad(void* dx, const void* dy, const void* y, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) { elementwise<decltype(zero)>(dx, dy, y, n, SigmoidGrad{}, stream); });
}

void silu(void* y, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T>(y, x, nullptr, n, Silu<std::is_same_v<T, float>>{}, stream);
  });
}

void silu_grad(void* dx, const void* dy, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T>(dx, dy, x, n, SiluGrad<std::is_same_v<T, float>>{}, stream);
  });
}

}  // namespace epochbench::cuda
