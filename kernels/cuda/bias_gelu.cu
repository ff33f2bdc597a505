// The bias of a product and its GELU in one pass over memory.
#include "kernels/cuda/bias_add.cuh"
#include "kernels/cuda/gelu.cuh"

namespace epochbench::cuda {
namespace {

// y = gelu(product + bias), computed from the unrounded sum. x receives the sum unless it is null.
template <typename T, typename Form>
struct BiasGelu {
  static constexpr int kInputs = 1;
  BiasAdd<T> bias;
  T* x;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&product)[kCount], const float (&)[kCount],
                             std::int64_t first) const {
    float sum[kCount];
    bias(sum, product, product, first);
    if (x) store_registers(x + first, to_registers<T>(sum));
    Form{}(out, sum, sum, first);
  }
};

}  // namespace

void bias_gelu(void* y, void* x, const void* product, const void* bias, std::int64_t rows, std::int64_t channels, bool tanh,
               Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    constexpr bool kExact = std::is_same_v<T, float>;
    const auto run = [&](auto form) {
      const BiasAdd<T> added{static_cast<const T*>(bias), channels, channels};
      const BiasGelu<T, decltype(form)> of{added, static_cast<T*>(x)};
      elementwise<T>(y, product, nullptr, rows * channels, of, stream);
    };
    tanh ? run(GeluTanh<kExact>{}) : run(Gelu<kExact>{});
  });
}

}  // namespace epochbench::cuda
