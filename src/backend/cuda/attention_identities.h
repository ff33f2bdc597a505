// Two identities of attention with dropout that hold whatever masks are drawn, so they test a library whose masks are unknown.
// The output is linear in V, so <dy, y> = <dV, V> exactly if both directions draw the same mask. And with V = 1 and q = k = 0
// the mean output is 1 exactly if the dropout probability is the one that was asked for: some engines of cuDNN round it to a
// multiple of 1/16.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/shapes.h"

namespace epochbench {

// Rows [sequence, heads, width], of k and v [sequence, key_heads, width]. Inputs are of one sample and the same in every
// sample; outputs are of as many samples as the caller looks at, at least one.
struct AttentionInputs {
  std::vector<float> q, k, v, dy;
};
struct AttentionOutputs {
  std::vector<float> y, dv;  // dv: only if there is a gradient
};
// Runs both directions of one step. Steps draw different masks.
using RunAttention = std::function<AttentionOutputs(const AttentionInputs& inputs, std::int32_t step)>;

constexpr bool is_multiple_of_a_sixteenth(double probability) {
  return probability * 16 == static_cast<double>(static_cast<int>(probability * 16));
}

// Which identity does not hold beyond what rounding and chance explain, or why that cannot be known; empty if both hold.
// `element`: of the tensors.
std::string broken_attention_identity(const AttentionShape& shape, Element element, double dropout, const RunAttention& run);

}  // namespace epochbench
