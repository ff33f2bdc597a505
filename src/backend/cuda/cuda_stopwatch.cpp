#include "src/backend/cuda/cuda_stopwatch.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace epochbench {
namespace {

constexpr double kAverageOver = 1e-3;  // seconds: events have a resolution of 0.5 microseconds
constexpr int kMaxCalls = 32;
constexpr int kAverages = 3;
constexpr double kLong = 2e-2;         // seconds: of so long a call, one measurement is as good as several
constexpr double kGiveUpFactor = 1.5;  // times the best so far: stop measuring, unless calls are so short that the start counts

// A float from 1/16 to 1 of either sign, from random bits.
std::uint32_t float_bits(std::uint32_t random) {
  constexpr std::uint32_t kSixteenth = 127 - 4;  // its exponent
  return (random & 0x8000'0000) | (kSixteenth + (random >> 29 & 3)) << 23 | (random >> 6 & 0x7f'ffff);
}

std::uint16_t half_bits(std::uint32_t of_float) {  // the bits of such a float, with its mantissa truncated
  constexpr std::uint32_t kRebias = 127 - 15;
  return static_cast<std::uint16_t>((of_float >> 16 & 0x8000) | ((of_float >> 23 & 0xff) - kRebias) << 10 |
                                    (of_float >> 13 & 0x3ff));
}

std::vector<std::byte> random_numbers(std::size_t count, Element element) {
  const std::size_t size = element == Element::f32 ? 4 : 2;
  std::vector<std::byte> bytes(count * size);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    // A linear congruential generator (Knuth and Lewis): its high bits are random enough here.
    state = state * 1664525u + 1013904223u;
    const std::uint32_t bits = float_bits(state);
    const std::uint16_t upper = element == Element::f16 ? half_bits(bits) : static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(bytes.data() + i * size, element == Element::f32 ? static_cast<const void*>(&bits) : &upper, size);
  }
  return bytes;
}

}  // namespace

void fill_random(cuda::Device& device, const Operand& operand, cuda::Stream stream) {
  if (operand.bytes == 0) return;
  constexpr std::size_t kPattern = std::size_t{1} << 18;
  const std::size_t numbers = operand.bytes / (operand.element == Element::f32 ? 4 : 2);
  const std::vector<std::byte> pattern = random_numbers(std::min(numbers, kPattern), operand.element);
  auto* const to = static_cast<std::byte*>(operand.memory);
  device.copy_to_device(to, pattern.data(), pattern.size(), stream);
  for (std::size_t filled = pattern.size(); filled < operand.bytes;) {
    const std::size_t more = std::min(filled, operand.bytes - filled);
    device.copy_on_device(to + filled, to, more, stream);
    filled += more;
  }
  device.synchronize(stream);  // the pattern is read until then
}

// Outside a graph: a first call loads kernels, and libraries may allocate memory.
void Stopwatch::warm_up(const std::function<void()>& enqueue) {
  enqueue();
  device_.record(end_.get(), stream_);
  wait_(end_.get());
}

cuda::Owned<cuda::GraphExec> Stopwatch::graph_of(const std::function<void()>& enqueue, int calls) {
  return cuda::captured(device_, stream_, [&] {
    for (int i = 0; i < calls; ++i) enqueue();
  });
}

double Stopwatch::seconds_of(const cuda::Owned<cuda::GraphExec>& graph) {
  device_.record(begin_.get(), stream_);
  device_.launch(graph.get(), stream_);
  device_.record(end_.get(), stream_);
  wait_(end_.get());
  return device_.seconds_between(begin_.get(), end_.get());
}

double Stopwatch::glance(const std::function<void()>& enqueue) {
  warm_up(enqueue);
  return seconds_of(graph_of(enqueue, 1));
}

double Stopwatch::seconds(const std::function<void()>& enqueue, double to_beat) {
  warm_up(enqueue);
  auto graph = graph_of(enqueue, 1);
  const double first = seconds_of(graph);  // including the graph's own start, some microseconds
  const int calls = std::clamp(static_cast<int>(kAverageOver / std::max(first, kAverageOver / kMaxCalls)), 1, kMaxCalls);
  if (first > kLong || (calls < kMaxCalls && first > kGiveUpFactor * to_beat)) return first;
  if (calls > 1) graph = graph_of(enqueue, calls);
  double best = first;
  for (int i = 0; i < kAverages; ++i) best = std::min(best, seconds_of(graph) / calls);
  return best;
}

}  // namespace epochbench
