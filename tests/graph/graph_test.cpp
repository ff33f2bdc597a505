// Building graphs: shape inference, messages, FLOPs and bytes, fingerprints.
#include "epochbench/graph.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/print.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TensorDesc f32(Shape shape) { return {std::move(shape), DType::f32}; }

ValueId parameter(Graph& graph, const std::string& name, Shape shape) {
  return graph.add_variable({name, f32(std::move(shape)), VariableRole::parameter, {}});
}

std::string error_of(const std::function<void(Graph&)>& build) {
  Graph graph;
  try {
    build(graph);
  } catch (const GraphError& error) {
    return error.what();
  }
  return "";
}

TEST(Graph, InfersShapes) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 9, 7, 3}));
  const ValueId y = graph.add_node(Op::conv2d, Conv2dAttributes{.stride = 2, .padding = 1},
                                   {x, parameter(graph, "w", {5, 3, 3, 3})}, "conv")[0];
  EXPECT_EQ(graph.desc(y).shape, (Shape{2, 5, 4, 5}));
  const auto pooled = graph.add_node(Op::max_pool, PoolAttributes{.window = 3, .stride = 2, .padding = 1}, {y}, "pool");
  EXPECT_EQ(graph.desc(pooled[0]).shape, (Shape{2, 3, 2, 5}));
  EXPECT_EQ(graph.desc(pooled[1]).dtype, DType::u8);
  const ValueId flat = graph.add_node(Op::reshape, ReshapeAttributes{{2, 30}}, {pooled[0]}, "flat")[0];
  const ValueId logits =
      graph.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {flat, parameter(graph, "fc", {10, 30})}, "fc")[0];
  EXPECT_EQ(graph.desc(logits).shape, (Shape{2, 10}));
}

TEST(Graph, PoolingAndConcatenationRefuseWhatDoesNotFit) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{2, 5, 4, 3}, DType::f32}), y = graph.add_input("y", {{2, 5, 3, 3}, DType::f32});
  const auto message = [&](Op op, const Attributes& attributes, const std::vector<ValueId>& inputs) -> std::string {
    try {
      graph.add_node(op, attributes, inputs, "node");
    } catch (const GraphError& error) {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message(Op::average_pool, PoolAttributes{.window = 3, .padding = 2, .extra = 1}, {x}),
              HasSubstr("smaller than the window"));
  EXPECT_THAT(message(Op::average_pool, PoolAttributes{.window = 3, .extra = -1, .zeros = true}, {x}), HasSubstr("negative"));
  EXPECT_THAT(message(Op::average_pool, PoolAttributes{.window = 5, .zeros = true}, {x}), HasSubstr("larger than the padded"));
  EXPECT_THAT(message(Op::max_pool, PoolAttributes{.window = 1, .padding = -1, .extra = 2}, {x}), HasSubstr("padding"));
  EXPECT_THAT(message(Op::concatenate, {}, {x, y}), HasSubstr("differ in more than their channels"));
  EXPECT_THAT(message(Op::concatenate, {}, std::vector<ValueId>(9, x)), HasSubstr("1 to 8 parts"));
  EXPECT_THAT(message(Op::concatenate_grad, ConcatenateAttributes{{1, 1}}, {x}), HasSubstr("channels of all parts"));
  EXPECT_EQ(graph
                .desc(graph.add_node(Op::average_pool, PoolAttributes{.window = 1, .padding = -1, .extra = 2, .zeros = true},
                                     {x}, "p")[0])
                .shape,
            (Shape{2, 3, 2, 3}));
}

TEST(Graph, ErrorsNameTheOpTheNodeAndTheShapes) {
  EXPECT_THAT(
      error_of([](Graph& graph) {
        graph.add_node(Op::matmul, MatmulAttributes{}, {parameter(graph, "a", {2, 3}), parameter(graph, "b", {4, 5})}, "fc7");
      }),
      AllOf(HasSubstr("matmul"), HasSubstr("fc7"), HasSubstr("f32[2, 3]"), HasSubstr("f32[4, 5]")));
  EXPECT_THAT(error_of([](Graph& graph) {
                const ValueId x = graph.add_input("x", f32({1, 2, 2, 3}));
                graph.add_node(Op::conv2d, Conv2dAttributes{}, {x, parameter(graph, "w", {4, 3, 3, 3})}, "conv");
              }),
              HasSubstr("kernel is larger"));
  EXPECT_THAT(error_of([](Graph& graph) {
                const ValueId x = graph.add_input("x", f32({4, 2}));
                graph.add_node(Op::reshape, ReshapeAttributes{{3, 3}}, {x}, "r");
              }),
              HasSubstr("elements"));
  EXPECT_THAT(error_of([](Graph& graph) {
                parameter(graph, "w", {2});
                parameter(graph, "w", {3});
              }),
              HasSubstr("variable w"));
  EXPECT_THAT(error_of([](Graph& graph) {
                const ValueId x = graph.add_input("step", {{1}, DType::i32});
                graph.add_node(Op::increment, {}, {x}, "step");
              }),
              HasSubstr("must be a variable"));
}

// A graph in which values of any type are at hand.
struct Typed {
  Graph graph;
  ValueId operator()(DType dtype, Shape shape) {
    return graph.add_input("v" + std::to_string(graph.inputs.size()), {std::move(shape), dtype});
  }
  ValueId variable(DType dtype, Shape shape) {
    return graph.add_variable(
        {"w" + std::to_string(graph.variables.size()), {std::move(shape), dtype}, VariableRole::parameter, {}});
  }
  // The types of the outputs that are new values; "-" where the node is refused.
  std::string types(Op op, Attributes attributes, std::vector<ValueId> inputs) {
    std::string text;
    try {
      for (ValueId id : graph.add_node(op, std::move(attributes), std::move(inputs), "node"))
        if (graph.value(id).kind == ValueKind::intermediate)
          text += (text.empty() ? "" : " ") + std::string(name(graph.desc(id).dtype));
    } catch (const GraphError&) {
      return "-";
    }
    return text;
  }
};

class Types : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Floats, Types, testing::Values(DType::f32, DType::bf16, DType::f16));

TEST_P(Types, FollowTheOperandsButForWhatIsAlwaysFloat) {
  const DType t = GetParam(), f = DType::f32, i = DType::i32;
  const std::string x = name(t);
  Typed v;
  const auto map = [&] { return v(t, {2, 4, 4, 3}); };  // an image
  const auto matrix = [&] { return v(t, {4, 6}); };
  const auto channels = [&](DType dtype) { return v(dtype, {3}); };
  EXPECT_EQ(v.types(Op::matmul, MatmulAttributes{.transpose_b = true}, {matrix(), matrix()}), x);
  EXPECT_EQ(v.types(Op::matmul_add, MatmulAttributes{.transpose_b = true}, {matrix(), matrix(), v(t, {4, 4})}), x);
  EXPECT_EQ(v.types(Op::bias_add, {}, {map(), channels(t)}), x);
  EXPECT_EQ(v.types(Op::relu, {}, {map()}), x);
  EXPECT_EQ(v.types(Op::add, {}, {map(), map()}), x);
  EXPECT_EQ(v.types(Op::reshape, ReshapeAttributes{{96}}, {map()}), x);
  EXPECT_EQ(v.types(Op::conv2d, Conv2dAttributes{.padding = 1}, {map(), v(t, {5, 3, 3, 3})}), x);
  const auto statistic = [&] { return v.variable(f, {3}); };
  EXPECT_EQ(v.types(Op::batch_norm, BatchNormAttributes{}, {map(), channels(f), channels(f), statistic(), statistic()}),
            x + " f32 f32");
  EXPECT_EQ(
      v.types(Op::batch_norm_inference, BatchNormAttributes{}, {map(), channels(f), channels(f), channels(f), channels(f)}), x);
  EXPECT_EQ(v.types(Op::max_pool, PoolAttributes{}, {map()}), x + " u8");
  EXPECT_EQ(v.types(Op::average_pool, PoolAttributes{}, {map()}), x);
  EXPECT_EQ(v.types(Op::global_average_pool, {}, {map()}), x);
  EXPECT_EQ(v.types(Op::concatenate, {}, {map(), map()}), x);
  EXPECT_EQ(v.types(Op::cross_entropy, CrossEntropyAttributes{}, {matrix(), v(i, {4})}), "f32 f32");
  EXPECT_EQ(v.types(Op::embedding, {}, {matrix(), v(i, {2, 5})}), x);
  EXPECT_EQ(v.types(Op::add_rows, AddRowsAttributes{.period = 2}, {matrix(), matrix()}), x);
  EXPECT_EQ(v.types(Op::layer_norm, LayerNormAttributes{}, {matrix(), v(f, {6}), v(f, {6})}), x + " f32 f32");
  EXPECT_EQ(v.types(Op::gelu, {}, {matrix()}), x);
  EXPECT_EQ(v.types(Op::add_layer_norm, AddLayerNormAttributes{}, {matrix(), matrix(), v(f, {6}), v(f, {6})}), x + " f32 f32");
  EXPECT_EQ(v.types(Op::add_layer_norm, AddLayerNormAttributes{.dropout = 0.5, .sum = true},
                    {matrix(), matrix(), v(f, {6}), v(f, {6}), v(i, {1})}),
            x + " f32 f32 " + x);
  EXPECT_EQ(v.types(Op::dropout, DropoutAttributes{0.5}, {matrix(), v(i, {1})}), x);
  const AttentionAttributes heads{.heads = 2, .sequence = 2};
  EXPECT_EQ(v.types(Op::attention, heads, {matrix(), matrix(), matrix(), v(i, {1})}), x + " f32");
  EXPECT_EQ(v.types(Op::joint_attention, heads, {v(t, {4, 18}), v(i, {1})}), x + " f32");
  EXPECT_EQ(v.types(Op::joint_attention, heads, {v(t, {4, 16}), v(i, {1})}), "-");
  const LstmAttributes of_two{.sequence = 2};
  EXPECT_EQ(v.types(Op::lstm, of_two, {v(t, {4, 12}), v(t, {12, 3})}), x + " f32 " + x + " " + x);
  EXPECT_EQ(v.types(Op::lstm, of_two, {v(t, {4, 8}), v(t, {12, 3})}), "-");
  EXPECT_EQ(v.types(Op::lstm, of_two, {v(t, {4, 12}), v(t, {12, 4})}), "-");
  EXPECT_EQ(v.types(Op::lstm, of_two, {v(t, {5, 12}), v(t, {12, 3})}), "-");
  EXPECT_EQ(v.types(Op::gather_rows, GatherRowsAttributes{2}, {matrix(), v(i, {2, 1})}), x);
  EXPECT_EQ(v.types(Op::count_correct, {}, {matrix(), v(i, {4})}), "f32");
  EXPECT_EQ(v.types(Op::cast, CastAttributes{DType::f16}, {matrix(), v(f, {2}), v(DType::bf16, {2})}), "f16 f16 f16");

  EXPECT_EQ(v.types(Op::bias_add_grad, {}, {map()}), x);
  EXPECT_EQ(v.types(Op::relu_grad, {}, {map(), map()}), x);
  const Conv2dAttributes image{.padding = 1, .height = 4, .width = 4}, kernel{.padding = 1, .height = 3, .width = 3};
  EXPECT_EQ(v.types(Op::conv2d_grad_input, image, {map(), v(t, {3, 3, 3, 3})}), x);
  EXPECT_EQ(v.types(Op::conv2d_grad_weight, kernel, {map(), map()}), x);
  EXPECT_EQ(v.types(Op::batch_norm_grad, {}, {map(), map(), channels(f), channels(f), channels(f)}), x + " f32 f32");
  EXPECT_EQ(v.types(Op::max_pool_grad, PoolAttributes{.height = 8, .width = 8}, {map(), v(DType::u8, {2, 4, 4, 3})}), x);
  EXPECT_EQ(v.types(Op::average_pool_grad, PoolAttributes{.height = 8, .width = 8}, {map()}), x);
  EXPECT_EQ(v.types(Op::concatenate_grad, ConcatenateAttributes{{1, 2}}, {map()}), x + " " + x);
  EXPECT_EQ(v.types(Op::global_average_pool_grad, PoolAttributes{.height = 8, .width = 8}, {matrix()}), x);
  for (bool scaled : {false, true}) {
    std::vector<ValueId> inputs{matrix(), v(i, {4}), v(f, {4})};
    if (scaled) inputs.push_back(v(f, {1}));
    EXPECT_EQ(v.types(Op::cross_entropy_grad, CrossEntropyAttributes{}, inputs), x);
  }
  EXPECT_EQ(v.types(Op::embedding_grad, ReshapeAttributes{{9, 6}}, {matrix(), v(i, {4})}), "f32");
  for (DType base : {f, DType::bf16, DType::f16})
    EXPECT_EQ(v.types(Op::embedding_grad, ReshapeAttributes{{9, 6}}, {matrix(), v(i, {4}), v(base, {9, 6})}), "f32");
  EXPECT_EQ(v.types(Op::add_rows_grad, AddRowsAttributes{.period = 2, .table_rows = 3}, {matrix()}), "f32");
  EXPECT_EQ(v.types(Op::layer_norm_grad, {}, {matrix(), matrix(), v(f, {6}), v(f, {4}), v(f, {4})}), x + " f32 f32");
  EXPECT_EQ(v.types(Op::add_layer_norm_grad, DropoutAttributes{0.5},
                    {matrix(), matrix(), v(f, {6}), v(f, {4}), v(f, {4}), v(i, {1})}),
            x + " f32 f32 " + x);
  EXPECT_EQ(v.types(Op::gelu_grad, {}, {matrix(), matrix()}), x);
  EXPECT_EQ(v.types(Op::attention_grad, heads, {matrix(), matrix(), matrix(), matrix(), matrix(), v(f, {2, 2, 2}), v(i, {1})}),
            x + " " + x + " " + x);
  EXPECT_EQ(v.types(Op::joint_attention_grad, heads, {matrix(), v(t, {4, 18}), matrix(), v(f, {2, 2, 2}), v(i, {1})}), x);
  EXPECT_EQ(v.types(Op::joint_attention_grad, heads, {matrix(), v(t, {4, 24}), matrix(), v(f, {2, 2, 2}), v(i, {1})}), "-");
  EXPECT_EQ(v.types(Op::lstm_grad, of_two, {v(t, {4, 3}), v(t, {12, 3}), v(t, {4, 12}), v(f, {4, 3})}), x);
  EXPECT_EQ(v.types(Op::lstm_grad, of_two, {v(t, {4, 3}), v(t, {12, 3}), v(t, {4, 8}), v(f, {4, 3})}), "-");
  EXPECT_EQ(v.types(Op::gather_rows_grad, GatherRowsAttributes{2}, {v(t, {2, 6}), v(i, {2, 1})}), x);
  EXPECT_EQ(v.types(Op::all_finite, {}, {matrix(), v(f, {2})}), "i32");
  const auto weight = [&] { return v.variable(f, {4, 6}); };
  EXPECT_EQ(v.types(Op::sgd, SgdAttributes{}, {v(f, {1}), weight(), matrix(), weight()}), "");
  EXPECT_EQ(v.types(Op::adamw, AdamwAttributes{.weight_decay = {0}, .loss_scaled = true},
                    {v(f, {1}), v(i, {1}), v(f, {1}), v(i, {1}), v(i, {1}), weight(), matrix(), weight(), weight()}),
            "");
  EXPECT_EQ(v.types(Op::clip_factor, ClipFactorAttributes{}, {matrix(), v(f, {2})}), "f32");
  EXPECT_EQ(v.types(Op::clip_factor, ClipFactorAttributes{.loss_scaled = true}, {v(f, {1}), matrix()}), "f32");
  EXPECT_EQ(v.types(Op::sgd, SgdAttributes{.clipped = true}, {v(f, {1}), v(f, {1}), weight(), matrix(), weight()}), "");
  EXPECT_EQ(v.types(Op::adamw, AdamwAttributes{.weight_decay = {0}, .clipped = true},
                    {v(f, {1}), v(i, {1}), v(f, {1}), weight(), matrix(), weight(), weight()}),
            "");
}

TEST(Types, OfOperandsThatDifferAreRefused) {
  const DType f = DType::f32, h = DType::f16, b = DType::bf16, i = DType::i32;
  Typed v;
  EXPECT_EQ(v.types(Op::matmul, MatmulAttributes{}, {v(h, {2, 2}), v(f, {2, 2})}), "-");
  EXPECT_EQ(v.types(Op::matmul, MatmulAttributes{}, {v(i, {2, 2}), v(i, {2, 2})}), "-");
  EXPECT_EQ(v.types(Op::matmul_add, MatmulAttributes{}, {v(h, {2, 2}), v(h, {2, 2}), v(f, {2, 2})}), "-");
  EXPECT_EQ(v.types(Op::bias_add, {}, {v(b, {2, 2}), v(f, {2})}), "-");
  EXPECT_EQ(v.types(Op::add, {}, {v(b, {2}), v(h, {2})}), "-");
  EXPECT_EQ(v.types(Op::conv2d, Conv2dAttributes{}, {v(h, {1, 2, 2, 1}), v(b, {1, 1, 1, 1})}), "-");
  EXPECT_EQ(
      v.types(Op::conv2d_grad_weight, Conv2dAttributes{.height = 1, .width = 1}, {v(h, {1, 2, 2, 1}), v(f, {1, 2, 2, 1})}),
      "-");
  EXPECT_EQ(
      v.types(Op::batch_norm_inference, BatchNormAttributes{}, {v(h, {4, 3}), v(h, {3}), v(f, {3}), v(f, {3}), v(f, {3})}),
      "-");
  EXPECT_EQ(v.types(Op::layer_norm, LayerNormAttributes{}, {v(h, {4, 3}), v(f, {3}), v(h, {3})}), "-");
  EXPECT_EQ(v.types(Op::add_layer_norm, AddLayerNormAttributes{}, {v(h, {4, 3}), v(b, {4, 3}), v(f, {3}), v(f, {3})}), "-");
  EXPECT_EQ(v.types(Op::relu_grad, {}, {v(h, {4}), v(f, {4})}), "-");
  EXPECT_EQ(v.types(Op::attention, AttentionAttributes{}, {v(h, {2, 2}), v(h, {2, 2}), v(b, {2, 2}), v(i, {1})}), "-");
  EXPECT_EQ(v.types(Op::add_rows, AddRowsAttributes{}, {v(h, {2, 2}), v(f, {2, 2})}), "-");
  EXPECT_EQ(v.types(Op::cast, CastAttributes{i}, {v(f, {2})}), "-");
  EXPECT_EQ(v.types(Op::cast, CastAttributes{h}, {v(i, {2})}), "-");
  EXPECT_EQ(v.types(Op::all_finite, {}, {v(i, {2})}), "-");
  EXPECT_EQ(v.types(Op::clip_factor, ClipFactorAttributes{}, {v(i, {2})}), "-");
  EXPECT_EQ(v.types(Op::clip_factor, ClipFactorAttributes{.largest_norm = 0}, {v(f, {2})}), "-");
  EXPECT_EQ(v.types(Op::clip_factor, ClipFactorAttributes{.loss_scaled = true}, {v(f, {1})}), "-");
  EXPECT_EQ(v.types(Op::cross_entropy_grad, CrossEntropyAttributes{}, {v(h, {4, 3}), v(i, {4}), v(f, {4}), v(h, {1})}), "-");
  EXPECT_EQ(v.types(Op::sgd, SgdAttributes{}, {v(f, {1}), v.variable(h, {2}), v(h, {2}), v.variable(h, {2})}), "-");
  EXPECT_EQ(
      v.types(Op::sgd, SgdAttributes{.loss_scaled = true}, {v(f, {1}), v.variable(f, {2}), v(f, {2}), v.variable(f, {2})}),
      "-");
  EXPECT_EQ(v.types(Op::update_loss_scale, LossScaleAttributes{},
                    {v(i, {1}), v.variable(f, {1}), v.variable(i, {1}), v.variable(f, {1})}),
            "-");
}

TEST(OptimizerLayout, SaysWhereEachInputLies) {
  const auto layout = [](Op op, Attributes attributes, std::size_t inputs) {
    return optimizer_layout({op, std::move(attributes), std::vector<ValueId>(inputs), {}, 0, "", {}});
  };
  const OptimizerLayout sgd = layout(Op::sgd, SgdAttributes{}, 1 + 2 * 3);
  EXPECT_EQ(sgd.first, 1);
  EXPECT_EQ(sgd.group, 3);
  EXPECT_EQ(sgd.parameters, 2);
  EXPECT_EQ(sgd.step, -1);
  EXPECT_EQ(sgd.loss_scale, -1);
  const OptimizerLayout scaled = layout(Op::sgd, SgdAttributes{.loss_scaled = true}, 3 + 2 * 3);
  EXPECT_EQ(scaled.first, 3);
  EXPECT_EQ(scaled.loss_scale, 1);
  EXPECT_EQ(scaled.finite, 2);
  EXPECT_EQ(scaled.skipped_steps, -1);
  const OptimizerLayout adamw = layout(Op::adamw, AdamwAttributes{.weight_decay = {}, .loss_scaled = true}, 5 + 3 * 4);
  EXPECT_EQ(adamw.first, 5);
  EXPECT_EQ(adamw.group, 4);
  EXPECT_EQ(adamw.parameters, 3);
  EXPECT_EQ(adamw.step, 1);
  EXPECT_EQ(adamw.skipped_steps, 4);
}

// Fingerprints and messages of what has no new attribute are those of before.
TEST(Attributes, NewOnesAreWrittenOnlyWhereTheyAreSet) {
  EXPECT_EQ(to_string(MatmulAttributes{}), "transpose_a=0 transpose_b=0");
  EXPECT_EQ(to_string(MatmulAttributes{.tf32 = true}), "transpose_a=0 transpose_b=0 tf32=1");
  EXPECT_EQ(to_string(Conv2dAttributes{}), "stride=1 padding=0 height=0 width=0");
  EXPECT_EQ(to_string(AttentionAttributes{}), "heads=1 sequence=1 dropout=0");
  EXPECT_EQ(to_string(AttentionAttributes{.causal = true}), "heads=1 sequence=1 dropout=0 causal=1");
  EXPECT_EQ(to_string(GeluAttributes{.tanh = true}), "tanh=1");
  EXPECT_EQ(to_string(ClipFactorAttributes{.largest_norm = 0.5}), "largest_norm=0.5");
  EXPECT_EQ(to_string(SgdAttributes{.momentum = 0.5, .clipped = true}), "momentum=0.5 weight_decay=0 clipped=1");
  EXPECT_EQ(to_string(SgdAttributes{.momentum = 0.5}), "momentum=0.5 weight_decay=0");
  EXPECT_EQ(to_string(SgdAttributes{.momentum = 0.5, .loss_scaled = true}), "momentum=0.5 weight_decay=0 loss_scaled=1");
  EXPECT_EQ(to_string(CastAttributes{DType::bf16}), "to=bf16");
}

TEST(Graph, CountsFlopsOfProductsAndConvolutionsOnly) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 8, 8, 3}));
  graph.add_node(Op::conv2d, Conv2dAttributes{.padding = 1}, {x, parameter(graph, "w", {4, 3, 3, 3})}, "conv");
  EXPECT_EQ(flops(graph, graph.nodes[0]), 2.0 * 2 * 8 * 8 * 4 * 27);
  EXPECT_EQ(bytes(graph, graph.nodes[0]), 4.0 * (2 * 8 * 8 * 3 + 4 * 27 + 2 * 8 * 8 * 4));
  graph.add_node(Op::relu, {}, {graph.nodes[0].outputs[0]}, "relu");
  EXPECT_EQ(flops(graph, graph.nodes[1]), 0);
  graph.add_node(Op::reshape, ReshapeAttributes{{512}}, {graph.nodes[1].outputs[0]}, "view");
  EXPECT_EQ(bytes(graph, graph.nodes[2]), 0);
  const ValueId ids = graph.add_input("ids", {{2, 4}, DType::i32});
  graph.add_node(Op::embedding, {}, {parameter(graph, "table", {1000, 16}), ids}, "embedding");
  EXPECT_EQ(bytes(graph, graph.nodes[3]), 4.0 * (8 + 2 * 8 * 16));
}

// A causal query has the keys up to itself: 1 + 2 + 3 of 3 * 3.
TEST(Graph, CountsWhatCausalAttentionDoesNotMask) {
  for (bool causal : {false, true}) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({6, 8}));
    const ValueId step = graph.add_variable({"step", {{1}, DType::i32}, VariableRole::control, {}});
    graph.add_node(Op::attention, AttentionAttributes{.heads = 2, .sequence = 3, .causal = causal}, {x, x, x, step},
                   "attention");
    EXPECT_EQ(flops(graph, graph.nodes[0]), 2.0 * 2 * 2 * (causal ? 6 : 9) * 8);
  }
}

Graph small_graph(std::int64_t width, double scale) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId w = graph.add_variable({"w", f32({3, width}), VariableRole::parameter, {Initializer::Kind::uniform, scale}});
  graph.add_node(Op::matmul, MatmulAttributes{}, {x, w}, "product");
  return graph;
}

TEST(Fingerprint, DependsOnShapesInitializationAndSuffixAlone) {
  const std::string hash = fingerprint(small_graph(4, 0.5), "sgd");
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash, fingerprint(small_graph(4, 0.5), "sgd"));
  EXPECT_NE(hash, fingerprint(small_graph(5, 0.5), "sgd"));
  EXPECT_NE(hash, fingerprint(small_graph(4, 0.25), "sgd"));
  EXPECT_NE(hash, fingerprint(small_graph(4, 0.5), "adamw"));
}

}  // namespace
}  // namespace epochbench
