// Converts the bytes of images to values. A thread stores 16 bytes at a time, which takes a load of 4 or 8 bytes and as many
// lookups. The lookups would be slowest: the lanes of a warp read 32 random elements, which takes three to four passes over the
// banks of shared memory, and in the cache one pass for each of the up to eight lines that they hit in a channel's table.
#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPacks = 4;                        // loads in flight per thread
constexpr int kBlocksPerMultiprocessor = 4;      // each copies the table once; half of the threads that fit
constexpr std::int64_t kValues = 256;            // of a byte
constexpr std::int64_t kMaxSharedChannels = 48;  // channels whose table fits the 48 KB that every GPU gives a block

template <int kSize>
__device__ inline void look_up(float (&values)[kSize], const std::uint8_t (&bytes)[kSize], const float* table, int channel,
                               int channels) {
  for (int i = 0; i < kSize; ++i) {
    values[i] = table[channel * kValues + bytes[i]];
    if (++channel == channels) channel = 0;
  }
}

// Threads take packs of 16 bytes of y in turn. A thread's channel advances by a constant with each turn, so a thread divides
// only once.
template <typename T, bool kShared>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    decode_kernel(T* y, const std::uint8_t* x, const float* table, std::int64_t n, int channels) {
  constexpr int kSize = Vector<T>::kSize;
  const float* values = table;
  if constexpr (kShared) {
    DYNAMIC_SHARED(float, shared);
    for (int i = static_cast<int>(threadIdx.x); i < channels * kValues; i += kThreads) shared[i] = table[i];
    __syncthreads();
    values = shared;
  }
  const std::int64_t packs = n / kSize, turn = std::int64_t{kThreads} * gridDim.x;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int advance = static_cast<int>(turn * kSize % channels);
  int channel = static_cast<int>(first * kSize % channels);
  for (std::int64_t start = first; start < packs; start += kPacks * turn) {
    Pack<std::uint8_t, kSize> in[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (start + p * turn >= packs) break;
      in[p] = load_pack<kSize>(x + (start + p * turn) * kSize);
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (start + p * turn >= packs) break;
      float out[kSize];
      look_up(out, in[p].value, values, channel, channels);
      store_registers(y + (start + p * turn) * kSize, to_registers<T>(out));
      channel += advance;
      if (channel >= channels) channel -= channels;
    }
  }
  const std::int64_t last = packs * kSize + first;  // fewer than kSize elements, by the first threads
  if (last < n) y[last] = from_float<T>(values[last % channels * kValues + x[last]]);
}

}  // namespace

void decode_pixels(void* y, const std::uint8_t* x, const float* table, std::int64_t pixels, std::int64_t channels,
                   Element element, Stream stream) {
  const std::int64_t n = pixels * channels;
  if (n == 0) return;
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t needed = ceil_div(n, std::int64_t{Vector<T>::kSize} * kThreads * kPacks);
    const std::int64_t most = std::int64_t{kBlocksPerMultiprocessor} * multiprocessors();
    const dim3 grid(static_cast<unsigned>(needed < most ? needed : most));
    const bool shared = channels <= kMaxSharedChannels;
    launch(shared ? decode_kernel<T, true> : decode_kernel<T, false>, grid, dim3(kThreads),
           shared ? static_cast<std::size_t>(channels * kValues) * sizeof(float) : 0, stream, static_cast<T*>(y), x, table, n,
           static_cast<int>(channels));
  });
}

}  // namespace epochbench::cuda
