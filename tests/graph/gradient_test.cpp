// Every op's gradient against finite differences.
#include <gtest/gtest.h>

#include "support/gradient_check.h"

namespace epochbench {
namespace {

using test::expect_gradient_matches;
using test::node;
using test::parameter;

struct Transposes {
  bool a, b;
};
void PrintTo(const Transposes& t, std::ostream* out) { *out << "a " << t.a << ", b " << t.b; }
class MatmulGradient : public testing::TestWithParam<Transposes> {};

TEST_P(MatmulGradient, MatchesFiniteDifference) {
  const auto [a, b] = GetParam();
  expect_gradient_matches(a ? Shape{5, 3} : Shape{3, 5}, [a = a, b = b](Graph& graph, ValueId x) {
    const ValueId w = parameter(graph, "w", b ? Shape{4, 5} : Shape{5, 4});
    return node(graph, Op::matmul, MatmulAttributes{a, b}, {x, w});
  });
}
TEST_P(MatmulGradient, MatchesWithTheParameterOnTheLeft) {
  const auto [a, b] = GetParam();
  expect_gradient_matches(b ? Shape{4, 5} : Shape{5, 4}, [a = a, b = b](Graph& graph, ValueId x) {
    const ValueId w = parameter(graph, "w", a ? Shape{5, 3} : Shape{3, 5});
    return node(graph, Op::matmul, MatmulAttributes{a, b}, {w, x});
  });
}
INSTANTIATE_TEST_SUITE_P(Transposes, MatmulGradient,
                         testing::Values(Transposes{false, false}, Transposes{false, true}, Transposes{true, false},
                                         Transposes{true, true}));

TEST(BiasAdd, GradientMatchesFiniteDifference) {
  expect_gradient_matches({3, 2, 5}, [](Graph& graph, ValueId x) {
    return node(graph, Op::bias_add, {}, {x, parameter(graph, "bias", {5})});
  });
}

TEST(Relu, GradientMatchesFiniteDifference) {
  expect_gradient_matches({7, 3}, [](Graph& graph, ValueId x) { return node(graph, Op::relu, {}, {x}); }, {.spacing = 0.1});
}

TEST(Add, GradientMatchesFiniteDifferenceAlsoWhereAValueIsReadTwice) {
  expect_gradient_matches({4, 3}, [](Graph& graph, ValueId x) {
    const ValueId sum = node(graph, Op::add, {}, {x, parameter(graph, "other", {4, 3})});
    return node(graph, Op::add, {}, {sum, x});
  });
}

TEST(Reshape, GradientMatchesFiniteDifference) {
  expect_gradient_matches({2, 3, 4}, [](Graph& graph, ValueId x) {
    const ValueId flat = node(graph, Op::reshape, ReshapeAttributes{{6, 4}}, {x});
    return node(graph, Op::bias_add, {}, {flat, parameter(graph, "bias", {4})});
  });
}

TEST(Linear, GradientMatchesFiniteDifference) {
  for (bool relu : {false, true})
    expect_gradient_matches(
        {3, 5},
        [relu](Graph& graph, ValueId x) {
          const ValueId product = node(graph, Op::matmul, MatmulAttributes{false, true}, {x, parameter(graph, "w", {4, 5})});
          const ValueId y = node(graph, Op::bias_add, {}, {product, parameter(graph, "bias", {4})});
          return relu ? node(graph, Op::relu, {}, {y}) : y;
        },
        {.step = relu ? 1e-3 : 1e-2, .tolerance = 5e-3});
}

struct Convolution {
  std::int64_t height, width, channels, out_channels, kernel, stride, padding;
};
void PrintTo(const Convolution& c, std::ostream* out) {
  *out << c.height << "x" << c.width << "x" << c.channels << " to " << c.out_channels << ", kernel " << c.kernel << " stride "
       << c.stride << " padding " << c.padding;
}
class Conv2dGradient : public testing::TestWithParam<Convolution> {};

TEST_P(Conv2dGradient, MatchesFiniteDifference) {
  const Convolution c = GetParam();
  for (bool bias : {false, true})
    expect_gradient_matches({2, c.height, c.width, c.channels}, [c, bias](Graph& graph, ValueId x) {
      const ValueId weight = parameter(graph, "weight", {c.out_channels, c.kernel, c.kernel, c.channels});
      const ValueId y = node(graph, Op::conv2d, Conv2dAttributes{.stride = c.stride, .padding = c.padding}, {x, weight});
      return bias ? node(graph, Op::bias_add, {}, {y, parameter(graph, "bias", {c.out_channels})}) : y;
    });
}
INSTANTIATE_TEST_SUITE_P(Shapes, Conv2dGradient,
                         testing::Values(Convolution{4, 5, 2, 3, 3, 1, 1}, Convolution{5, 4, 3, 2, 3, 2, 1},
                                         Convolution{4, 4, 2, 3, 1, 2, 0}, Convolution{6, 5, 1, 2, 5, 1, 2},
                                         Convolution{7, 7, 1, 2, 3, 3, 0}, Convolution{1, 1, 2, 2, 3, 1, 1},
                                         Convolution{1, 1, 1, 1, 1, 1, 0}));

ValueId batch_norm(Graph& graph, ValueId x, const std::string& name) {
  const Shape channels{graph.desc(x).shape.back()};
  const auto statistic = [&](const char* what) {
    return graph.add_variable({name + what, {channels, DType::f32}, VariableRole::statistic, {}});
  };
  return graph.add_node(Op::batch_norm, BatchNormAttributes{},
                        {x, parameter(graph, name + ".scale", channels), parameter(graph, name + ".bias", channels),
                         statistic(".mean"), statistic(".variance")},
                        name)[0];
}

TEST(BatchNorm, GradientMatchesFiniteDifference) {
  expect_gradient_matches({2, 3, 3, 3}, [](Graph& graph, ValueId x) { return batch_norm(graph, x, "bn"); });
}

TEST(BatchNorm, GradientWithReluMatchesFiniteDifference) {
  expect_gradient_matches({2, 3, 3, 2},
                          [](Graph& graph, ValueId x) { return node(graph, Op::relu, {}, {batch_norm(graph, x, "bn")}); },
                          {.step = 1e-3, .tolerance = 1e-2});
}

TEST(BatchNorm, GradientWithShortcutAndReluMatchesFiniteDifference) {
  expect_gradient_matches(
      {2, 2, 3, 3},
      [](Graph& graph, ValueId x) {
        const ValueId sum = node(graph, Op::add, {}, {batch_norm(graph, x, "bn"), batch_norm(graph, x, "shortcut")});
        return node(graph, Op::relu, {}, {sum});
      },
      {.step = 1e-3, .tolerance = 1e-2});
}

TEST(BatchNorm, GradientWithRelu6MatchesFiniteDifference) {
  expect_gradient_matches({2, 3, 3, 16},
                          [](Graph& graph, ValueId x) { return node(graph, Op::relu6, {}, {batch_norm(graph, x, "bn")}); },
                          {.step = 1e-3, .tolerance = 1e-2});
}

// Values around both kinks.
TEST(Relu6, GradientMatchesFiniteDifference) {
  expect_gradient_matches({9, 9}, [](Graph& graph, ValueId x) { return node(graph, Op::relu6, {}, {x}); }, {.spacing = 0.21});
}

TEST(Sigmoid, GradientMatchesFiniteDifference) {
  expect_gradient_matches({5, 7}, [](Graph& graph, ValueId x) { return node(graph, Op::sigmoid, {}, {x}); });
}

TEST(Silu, GradientMatchesFiniteDifference) {
  expect_gradient_matches({7, 5}, [](Graph& graph, ValueId x) { return node(graph, Op::silu, {}, {x}); }, {.spacing = 0.2});
}

class DepthwiseConv2dGradient : public testing::TestWithParam<Convolution> {};

TEST_P(DepthwiseConv2dGradient, MatchesFiniteDifference) {
  const Convolution c = GetParam();
  expect_gradient_matches({2, c.height, c.width, c.channels}, [c](Graph& graph, ValueId x) {
    const ValueId weight = parameter(graph, "weight", {c.kernel, c.kernel, c.channels});
    return node(graph, Op::depthwise_conv2d, DepthwiseConv2dAttributes{.stride = c.stride, .padding = c.padding}, {x, weight});
  });
}
INSTANTIATE_TEST_SUITE_P(Shapes, DepthwiseConv2dGradient,
                         testing::Values(Convolution{4, 5, 3, 3, 3, 1, 1}, Convolution{5, 4, 2, 2, 3, 2, 1},
                                         Convolution{6, 5, 2, 2, 5, 1, 2}, Convolution{7, 8, 1, 1, 5, 2, 2},
                                         Convolution{5, 5, 2, 2, 7, 1, 3}, Convolution{7, 7, 2, 2, 3, 3, 0},
                                         Convolution{1, 1, 2, 2, 3, 1, 1}, Convolution{1, 1, 1, 1, 1, 1, 0}));

// More padding at the end, as TensorFlow pads an even size with stride 2.
TEST(DepthwiseConv2d, GradientMatchesFiniteDifferenceWithMorePaddingAtTheEnd) {
  for (std::int64_t kernel : {3, 5, 7})
    expect_gradient_matches({2, 8, 6, 2}, [=](Graph& graph, ValueId x) {
      DepthwiseConv2dAttributes attributes{.stride = 2, .padding = (kernel - 2) / 2};
      attributes.extra = 1;
      return node(graph, Op::depthwise_conv2d, attributes, {x, parameter(graph, "weight", {kernel, kernel, 2})});
    });
}

TEST(ScaleChannels, GradientMatchesFiniteDifference) {
  expect_gradient_matches({2, 3, 2, 5}, [](Graph& graph, ValueId x) {
    return node(graph, Op::scale_channels, {}, {x, parameter(graph, "scale", {2, 5})});
  });
}

// As in squeeze-and-excitation, the scale follows from x.
TEST(ScaleChannels, GradientMatchesFiniteDifferenceWhereTheScaleFollowsFromTheImage) {
  expect_gradient_matches({2, 3, 2, 4}, [](Graph& graph, ValueId x) {
    const ValueId mean = node(graph, Op::global_average_pool, {}, {x});
    return node(graph, Op::scale_channels, {}, {x, node(graph, Op::sigmoid, {}, {mean})});
  });
}

// After silu, as in EfficientNets.
TEST(SqueezeExcite, GradientMatchesFiniteDifference) {
  expect_gradient_matches({2, 3, 3, 17}, [](Graph& graph, ValueId x) {
    const ValueId y = node(graph, Op::silu, {}, {x}), mean = node(graph, Op::global_average_pool, {}, {y});
    const ValueId product =
        node(graph, Op::matmul, MatmulAttributes{.transpose_b = true}, {mean, parameter(graph, "weight", {17, 17})});
    return node(graph, Op::scale_channels, {}, {y, node(graph, Op::sigmoid, {}, {product})});
  });
}

TEST(StochasticDepth, GradientMatchesFiniteDifference) {
  expect_gradient_matches({5, 2, 2, 3}, [](Graph& graph, ValueId x) {
    const ValueId step = graph.add_variable({"step", {{1}, DType::i32}, VariableRole::control, {}});
    const ValueId y = node(graph, Op::stochastic_depth, DropoutAttributes{0.4}, {x, step});
    return node(graph, Op::bias_add, {}, {y, parameter(graph, "bias", {3})});
  });
}

struct Pool {
  std::int64_t height, width, window, stride, padding, extra = 0;
  bool zeros = false;
};
void PrintTo(const Pool& p, std::ostream* out) {
  *out << p.height << "x" << p.width << ", window " << p.window << " stride " << p.stride << " padding " << p.padding << " and "
       << p.extra << (p.zeros ? ", zeros" : "");
}
PoolAttributes attributes_of(const Pool& p) {
  return {.window = p.window, .stride = p.stride, .padding = p.padding, .extra = p.extra, .zeros = p.zeros};
}
class MaxPoolGradient : public testing::TestWithParam<Pool> {};

TEST_P(MaxPoolGradient, MatchesFiniteDifference) {
  const Pool p = GetParam();
  expect_gradient_matches({2, p.height, p.width, 3},
                          [p](Graph& graph, ValueId x) { return node(graph, Op::max_pool, attributes_of(p), {x}); },
                          {.step = 1e-3, .spacing = 1e-2});
}
INSTANTIATE_TEST_SUITE_P(Shapes, MaxPoolGradient,
                         testing::Values(Pool{4, 6, 2, 2, 0}, Pool{5, 5, 2, 2, 0}, Pool{6, 5, 3, 2, 1}, Pool{4, 4, 3, 1, 1},
                                         Pool{1, 1, 1, 1, 0}, Pool{6, 8, 3, 2, 0, 1}));

class AveragePoolGradient : public testing::TestWithParam<Pool> {};

TEST_P(AveragePoolGradient, MatchesFiniteDifference) {
  const Pool p = GetParam();
  expect_gradient_matches({2, p.height, p.width, 3},
                          [p](Graph& graph, ValueId x) { return node(graph, Op::average_pool, attributes_of(p), {x}); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, AveragePoolGradient,
                         testing::Values(Pool{1, 1, 1, 1, 0}, Pool{5, 6, 3, 1, 1}, Pool{5, 6, 3, 1, 1, 0, true},
                                         Pool{6, 4, 3, 2, 0, 1, true}, Pool{5, 7, 3, 2, 1, 0, true}, Pool{5, 7, 3, 2, 1},
                                         Pool{5, 6, 1, 2, -1, 2, true}, Pool{7, 5, 2, 3, 0}, Pool{4, 4, 3, 1, 2, 0, true}));

TEST(Concatenate, GradientMatchesFiniteDifference) {
  expect_gradient_matches({2, 2, 3, 3}, [](Graph& graph, ValueId x) {
    return node(graph, Op::concatenate, {},
                {parameter(graph, "one", {2, 2, 3, 1}), x, parameter(graph, "other", {2, 2, 3, 4}), x});
  });
}

TEST(GlobalAveragePool, GradientMatchesFiniteDifference) {
  expect_gradient_matches({3, 2, 5, 4}, [](Graph& graph, ValueId x) { return node(graph, Op::global_average_pool, {}, {x}); });
}

ValueId control(Graph& graph, const std::string& name, Shape shape) {
  return graph.add_variable({name, {std::move(shape), DType::i32}, VariableRole::control, {}});
}

TEST(LayerNorm, GradientMatchesFiniteDifference) {
  expect_gradient_matches({4, 5},
                          [](Graph& graph, ValueId x) {
                            return node(graph, Op::layer_norm, LayerNormAttributes{},
                                        {x, parameter(graph, "scale", {5}), parameter(graph, "bias", {5})});
                          },
                          {.step = 2e-3, .tolerance = 1e-2});
}

TEST(LayerNorm, GradientMatchesFiniteDifferenceWithLargeEpsilon) {
  expect_gradient_matches({3, 4}, [](Graph& graph, ValueId x) {
    return node(graph, Op::layer_norm, LayerNormAttributes{.epsilon = 0.5},
                {x, parameter(graph, "scale", {4}), parameter(graph, "bias", {4})});
  });
}

TEST(Gelu, GradientMatchesFiniteDifference) {
  expect_gradient_matches({7, 5}, [](Graph& graph, ValueId x) { return node(graph, Op::gelu, {}, {x}); }, {.spacing = 0.2});
}

TEST(Gelu, GradientOfTheTanhFormMatchesFiniteDifference) {
  const GeluAttributes tanh{.tanh = true};
  expect_gradient_matches({7, 5}, [=](Graph& graph, ValueId x) { return node(graph, Op::gelu, tanh, {x}); }, {.spacing = 0.2});
  // Next to a product on either side, which a backend may compute with it.
  expect_gradient_matches({6, 8}, [=](Graph& graph, ValueId x) {
    const auto linear = [&](ValueId input, const std::string& name) {
      const ValueId product =
          node(graph, Op::matmul, MatmulAttributes{.transpose_b = true}, {input, parameter(graph, name + ".weight", {8, 8})});
      return node(graph, Op::bias_add, {}, {product, parameter(graph, name + ".bias", {8})});
    };
    return linear(node(graph, Op::gelu, tanh, {linear(x, "first")}), "second");
  });
}

TEST(Gelu, GradientMatchesFiniteDifferenceWhereItsInputIsReadTwice) {
  expect_gradient_matches({3, 4}, [](Graph& graph, ValueId x) {
    return node(graph, Op::add, {}, {node(graph, Op::gelu, {}, {x}), x});
  });
}

// Two nodes with masks of their own.
TEST(Dropout, GradientMatchesFiniteDifference) {
  expect_gradient_matches({5, 7}, [](Graph& graph, ValueId x) {
    const ValueId step = control(graph, "step", {1});
    const ValueId once = node(graph, Op::dropout, DropoutAttributes{0.4}, {x, step});
    return node(graph, Op::dropout, DropoutAttributes{0.1},
                {node(graph, Op::bias_add, {}, {once, parameter(graph, "bias", {7})}), step});
  });
}

TEST(Embedding, GradientMatchesFiniteDifferenceWithIdsThatRepeatAndSomeThatAreNotMet) {
  expect_gradient_matches({5, 3},
                          [](Graph& graph, ValueId table) {
                            return node(graph, Op::embedding, {}, {table, control(graph, "ids", {2, 3})});
                          },
                          {.controls = {{"ids", {4, 0, 4, 2, 4, 0}}}});
}

TEST(Embedding, GradientMatchesFiniteDifferenceWhereTheDecoderIsTied) {
  expect_gradient_matches({4, 3},
                          [](Graph& graph, ValueId table) {
                            const ValueId x = node(graph, Op::embedding, {}, {table, control(graph, "ids", {5})});
                            return node(graph, Op::matmul, MatmulAttributes{false, true}, {x, table});
                          },
                          {.controls = {{"ids", {3, 1, 3, 3, 0}}}});
}

TEST(AddRows, GradientMatchesFiniteDifference) {
  for (std::int64_t period : {1, 3})
    expect_gradient_matches({6, 4}, [period](Graph& graph, ValueId x) {
      return node(graph, Op::add_rows, AddRowsAttributes{.period = period}, {x, parameter(graph, "table", {5, 4})});
    });
}

TEST(GatherRows, GradientMatchesFiniteDifference) {
  expect_gradient_matches(
      {2 * 4, 3},
      [](Graph& graph, ValueId x) {
        return node(graph, Op::gather_rows, GatherRowsAttributes{.sequence = 4}, {x, control(graph, "positions", {2, 2})});
      },
      {.controls = {{"positions", {3, 0, 1, 2}}}});
}

TEST(GatherRowsGrad, GradientMatchesFiniteDifference) {
  expect_gradient_matches(
      {2 * 2, 3},
      [](Graph& graph, ValueId x) {
        return node(graph, Op::gather_rows_grad, GatherRowsAttributes{.sequence = 4}, {x, control(graph, "positions", {2, 2})});
      },
      {.controls = {{"positions", {3, 0, 1, 2}}}});
}

class LstmGradient : public testing::TestWithParam<std::int64_t> {};  // by sequence

TEST_P(LstmGradient, MatchesFiniteDifference) {
  expect_gradient_matches({3 * GetParam(), 4 * 5}, [](Graph& graph, ValueId x) {
    return graph.add_node(Op::lstm, LstmAttributes{GetParam()}, {x, parameter(graph, "w", {4 * 5, 5})}, "lstm")[2];
  });
}
// Inputs by a linear layer with two biases, which share a gradient, and the layer after it.
TEST_P(LstmGradient, MatchesFiniteDifferenceOfLayers) {
  const auto layer = [](Graph& graph, ValueId x, const std::string& name) {
    const ValueId bias = node(graph, Op::add, {}, {parameter(graph, name + "a", {12}), parameter(graph, name + "b", {12})});
    const ValueId product =
        node(graph, Op::matmul, MatmulAttributes{.transpose_b = true}, {x, parameter(graph, name + "w", {12, 3})});
    const ValueId inputs = node(graph, Op::bias_add, {}, {product, bias});
    const ValueId recurrent = parameter(graph, name + "r", {12, 3});
    return graph.add_node(Op::lstm, LstmAttributes{GetParam()}, {inputs, recurrent}, name)[2];
  };
  expect_gradient_matches({2 * GetParam(), 3},
                          [&](Graph& graph, ValueId x) { return layer(graph, layer(graph, x, "first"), "second"); });
}
// Only the last state of each sequence is read.
TEST_P(LstmGradient, MatchesFiniteDifferenceOfTheLastState) {
  const auto last = static_cast<float>(GetParam() - 1);
  expect_gradient_matches(
      {2 * GetParam(), 4 * 3},
      [](Graph& graph, ValueId x) {
        const auto h = graph.add_node(Op::lstm, LstmAttributes{GetParam()}, {x, parameter(graph, "w", {4 * 3, 3})}, "lstm")[2];
        return node(graph, Op::gather_rows, GatherRowsAttributes{GetParam()}, {h, control(graph, "positions", {2, 1})});
      },
      {.controls = {{"positions", {last, last}}}});
}
INSTANTIATE_TEST_SUITE_P(Sequence, LstmGradient, testing::Values(1, 2, 3));

struct AttentionKind {
  double dropout;
  bool causal;
};
class AttentionGradient : public testing::TestWithParam<AttentionKind> {
 protected:
  static AttentionAttributes attributes(std::int64_t heads, std::int64_t sequence) {
    return {.heads = heads, .sequence = sequence, .dropout = GetParam().dropout, .causal = GetParam().causal};
  }
};

TEST_P(AttentionGradient, MatchesFiniteDifference) {
  expect_gradient_matches({2 * 3, 2 * 2}, [attributes = attributes(2, 3)](Graph& graph, ValueId q) {
    const Shape shape = graph.desc(q).shape;
    return node(graph, Op::attention, attributes,
                {q, parameter(graph, "k", shape), parameter(graph, "v", shape), control(graph, "step", {1})});
  });
}
TEST_P(AttentionGradient, MatchesFiniteDifferenceOnOneValue) {
  expect_gradient_matches({5, 3}, [attributes = attributes(1, 5)](Graph& graph, ValueId x) {
    return node(graph, Op::attention, attributes, {x, x, x, control(graph, "step", {1})});
  });
}
// Linear layers of one input for query, key and value, then attention, with or without a shortcut.
ValueId attention_layer(Graph& graph, ValueId x, const AttentionAttributes& attributes, bool shortcut) {
  std::vector<ValueId> inputs;
  for (const std::string part : {"q", "k", "v"}) {
    const ValueId weight = parameter(graph, "w" + part, {16, 16}), bias = parameter(graph, "b" + part, {16});
    const ValueId product = node(graph, Op::matmul, MatmulAttributes{.transpose_b = true}, {x, weight});
    inputs.push_back(node(graph, Op::bias_add, {}, {product, bias}));
  }
  inputs.push_back(control(graph, "step", {1}));
  const ValueId y = node(graph, Op::attention, attributes, inputs);
  return shortcut ? node(graph, Op::add, {}, {y, x}) : y;
}

// The CPU's graph has one product of query, key and value. The bias of the keys moves all scores of a row alike, which softmax
// does not see. Of a few causal queries most have so few keys that the gradient of their bias is lost in what 16 bits round.
TEST_P(AttentionGradient, MatchesFiniteDifferenceOfALayer) {
  const std::int64_t sequence = GetParam().causal ? 6 : 3;
  for (bool shortcut : {false, true}) {
    const auto layer = [=, attributes = attributes(2, sequence)](Graph& graph, ValueId x) {
      return attention_layer(graph, x, attributes, shortcut);
    };
    expect_gradient_matches({2 * sequence, 16}, layer, {.vanishing = "bk"});
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, AttentionGradient,
                         testing::Values(AttentionKind{0, false}, AttentionKind{0.3, false}, AttentionKind{0, true},
                                         AttentionKind{0.3, true}),
                         [](const auto& info) {
                           return std::string(info.param.causal ? "Causal" : "Whole") +
                                  (info.param.dropout > 0 ? "WithDropout" : "");
                         });

TEST(GradientPass, NamesAParameterThatTheLossDoesNotReach) {
  EXPECT_THROW(expect_gradient_matches({2, 2},
                                       [](Graph& graph, ValueId x) {
                                         parameter(graph, "idle", {3});
                                         return x;
                                       }),
               GraphError);
}

}  // namespace
}  // namespace epochbench
