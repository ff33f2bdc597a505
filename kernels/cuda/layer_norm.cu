// Layer normalization and root mean square normalization of a tensor.
#include "kernels/cuda/layer_norm.cuh"

namespace epochbench::cuda {
namespace {

template <typename T>
struct TensorRows {  // a Source
  const T* x;
  template <int kSize>
  __device__ RegisterPack<T, kSize> load(std::int64_t i) const {
    return load_registers<kSize>(x + i);
  }
  template <int kSize>
  __device__ RegisterPack<T, kSize> load_again(std::int64_t i) const {
    return load_registers<kSize>(x + i);
  }
};

template <typename T>
struct TensorGradient {  // a Target
  static constexpr int kHeldFloats = sizeof(T) == 2 ? 32 : 24;
  T* dx;  // or null
  __device__ bool wanted() const { return dx != nullptr; }
  template <int kSize>
  __device__ void store(std::int64_t i, const float (&values)[kSize]) const {
    store_registers(dx + i, to_registers<T>(values));
  }
};

}  // namespace

void layer_norm(void* y, float* mean, float* inv_std, const void* x, const float* scale, const float* bias, std::int64_t rows,
                std::int64_t channels, double epsilon, Element element, Stream stream) {
  const auto source = [=](auto zero) { return TensorRows<decltype(zero)>{static_cast<const decltype(zero)*>(x)}; };
  normalize_rows(y, mean, inv_std, source, scale, bias, rows, channels, epsilon, element, stream);
}

void layer_norm_grad(void* dx, float* dscale, float* dbias, const void* dy, const void* x, const float* scale,
                     const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels, Element element,
                     void* workspace, Stream stream) {
  const auto target = [=](auto zero) { return TensorGradient<decltype(zero)>{static_cast<decltype(zero)*>(dx)}; };
  normalized_rows_grad(target, dscale, dbias, dy, x, scale, mean, inv_std, rows, channels, element, workspace, stream);
}

void rms_norm(void* y, float* inv_rms, const void* x, const float* scale, std::int64_t rows, std::int64_t channels,
              double epsilon, Element element, Stream stream) {
  const auto source = [=](auto zero) { return TensorRows<decltype(zero)>{static_cast<const decltype(zero)*>(x)}; };
  normalize_rows<false>(y, nullptr, inv_rms, source, scale, nullptr, rows, channels, epsilon, element, stream);
}

void rms_norm_grad(void* dx, float* dscale, const void* dy, const void* x, const float* scale, const float* inv_rms,
                   std::int64_t rows, std::int64_t channels, Element element, void* workspace, Stream stream) {
  const auto target = [=](auto zero) { return TensorGradient<decltype(zero)>{static_cast<decltype(zero)*>(dx)}; };
  normalized_rows_grad<false>(target, dscale, nullptr, dy, x, scale, nullptr, inv_rms, rows, channels, element, workspace,
                              stream);
}

}  // namespace epochbench::cuda
