#include "kernels/cuda/libraries/tuning.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/error.h"

namespace epochbench::cuda {
namespace {

constexpr double kAverageOver = 1e-3;  // seconds: events have a resolution of 0.5 microseconds
constexpr int kMaxCalls = 32;
constexpr int kAverages = 3;
constexpr double kGiveUpFactor = 1.5;  // times the best so far: stop measuring

template <typename T, typename Convert>
std::vector<std::byte> random_numbers(std::size_t count, Convert convert) {
  std::vector<std::byte> bytes(count * sizeof(T));
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u +
            1013904223u;  // a linear congruential generator (Knuth and Lewis): its high bits are random enough here
    const T value = convert(static_cast<float>(state >> 8) * 0x1p-24f - 0.5f);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> random_numbers(std::size_t count, Element element) {
  switch (element) {
    case Element::f32:
      return random_numbers<float>(count, [](float x) { return x; });
    case Element::bf16:
      return random_numbers<__nv_bfloat16>(count, [](float x) { return __float2bfloat16_rn(x); });
    case Element::f16:
      return random_numbers<__half>(count, [](float x) { return __float2half_rn(x); });
  }
  return {};
}

}  // namespace

void fill_random(void* memory, std::size_t bytes, Element element, Stream stream) {
  if (bytes == 0) return;
  const std::vector<std::byte> pattern = random_numbers(std::size_t{1} << 18, element);
  auto* to = static_cast<std::byte*>(memory);
  std::size_t filled = std::min(bytes, pattern.size());
  check(cudaMemcpyAsync(to, pattern.data(), filled, cudaMemcpyHostToDevice, stream), "filling scratch memory");
  while (filled < bytes) {
    const std::size_t more = std::min(filled, bytes - filled);
    check(cudaMemcpyAsync(to + filled, to, more, cudaMemcpyDeviceToDevice, stream), "filling scratch memory");
    filled += more;
  }
  check(cudaStreamSynchronize(stream), "filling scratch memory");
}

Stopwatch::Stopwatch(Stream stream) : stream_(stream) {
  check(cudaEventCreate(&begin_), "creating an event");
  const cudaError_t status = cudaEventCreate(&end_);
  if (status != cudaSuccess) cudaEventDestroy(begin_);
  check(status, "creating an event");
}

Stopwatch::~Stopwatch() {
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

double Stopwatch::average(const std::function<void()>& enqueue, int calls) {
  check(cudaEventRecord(begin_, stream_), "recording an event");
  for (int i = 0; i < calls; ++i) enqueue();
  check(cudaEventRecord(end_, stream_), "recording an event");
  check(cudaEventSynchronize(end_), "timing an algorithm");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing an algorithm");
  return milliseconds * 1e-3 / calls;
}

double Stopwatch::seconds(const std::function<void()>& enqueue, double to_beat) {
  average(enqueue, 1);  // loads the kernel
  double best = average(enqueue, 2);
  if (best > kGiveUpFactor * to_beat) return best;
  const int calls = std::clamp(static_cast<int>(kAverageOver / best), 1, kMaxCalls);
  for (int i = 0; i < kAverages; ++i) best = std::min(best, average(enqueue, calls));
  return best;
}

}  // namespace epochbench::cuda
