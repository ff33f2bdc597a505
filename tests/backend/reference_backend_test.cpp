// Where the reference backend rounds: operands and results of one node, bit for bit, and nothing in between.
#include <gtest/gtest.h>

#include "epochbench/backend.h"
#include "kernels/reference/kernels.h"
#include "src/graph/passes.h"
#include "support/compare.h"

namespace epochbench {
namespace {

using Floats = std::vector<float>;

Floats random_values(std::int64_t n, std::uint64_t seed) {
  Floats values(static_cast<std::size_t>(n));
  test::fill_uniform(values, seed);
  return values;
}

struct Rounding {
  std::string name;
  DType dtype;  // of the node's float operands and results
  bool tf32;
};
void PrintTo(const Rounding& rounding, std::ostream* out) { *out << rounding.name; }
const Rounding kTf32{"tf32", DType::f32, true}, kBf16{"bf16", DType::bf16, false}, kF16{"f16", DType::f16, false};

// As the graph stores a value of this type.
Floats stored(Floats values, DType dtype) {
  if (dtype == DType::f32) return values;
  const Element element = dtype == DType::bf16 ? Element::bf16 : Element::f16;
  std::vector<std::uint16_t> patterns(values.size());
  const auto n = static_cast<std::int64_t>(values.size());
  reference::cast(patterns.data(), values.data(), element, Element::f32, n);
  reference::cast(values.data(), patterns.data(), Element::f32, element, n);
  return values;
}

Floats as_factor(Floats values, const Rounding& rounding) {
  values = stored(std::move(values), rounding.dtype);
  if (rounding.tf32) reference::round_to_tf32(values.data(), values.data(), static_cast<std::int64_t>(values.size()));
  return values;
}

// One node on the reference backend. Its inputs are variables, cast before it; its outputs are read as the velocities that
// sgd makes of them without momentum.
class OneNode {
 public:
  explicit OneNode(const Rounding& rounding) : rounding_(rounding) {}

  ValueId factor(Shape shape, Floats values) {
    const ValueId variable = add(std::move(shape), DType::f32, std::move(values));
    if (rounding_.dtype == DType::f32) return variable;
    return graph_.add_node(Op::cast, CastAttributes{rounding_.dtype}, {variable}, "cast")[0];
  }
  ValueId add(Shape shape, DType dtype, Floats values) {
    const std::string name = "v" + std::to_string(graph_.variables.size());
    values_.emplace_back(name, std::move(values));
    return graph_.add_variable({name, {std::move(shape), dtype}, VariableRole::control, {}});
  }

  std::vector<Floats> run(Op op, Attributes attributes, std::vector<ValueId> inputs) {
    const std::vector<ValueId> outputs = graph_.add_node(op, std::move(attributes), std::move(inputs), "node");
    const ValueId rate = graph_.add_variable({"rate", {{1}, DType::f32}, VariableRole::control, {}});
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const TensorDesc desc{graph_.desc(outputs[i]).shape, DType::f32};
      const std::string suffix = std::to_string(i);
      const ValueId weight = graph_.add_variable({"weight" + suffix, desc, VariableRole::control, {}});
      const ValueId velocity = graph_.add_variable({"velocity" + suffix, desc, VariableRole::control, {}});
      graph_.add_node(Op::sgd, SgdAttributes{.momentum = 0}, {rate, weight, outputs[i], velocity}, "read");
    }
    Program program;
    program.variables = graph_.variables;
    const auto backend = make_reference_backend();
    auto plan = plan_memory(graph_, *backend);
    program.entries[0] = EntryGraph{graph_, std::move(plan)};
    const auto executable = backend->compile(program);
    for (const auto& [name, values] : values_) executable->write(name, values);
    executable->run(Entry::train);
    std::vector<Floats> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      results.emplace_back(static_cast<std::size_t>(graph_.desc(outputs[i]).elements()));
      executable->read("velocity" + std::to_string(i), results.back());
    }
    return results;
  }

 private:
  Rounding rounding_;
  Graph graph_;
  std::vector<std::pair<std::string, Floats>> values_;
};

class Reference : public testing::TestWithParam<Rounding> {};
INSTANTIATE_TEST_SUITE_P(Precisions, Reference, testing::Values(kTf32, kBf16, kF16));

TEST_P(Reference, RoundsTheFactorsOfAProductAndItsResult) {
  const Floats a = random_values(7 * 33, 1), b = random_values(5 * 33, 2);
  OneNode node(GetParam());
  const MatmulAttributes attributes{.transpose_b = true, .tf32 = GetParam().tf32};
  const auto results = node.run(Op::matmul, attributes, {node.factor({7, 33}, a), node.factor({5, 33}, b)});
  Floats expected(7 * 5);
  reference::gemm(expected.data(), as_factor(a, GetParam()).data(), as_factor(b, GetParam()).data(), {7, 5, 33, false, true},
                  {});
  EXPECT_EQ(results[0], stored(expected, GetParam().dtype));
}

TEST_P(Reference, RoundsTheFactorsOfAConvolutionsGradients) {
  const Conv2dShape s{2, 6, 5, 3, 6, 5, 4, 3, 3, 1, 1};
  const Floats dy = random_values(2 * 6 * 5 * 4, 1), x = random_values(2 * 6 * 5 * 3, 2), weight = random_values(4 * 9 * 3, 3);
  Conv2dAttributes attributes{.padding = 1, .height = 3, .width = 3, .tf32 = GetParam().tf32};
  OneNode for_weight(GetParam());
  const auto dweight = for_weight.run(Op::conv2d_grad_weight, attributes,
                                      {for_weight.factor({2, 6, 5, 4}, dy), for_weight.factor({2, 6, 5, 3}, x)});
  Floats expected(4 * 9 * 3);
  reference::conv2d_grad_weight(expected.data(), as_factor(dy, GetParam()).data(), as_factor(x, GetParam()).data(), s);
  EXPECT_EQ(dweight[0], stored(expected, GetParam().dtype));

  attributes.height = 6;
  attributes.width = 5;
  OneNode for_input(GetParam());
  const auto dx = for_input.run(Op::conv2d_grad_input, attributes,
                                {for_input.factor({2, 6, 5, 4}, dy), for_input.factor({4, 3, 3, 3}, weight)});
  expected.resize(2 * 6 * 5 * 3);
  reference::conv2d_grad_input(expected.data(), as_factor(dy, GetParam()).data(), as_factor(weight, GetParam()).data(), s);
  EXPECT_EQ(dx[0], stored(expected, GetParam().dtype));
}

// No product reads y and log_sum_exp, which are results of attention.
TEST_P(Reference, RoundsTheFactorsOfAttentionInBothDirections) {
  constexpr std::int64_t kBatch = 2, kSequence = 5, kHeads = 2, kWidth = 3, kElements = kBatch * kSequence * kHeads * kWidth;
  const AttentionShape s{kBatch, kSequence, kHeads, kWidth};
  const Shape matrix{kBatch * kSequence, kHeads * kWidth}, per_row{kBatch, kHeads, kSequence};
  const AttentionAttributes attributes{.heads = kHeads, .sequence = kSequence, .tf32 = GetParam().tf32};
  const std::int32_t step = 0;
  std::vector<Floats> given, factors;  // dy, q, k, v
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    given.push_back(random_values(kElements, seed));
    factors.push_back(as_factor(given.back(), GetParam()));
  }
  Floats y(kElements), log_sum_exp(kBatch * kHeads * kSequence);
  reference::attention(y.data(), log_sum_exp.data(), factors[1].data(), factors[2].data(), factors[3].data(), &step, s, {});
  OneNode forward(GetParam());
  const auto results = forward.run(Op::attention, attributes,
                                   {forward.factor(matrix, given[1]), forward.factor(matrix, given[2]),
                                    forward.factor(matrix, given[3]), forward.add({1}, DType::i32, {0})});
  EXPECT_EQ(results[0], stored(y, GetParam().dtype));
  EXPECT_EQ(results[1], log_sum_exp);

  y = stored(y, GetParam().dtype);
  std::vector<Floats> expected(3, Floats(kElements));
  reference::attention_grad(expected[0].data(), expected[1].data(), expected[2].data(), factors[0].data(), factors[1].data(),
                            factors[2].data(), factors[3].data(), y.data(), log_sum_exp.data(), &step, s, {});
  OneNode backward(GetParam());
  std::vector<ValueId> inputs;
  for (const Floats& values : given) inputs.push_back(backward.factor(matrix, values));
  inputs.push_back(backward.factor(matrix, y));
  inputs.push_back(backward.add(per_row, DType::f32, log_sum_exp));
  inputs.push_back(backward.add({1}, DType::i32, {0}));
  const auto gradients = backward.run(Op::attention_grad, attributes, inputs);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(gradients[i], stored(expected[i], GetParam().dtype)) << i;
}

// Only the weight is a factor: x is added to the product, and what the gradient reads are results.
TEST_P(Reference, RoundsTheWeightOfAnLstmInBothDirections) {
  constexpr std::int64_t kRows = 2 * 3, kUnits = 5, kSequence = 3;
  const LstmShape s{kRows / kSequence, kSequence, kUnits};
  const Shape state{kRows, kUnits}, all{kRows, 4 * kUnits}, square{4 * kUnits, kUnits};
  const LstmAttributes attributes{.sequence = kSequence, .tf32 = GetParam().tf32};
  const DType type = GetParam().dtype;
  const Floats x = random_values(kRows * 4 * kUnits, 1), weight = random_values(4 * kUnits * kUnits, 2),
               dh = random_values(kRows * kUnits, 3);
  std::vector<Floats> expected{Floats(x.size()), Floats(dh.size()), Floats(dh.size()), Floats(dh.size())};
  reference::lstm(expected[0].data(), expected[1].data(), expected[2].data(), expected[3].data(), stored(x, type).data(),
                  as_factor(weight, GetParam()).data(), s);
  OneNode forward(GetParam());
  const auto results = forward.run(Op::lstm, attributes, {forward.factor(all, x), forward.factor(square, weight)});
  EXPECT_EQ(results[1], expected[1]);
  for (std::size_t i : {0, 2, 3}) EXPECT_EQ(results[i], stored(expected[i], type)) << i;

  const Floats gates = stored(expected[0], type), cells = expected[1];
  Floats dx(x.size());
  reference::lstm_grad(dx.data(), stored(dh, type).data(), as_factor(weight, GetParam()).data(), gates.data(), cells.data(), s);
  OneNode backward(GetParam());
  const auto gradients = backward.run(Op::lstm_grad, attributes,
                                      {backward.factor(state, dh), backward.factor(square, weight), backward.factor(all, gates),
                                       backward.add(state, DType::f32, cells)});
  EXPECT_EQ(gradients[0], stored(dx, type));
}

TEST_P(Reference, LeavesStatisticsInFloat) {
  const Floats x = random_values(6 * 7, 1), scale = random_values(7, 2), bias = random_values(7, 3);
  OneNode node(GetParam());
  const auto results = node.run(Op::layer_norm, LayerNormAttributes{},
                                {node.factor({6, 7}, x), node.add({7}, DType::f32, scale), node.add({7}, DType::f32, bias)});
  Floats y(6 * 7), mean(6), inv_std(6);
  reference::layer_norm(y.data(), mean.data(), inv_std.data(), stored(x, GetParam().dtype).data(), scale.data(), bias.data(), 6,
                        7, 1e-12);
  EXPECT_EQ(results[0], stored(y, GetParam().dtype));
  EXPECT_EQ(results[1], mean);
  EXPECT_EQ(results[2], inv_std);
}

// A tied decoder's gradient, which embedding_grad adds to, may be 16-bit; the table's is float.
TEST_P(Reference, AddsTheEmbeddingsGradientToOneOfAnyType) {
  const Floats dy = random_values(4 * 3, 1), base = random_values(5 * 3, 2);
  const std::int32_t ids[] = {4, 0, 4, 2};
  OneNode node(GetParam());
  const auto results = node.run(Op::embedding_grad, ReshapeAttributes{{5, 3}},
                                {node.factor({4, 3}, dy), node.add({4}, DType::i32, {4, 0, 4, 2}), node.factor({5, 3}, base)});
  Floats expected(5 * 3);
  reference::embedding_grad(expected.data(), stored(dy, GetParam().dtype).data(), ids, stored(base, GetParam().dtype).data(), 4,
                            5, 3);
  EXPECT_EQ(results[0], expected);
}

}  // namespace
}  // namespace epochbench
