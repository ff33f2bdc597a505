#include "src/backend/cuda/attention_identities.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/numbers.h"

namespace epochbench {
namespace {

double unit_roundoff(Element element) {
  if (element == Element::f32) return 0x1p-24;
  return element == Element::bf16 ? 0x1p-8 : 0x1p-11;
}

// y, dV and the weights of either direction are rounded once each, here with a factor of two to spare, and sums over a row are
// made in float.
double rounding(const AttentionShape& s, Element element) {
  return 8 * unit_roundoff(element) + static_cast<double>(s.sequence) * 0x1p-24;
}

// Numbers of either sign, from 1/16 to 1 in steps of 1/128, which are exact in every type. By the generator of Knuth and Lewis.
std::vector<float> random_rows(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    const float magnitude = static_cast<float>(8 + (state >> 8) % 121) / 128;
    value = (state >> 31) != 0 ? -magnitude : magnitude;
  }
  return values;
}

struct InnerProduct {
  double sum = 0, squares = 0;  // of the terms
  void add(double a, double b) {
    sum += a * b;
    squares += a * b * a * b;
  }
};

// <dy, y> - <dV, V> relative to the size of their terms, as the root mean square over samples and heads of keys: each of these
// differences is random if the masks differ, and one alone may be small by chance.
double adjoint_difference(const AttentionShape& s, const AttentionInputs& in, const AttentionOutputs& out) {
  const std::int64_t of_sample = s.sequence * row_stride(s), keys_of_sample = s.sequence * key_heads(s) * s.width;
  const std::int64_t samples = static_cast<std::int64_t>(out.y.size()) / of_sample;
  const auto at = [](const std::vector<float>& values, std::int64_t i) {
    return static_cast<double>(values[static_cast<std::size_t>(i)]);
  };
  double squares = 0;
  for (std::int64_t sample = 0; sample < samples; ++sample)
    for (std::int64_t head = 0; head < key_heads(s); ++head) {
      InnerProduct of_y, of_v;
      const std::int64_t columns = group_size(s) * s.width;  // of the heads that share these keys
      for (std::int64_t row = 0; row < s.sequence; ++row) {
        for (std::int64_t i = row * row_stride(s) + head * columns, end = i + columns; i < end; ++i)
          of_y.add(at(in.dy, i), at(out.y, sample * of_sample + i));
        for (std::int64_t i = (row * key_heads(s) + head) * s.width, end = i + s.width; i < end; ++i)
          of_v.add(at(in.v, i), at(out.dv, sample * keys_of_sample + i));
      }
      const double difference = of_y.sum - of_v.sum;
      squares += difference * difference / std::max(of_y.squares + of_v.squares, std::numeric_limits<double>::min());
    }
  return std::sqrt(squares / static_cast<double>(samples * key_heads(s)));
}

// How far from 1 the mean output is at the nearest other probability that a kernel with a resolution of 1/16 could take.
double effect_of_a_sixteenth(double dropout) {
  double nearest = 1;
  for (int i = 0; i < 16; ++i)
    if (const double away = std::abs(i / 16.0 - dropout); away > 0) nearest = std::min(nearest, away);
  return nearest / (1 - dropout);
}

}  // namespace

std::string broken_attention_identity(const AttentionShape& s, Element element, double dropout, const RunAttention& run) {
  const std::int64_t rows = s.sequence * s.heads, keys = s.sequence * key_heads(s);
  const double explained = rounding(s, element);
  AttentionInputs in{random_rows(rows * s.width, 1), random_rows(keys * s.width, 2), random_rows(keys * s.width, 3),
                     random_rows(rows * s.width, 4)};
  if (const AttentionOutputs out = run(in, 0); !out.dv.empty())
    if (const double apart = adjoint_difference(s, in, out); !(apart <= explained))
      return "the gradient draws other dropout masks: <dy, y> and <dV, V> are apart by " + short_number(apart) +
             " of their terms' size, and rounding explains " + short_number(explained);

  std::fill(in.q.begin(), in.q.end(), 0.0f);
  std::fill(in.k.begin(), in.k.end(), 0.0f);
  std::fill(in.v.begin(), in.v.end(), 1.0f);
  double per_row = 0;  // the variance of a row's output, on average
  for (std::int64_t query = 0; query < s.sequence; ++query)
    per_row += dropout / (1 - dropout) / static_cast<double>(keys_before(s, query + 1) * s.sequence);
  const double effect = dropout > 0 ? effect_of_a_sixteenth(dropout) : std::numeric_limits<double>::infinity();
  constexpr int kMaxSteps = 256;
  constexpr double kDeviations = 5, kDeviationsOfAnother = 3;  // in which chance leaves the right and a wrong probability
  double sum = 0, seen_rows = 0;
  for (std::int32_t step = 1; step <= kMaxSteps; ++step) {
    const AttentionOutputs out = run(in, step);
    for (const float value : out.y) sum += static_cast<double>(value) / static_cast<double>(s.width);
    seen_rows += static_cast<double>(out.y.size()) / static_cast<double>(s.width);
    const double deviation = std::sqrt(per_row / seen_rows);
    const double allowed = kDeviations * deviation + explained / 4;  // the weights and y are rounded
    if (allowed + kDeviationsOfAnother * deviation > effect) continue;
    const double mean = sum / seen_rows;
    if (std::abs(mean - 1) <= allowed) return "";
    return "dropout " + short_number(dropout) + " drops " + short_number(1 - mean * (1 - dropout)) +
           " of the weights: for V = 1 the mean output is " + short_number(mean);
  }
  return "too few weights to tell whether a share of " + short_number(dropout) + " is dropped";
}

}  // namespace epochbench
