// The gradients of root mean square normalization, rotary positions, SwiGLU, attention whose heads share keys, and of the
// layers that the CPU joins, against finite differences.
#include <cmath>

#include <gtest/gtest.h>

#include "support/gradient_check.h"

namespace epochbench {
namespace {

using test::expect_gradient_matches;
using test::node;
using test::parameter;

ValueId step(Graph& graph) { return graph.add_variable({"step", {{1}, DType::i32}, VariableRole::control, {}}); }

// Cosines and sines of angles that differ in every pair and position.
std::vector<float> angles(std::int64_t sequence, std::int64_t width) {
  std::vector<float> table(static_cast<std::size_t>(sequence * width));
  for (std::int64_t p = 0; p < sequence; ++p)
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const auto angle = static_cast<float>(p + 1) * 0.7f + static_cast<float>(i);
      table[static_cast<std::size_t>(p * width + i)] = std::cos(angle);
      table[static_cast<std::size_t>(p * width + width / 2 + i)] = std::sin(angle);
    }
  return table;
}
// Its values are a control of the check.
ValueId rotations(Graph& graph, std::int64_t sequence, std::int64_t width) {
  return graph.add_variable({"rotary", {{sequence, width}, DType::f32}, VariableRole::control, {}});
}

TEST(RmsNorm, GradientMatchesFiniteDifference) {
  for (const Shape& shape : {Shape{4, 5}, Shape{1, 7}, Shape{6, 1}})
    expect_gradient_matches(shape, [&](Graph& graph, ValueId x) {
      return node(graph, Op::rms_norm, LayerNormAttributes{0.1}, {x, parameter(graph, "scale", {shape[1]})});
    });
}

TEST(RmsNorm, GradientOfASumMatchesFiniteDifference) {
  expect_gradient_matches({5, 16}, [](Graph& graph, ValueId x) {
    const ValueId sum = node(graph, Op::add, {}, {x, parameter(graph, "other", {5, 16})});
    const ValueId y = node(graph, Op::rms_norm, LayerNormAttributes{0.1}, {sum, parameter(graph, "scale", {16})});
    return node(graph, Op::add, {}, {y, sum});
  });
}

// All columns, and some that stay; one position.
TEST(Rotary, GradientMatchesFiniteDifference) {
  for (std::int64_t sequence : {1, 3})
    for (std::int64_t columns : {12, 13})
      for (bool inverse : {false, true})
        expect_gradient_matches({2 * sequence, columns},
                                [=](Graph& graph, ValueId x) {
                                  return node(graph, Op::rotary, RotaryAttributes{.heads = 2, .inverse = inverse},
                                              {x, rotations(graph, sequence, 6)});
                                },
                                {.controls = {{"rotary", angles(sequence, 6)}}});
}

TEST(Swiglu, GradientMatchesFiniteDifference) {
  for (const Shape& shape : {Shape{7, 5}, Shape{1, 1}})
    expect_gradient_matches(shape, [&](Graph& graph, ValueId gate) {
      return node(graph, Op::swiglu, {}, {gate, parameter(graph, "up", shape)});
    });
}

// The CPU's graph has one product of gate and up.
TEST(Swiglu, GradientOfALayerMatchesFiniteDifference) {
  expect_gradient_matches({6, 16}, [](Graph& graph, ValueId x) {
    const auto linear = [&](const char* name) {
      return node(graph, Op::matmul, MatmulAttributes{.transpose_b = true}, {x, parameter(graph, name, {32, 16})});
    };
    const ValueId y = node(graph, Op::swiglu, {}, {linear("gate"), linear("up")});
    return node(graph, Op::matmul, MatmulAttributes{.transpose_b = true}, {y, parameter(graph, "down", {16, 32})});
  });
}

struct Kind {
  std::int64_t heads, kv_heads, sequence;
  double dropout;
  bool causal;
  AttentionAttributes attributes() const {
    AttentionAttributes attributes;
    attributes.heads = heads;
    attributes.sequence = sequence;
    attributes.dropout = dropout;
    attributes.causal = causal;
    attributes.kv_heads = kv_heads;
    return attributes;
  }
};
void PrintTo(const Kind& k, std::ostream* out) {
  *out << k.heads << "/" << k.kv_heads << " heads, " << k.sequence << " positions" << (k.causal ? ", causal" : "")
       << (k.dropout > 0 ? ", dropout" : "");
}
class GroupedAttentionGradient : public testing::TestWithParam<Kind> {};

TEST_P(GroupedAttentionGradient, MatchesFiniteDifference) {
  const Kind kind = GetParam();
  expect_gradient_matches({2 * kind.sequence, kind.heads * 2}, [=](Graph& graph, ValueId q) {
    const Shape keys{2 * kind.sequence, kind.kv_heads * 2};
    return node(graph, Op::attention, kind.attributes(),
                {q, parameter(graph, "k", keys), parameter(graph, "v", keys), step(graph)});
  });
}

// Linear layers of one input, rotated queries and keys, attention: on the CPU one product and one rotation.
TEST_P(GroupedAttentionGradient, MatchesFiniteDifferenceOfALayer) {
  const Kind kind = GetParam();
  constexpr std::int64_t kWidth = 8;
  const auto layer = [=](Graph& graph, ValueId x) {
    const ValueId table = rotations(graph, kind.sequence, kWidth);
    const auto linear = [&](const char* name, std::int64_t heads) {
      const ValueId weight = parameter(graph, name, {heads * kWidth, 16});
      return node(graph, Op::matmul, MatmulAttributes{.transpose_b = true}, {x, weight});
    };
    const auto rotated = [&](ValueId of, std::int64_t heads) {
      return node(graph, Op::rotary, RotaryAttributes{.heads = heads}, {of, table});
    };
    const ValueId q = rotated(linear("q", kind.heads), kind.heads), k = rotated(linear("k", kind.kv_heads), kind.kv_heads);
    return node(graph, Op::attention, kind.attributes(), {q, k, linear("v", kind.kv_heads), step(graph)});
  };
  expect_gradient_matches({2 * kind.sequence, 16}, layer, {.controls = {{"rotary", angles(kind.sequence, kWidth)}}});
}
INSTANTIATE_TEST_SUITE_P(Kinds, GroupedAttentionGradient,
                         testing::Values(Kind{4, 2, 3, 0, false}, Kind{4, 2, 5, 0, true}, Kind{6, 2, 4, 0.3, true},
                                         Kind{3, 1, 1, 0, true}, Kind{2, 2, 3, 0, true}));

}  // namespace
}  // namespace epochbench
