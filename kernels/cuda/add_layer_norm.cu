// Layer normalization of dropout(x) + shortcut, and its gradient with respect to x and the shortcut: the end of a Transformer's
// sublayer in one pass over memory per direction. The sum is rounded once to the element type, and normalized as it is stored.
// Also root mean square normalization of a sum without dropout.
#include "kernels/cuda/layer_norm.cuh"
#include "kernels/cuda/philox.cuh"

namespace epochbench::cuda {
namespace {

template <typename T>
struct SumRows {  // a Source
  T* sum;         // or null
  const T* x;
  const T* shortcut;
  const std::int32_t* step;  // null without dropout
  Dropout dropout;

  template <int kSize>
  __device__ RegisterPack<T, kSize> load(std::int64_t i) const {
    const RegisterPack<T, kSize> added = add<kSize>(i);
    if (sum != nullptr) store_registers(sum + i, added);
    return added;
  }
  template <int kSize>
  __device__ RegisterPack<T, kSize> load_again(std::int64_t i) const {
    return sum != nullptr ? load_registers<kSize>(sum + i) : add<kSize>(i);
  }

 private:
  template <int kSize>
  __device__ RegisterPack<T, kSize> add(std::int64_t i) const {
    const RegisterPack<T, kSize> of_x = load_registers<kSize>(x + i), of_shortcut = load_registers<kSize>(shortcut + i);
    float values[kSize];
    for (int j = 0; j < kSize; ++j) values[j] = element(of_x, j);
    if (dropout.threshold > 0) drop_out(values, i, *step, dropout);
    for (int j = 0; j < kSize; ++j) values[j] += element(of_shortcut, j);
    return to_registers<T>(values);
  }
};

template <typename T>
struct SumGradient {  // a Target
  static constexpr int kHeldFloats = sizeof(T) == 2 ? 24 : 16;
  T* dx;    // or null
  T* dsum;  // or null
  const std::int32_t* step;
  Dropout dropout;

  __device__ bool wanted() const { return dx != nullptr || dsum != nullptr; }
  template <int kSize>
  __device__ void store(std::int64_t i, float (&values)[kSize]) const {
    if (dsum != nullptr) store_registers(dsum + i, to_registers<T>(values));
    if (dx == nullptr) return;
    if (dropout.threshold > 0) drop_out(values, i, *step, dropout);
    store_registers(dx + i, to_registers<T>(values));
  }
};

}  // namespace

void add_layer_norm(void* y, float* mean, float* inv_std, void* sum, const void* x, const void* shortcut, const float* scale,
                    const float* bias, const std::int32_t* step, const Dropout& dropout, std::int64_t rows,
                    std::int64_t channels, double epsilon, Element element, Stream stream) {
  const auto source = [=](auto zero) {
    using T = decltype(zero);
    return SumRows<T>{static_cast<T*>(sum), static_cast<const T*>(x), static_cast<const T*>(shortcut), step, dropout};
  };
  normalize_rows(y, mean, inv_std, source, scale, bias, rows, channels, epsilon, element, stream);
}

void add_rms_norm(void* y, float* inv_rms, void* sum, const void* x, const void* shortcut, const float* scale,
                  std::int64_t rows, std::int64_t channels, double epsilon, Element element, Stream stream) {
  const auto source = [=](auto zero) {
    using T = decltype(zero);
    return SumRows<T>{static_cast<T*>(sum), static_cast<const T*>(x), static_cast<const T*>(shortcut), nullptr, {}};
  };
  normalize_rows<false>(y, nullptr, inv_rms, source, scale, nullptr, rows, channels, epsilon, element, stream);
}

void add_layer_norm_grad(void* dx, float* dscale, float* dbias, void* dsum, const void* dy, const void* sum, const float* scale,
                         const float* mean, const float* inv_std, const std::int32_t* step, const Dropout& dropout,
                         std::int64_t rows, std::int64_t channels, Element element, void* workspace, Stream stream) {
  const auto target = [=](auto zero) {
    using T = decltype(zero);
    return SumGradient<T>{static_cast<T*>(dx), static_cast<T*>(dsum), step, dropout};
  };
  normalized_rows_grad(target, dscale, dbias, dy, sum, scale, mean, inv_std, rows, channels, element, workspace, stream);
}

}  // namespace epochbench::cuda
