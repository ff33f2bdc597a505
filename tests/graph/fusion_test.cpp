// The fusion pass: which composites it makes of real models, and which of graphs that are nearly a pattern.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "src/workload/workload.h"
#include "support/every_composite.h"
#include "support/made_workload.h"
#include "support/op_counts.h"

namespace epochbench {
namespace {

using test::count_ops;
using test::EveryComposite;

bool joins_convolution_and_norm(const Node& node) {
  return node.op == Op::conv2d_batch_norm || node.op == Op::conv2d_batch_norm_grad;
}

TEST(Fusion, FindsEveryCompositeOfResnet20) {
  const Program program = make_program(test::made_workload("resnet20", 4), *make_cpu_backend(2), test::kAllEntries);
  const auto train = count_ops(program.entry(Entry::train)->graph);
  // Each of the 21 batch norms follows a convolution. 19 end in a relu (9 of them with a shortcut), two are projections
  // without.
  EXPECT_EQ(train.at(Op::conv2d_batch_norm), 21);
  EXPECT_EQ(train.count(Op::conv2d) + train.count(Op::batch_norm) + train.count(Op::batch_norm_relu), 0u);
  EXPECT_EQ(train.at(Op::batch_norm_relu_grad), 19);
  EXPECT_EQ(train.at(Op::batch_norm_grad), 2);
  EXPECT_EQ(train.at(Op::linear), 1);
  EXPECT_EQ(train.count(Op::relu) + train.count(Op::relu_grad) + train.count(Op::bias_add), 0u);
  const auto evaluate = count_ops(program.entry(Entry::evaluate)->graph);
  EXPECT_EQ(evaluate.at(Op::batch_norm_inference_relu), 19);
}

// How many composites there are whose attributes, or those of a part, say so.
template <typename AttributesType>
int count_where(const Graph& graph, bool AttributesType::*flag) {
  const auto says_so = [flag](const Node& node) {
    const auto* a = std::get_if<AttributesType>(&node.attributes);
    return a != nullptr && a->*flag;
  };
  return static_cast<int>(std::ranges::count_if(
      graph.nodes, [&](const Node& node) { return says_so(node) || std::ranges::any_of(node.parts, says_so); }));
}

TEST(Fusion, WritesMasksAndAddsTheShortcutsGradientWhereTheBackendCan) {
  const Program program = make_program(test::made_workload("resnet20", 4), EveryComposite(joins_convolution_and_norm),
                                       test::kAllEntries, Precision::bf16);
  const Graph& train = program.entry(Entry::train)->graph;
  const auto ops = count_ops(train);
  EXPECT_EQ(ops.at(Op::batch_norm_relu), 19);
  EXPECT_EQ(ops.at(Op::batch_norm_relu_grad), 19);
  EXPECT_EQ(count_where(train, &BatchNormReluAttributes::mask), 19);
  EXPECT_EQ(count_where(train, &BatchNormReluGradAttributes::mask), 19);
  // Every block's input is read twice: that of the first by the stem's relu, those of the others by the relu before them.
  EXPECT_EQ(count_where(train, &BatchNormReluGradAttributes::second), 9);
  EXPECT_EQ(ops.count(Op::add), 0u);
  EXPECT_EQ(ops.at(Op::linear_grad_weight), 1);
  EXPECT_EQ(ops.count(Op::bias_add_grad), 0u);
  EXPECT_EQ(count_ops(program.entry(Entry::evaluate)->graph).at(Op::batch_norm_inference_relu), 19);
}

TEST(Fusion, OfTheCpuHasMasksWhereItHasVectors) {
  const auto backend = make_cpu_backend(2);
  for (Precision precision : {Precision::fp32, Precision::bf16}) {
    const Program program = make_program(test::made_workload("resnet20", 4), *backend, test::kAllEntries, precision);
    const Graph& train = program.entry(Entry::train)->graph;
    const std::string isa = precision == Precision::bf16 ? backend->device().bf16_isa : backend->device().isa;
    const int masks = isa == "portable" || isa.starts_with("neon") ? 0 : 19;
    EXPECT_EQ(count_where(train, &BatchNormReluAttributes::mask), masks);
    EXPECT_EQ(count_where(train, &BatchNormReluGradAttributes::mask), masks);
    EXPECT_EQ(count_where(train, &BatchNormReluGradAttributes::second), 9);
    EXPECT_EQ(count_ops(train).count(Op::add), 0u);
  }
}

// Each of the two alone, and the mask only where both directions have it.
TEST(Fusion, TakesTheMostSpecificCompositeThatTheBackendHas) {
  const auto lacks = [](bool mask_forward, bool mask_backward, bool second) {
    return EveryComposite([=](const Node& node) {
      if (joins_convolution_and_norm(node)) return true;
      if (node.op == Op::batch_norm_relu) return mask_forward && std::get<BatchNormReluAttributes>(node.attributes).mask;
      if (node.op != Op::batch_norm_relu_grad) return false;
      const auto& a = std::get<BatchNormReluGradAttributes>(node.attributes);
      return (mask_backward && a.mask) || (second && a.second);
    });
  };
  struct Case {
    bool lacks_mask_forward, lacks_mask_backward, lacks_second;
    int masks, seconds;
  };
  for (const Case& c : {Case{false, false, true, 19, 0}, Case{true, false, false, 0, 9}, Case{false, true, false, 0, 9},
                        Case{true, true, true, 0, 0}}) {
    const Program program = make_program(test::made_workload("resnet20", 4),
                                         lacks(c.lacks_mask_forward, c.lacks_mask_backward, c.lacks_second), {Entry::train});
    const Graph& train = program.entry(Entry::train)->graph;
    EXPECT_EQ(count_where(train, &BatchNormReluAttributes::mask), c.masks);
    EXPECT_EQ(count_where(train, &BatchNormReluGradAttributes::mask), c.masks);
    EXPECT_EQ(count_where(train, &BatchNormReluGradAttributes::second), c.seconds);
    EXPECT_EQ(count_ops(train).at(Op::batch_norm_relu_grad), 19);
  }
}

// Every convolution of resnet20 is followed by a norm. The gradients of the second convolutions of its 9 blocks end in that of
// a norm with ReLU; before the others there is a shortcut or none of them.
TEST(Fusion, JoinsConvolutionsWithTheirNorms) {
  const Program program =
      make_program(test::made_workload("resnet20", 4), EveryComposite(), test::kAllEntries, Precision::bf16);
  const Graph& train = program.entry(Entry::train)->graph;
  const auto ops = count_ops(train);
  EXPECT_EQ(ops.at(Op::conv2d_batch_norm), 21);
  EXPECT_EQ(ops.count(Op::conv2d) + ops.count(Op::batch_norm) + ops.count(Op::batch_norm_relu), 0u);
  EXPECT_EQ(ops.at(Op::conv2d_batch_norm_grad), 9);
  EXPECT_EQ(ops.at(Op::batch_norm_relu_grad), 10);
  for (const Node& node : train.nodes) {
    if (node.op == Op::conv2d_batch_norm) {  // the last output is the convolution's, which gradients read
      EXPECT_EQ(node.outputs.back(), node.parts[1].inputs[0]) << node.name;
      EXPECT_EQ(train.desc(node.outputs.back()), train.desc(node.outputs[0])) << node.name;
    }
    if (node.op == Op::conv2d_batch_norm_grad) {
      const std::string norm = train.value(node.inputs[4]).name;  // "layer1.0.bn1.weight"
      EXPECT_EQ(train.value(node.inputs[7]).name, norm.substr(0, norm.rfind('.')) + ".bias");
      EXPECT_EQ(train.desc(node.outputs[0]), train.desc(node.inputs[3])) << node.name;
    }
  }
  EXPECT_FALSE(count_ops(program.entry(Entry::evaluate)->graph).contains(Op::conv2d_batch_norm));
}

// Each of the 35 ReLU6s joins its norm. Its gradient joins only with a mask, as no composite reads both bounds from y, and none
// includes the convolution before it.
TEST(Fusion, JoinsRelu6WithItsNormByAMask) {
  const WorkloadSpec workload = test::made_workload(test::kSmallMobileNet, 4);
  const Graph fused = make_program(workload, EveryComposite(), {Entry::train}).entry(Entry::train)->graph;
  const auto ops = count_ops(fused);
  EXPECT_EQ(ops.count(Op::relu6) + ops.count(Op::relu6_grad) + ops.count(Op::conv2d_batch_norm_grad), 0u);
  EXPECT_EQ(ops.at(Op::batch_norm_relu_grad), 35);
  EXPECT_EQ(count_where(fused, &BatchNormReluGradAttributes::mask), 35);
  const EveryComposite no_masks([](const Node& node) {
    const auto* a = std::get_if<BatchNormReluAttributes>(&node.attributes);
    return a != nullptr && a->mask;
  });
  const auto apart = count_ops(make_program(workload, no_masks, {Entry::train}).entry(Entry::train)->graph);
  EXPECT_EQ(apart.at(Op::relu6_grad), 35);
  EXPECT_EQ(apart.count(Op::relu6) + apart.count(Op::batch_norm_relu_grad), 0u);
}

// Each of the 16 blocks of an EfficientNet has one; the mean before the classifier is another one.
TEST(Fusion, MakesOneNodeOfTheGradientOfSqueezeExcite) {
  const WorkloadSpec workload = test::made_workload(test::kSmallEfficientNet, 4);
  const Graph apart =
      make_program(workload, EveryComposite([](const Node& node) { return node.op == Op::squeeze_excite_grad; }),
                   {Entry::train})
          .entry(Entry::train)
          ->graph;
  const auto parts = count_ops(apart);
  for (const bool with_silu : {true, false}) {
    const EveryComposite backend(
        [=](const Node& node) { return node.op == Op::squeeze_excite_grad && node.inputs.size() > 3 && !with_silu; });
    const auto ops = count_ops(make_program(workload, backend, {Entry::train}).entry(Entry::train)->graph);
    EXPECT_EQ(ops.at(Op::squeeze_excite_grad), 16);
    EXPECT_EQ(ops.at(Op::global_average_pool_grad), 1);
    EXPECT_EQ(ops.at(Op::scale_channels), 16);  // of the forward pass
    EXPECT_EQ(ops.at(Op::silu_grad), parts.at(Op::silu_grad) - (with_silu ? 16 : 0));
    EXPECT_EQ(parts.at(Op::add), (ops.contains(Op::add) ? ops.at(Op::add) : 0) + 16);
  }
}

TEST(Fusion, MakesOneNodeOfTheGradientsOfWeightAndBias) {
  for (const auto& [model, linears] : std::map<std::string, int>{{"mlp", 3}, {"lenet5", 3}, {"bert-tiny", 10}}) {
    const Program program = make_program(test::made_workload(model, 4), EveryComposite(), {Entry::train}, Precision::bf16);
    const Graph& graph = program.entry(Entry::train)->graph;
    EXPECT_EQ(count_ops(graph).at(Op::linear_grad_weight), linears) << model;
    for (const Node& node : graph.nodes)
      if (node.op == Op::linear_grad_weight) {
        const Shape &dy = graph.desc(node.inputs[0]).shape, &x = graph.desc(node.inputs[1]).shape;
        EXPECT_EQ(graph.desc(node.outputs[0]), (TensorDesc{{dy[1], x[1]}, DType::bf16})) << node.name;
        EXPECT_EQ(graph.desc(node.outputs[1]), (TensorDesc{{dy[1]}, DType::bf16})) << node.name;
      }
  }
}

// Two layers with two sublayers each; what is left are the dropout behind the embeddings and the norms there and in the head.
TEST(Fusion, MakesOneNodePerDirectionOfASublayersEnd) {
  const Program program = make_program(test::made_workload("bert-tiny", 4), EveryComposite(), test::kAllEntries);
  const Graph& train = program.entry(Entry::train)->graph;
  const auto ops = count_ops(train);
  EXPECT_EQ(ops.at(Op::add_layer_norm), 4);
  EXPECT_EQ(ops.at(Op::add_layer_norm_grad), 4);
  EXPECT_EQ(ops.at(Op::layer_norm), 2);
  EXPECT_EQ(ops.at(Op::layer_norm_grad), 2);
  EXPECT_EQ(ops.at(Op::dropout), 2);
  EXPECT_EQ(count_where(train, &AddLayerNormAttributes::sum), 4);
  std::multiset<int> masks;
  for (const Node& node : train.nodes)
    if (node.op == Op::add_layer_norm || node.op == Op::add_layer_norm_grad) masks.insert(node.ordinal);
  for (int ordinal : masks) EXPECT_EQ(masks.count(ordinal), 2u) << ordinal;  // the gradient has the mask of its forward node

  const Graph& evaluate = program.entry(Entry::evaluate)->graph;  // without dropout and without a gradient that reads the sum
  EXPECT_EQ(count_ops(evaluate).at(Op::add_layer_norm), 4);
  EXPECT_EQ(count_ops(evaluate).count(Op::add), 0u);
  EXPECT_EQ(count_where(evaluate, &AddLayerNormAttributes::sum), 0);
  for (const Node& node : evaluate.nodes)
    if (node.op == Op::add_layer_norm) {
      EXPECT_EQ(node.inputs.size(), 4u) << node.name;
    }
}

// Both layers have one, and the head, whose GELU's gradient comes from a norm. What GELU reads is written only for a gradient.
TEST(Fusion, MakesOneNodeOfAProductAndItsGelu) {
  const Program program = make_program(test::made_workload("bert-tiny", 4), EveryComposite(), test::kAllEntries);
  const Graph& train = program.entry(Entry::train)->graph;
  const auto ops = count_ops(train);
  EXPECT_EQ(ops.at(Op::linear_gelu), 3);
  EXPECT_EQ(ops.at(Op::matmul_gelu_grad), 2);
  EXPECT_EQ(ops.at(Op::gelu_grad), 1);
  EXPECT_EQ(ops.count(Op::gelu), 0u);
  EXPECT_EQ(count_where(train, &LinearGeluAttributes::x), 3);
  std::map<int, ValueId> read;  // by ordinal of the GELU
  for (const Node& node : train.nodes)
    if (node.op == Op::linear_gelu) read[node.parts[1].ordinal] = node.outputs[1];
  for (const Node& node : train.nodes)
    if (node.op == Op::matmul_gelu_grad) {
      EXPECT_EQ(node.inputs[2], read.at(node.parts[1].ordinal)) << node.name;
    }
  const Graph& evaluate = program.entry(Entry::evaluate)->graph;
  EXPECT_EQ(count_ops(evaluate).at(Op::linear_gelu), 3);
  EXPECT_EQ(count_where(evaluate, &LinearGeluAttributes::x), 0);
}

TEST(Fusion, TakesOnlyWhatTheBackendHas) {
  const Program program = make_program(test::made_workload("lenet5", 4), *make_reference_backend(), test::kAllEntries);
  for (const Node& node : program.entry(Entry::train)->graph.nodes) EXPECT_FALSE(is_composite(node.op)) << node.name;
}

ValueId new_parameter(Graph& graph, const std::string& name, Shape shape) {
  return graph.add_variable({name, {std::move(shape), DType::f32}, VariableRole::parameter, {}});
}

ValueId linear(Graph& graph, ValueId x, const std::string& name, ValueId bias) {
  const ValueId weight = new_parameter(graph, name + ".weight", {graph.desc(bias).shape[0], graph.desc(x).shape[1]});
  const ValueId y = graph.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {x, weight}, name)[0];
  return graph.add_node(Op::bias_add, {}, {y, bias}, name + ".bias")[0];
}

ValueId batch_norm_relu(Graph& graph, ValueId x, const std::string& name) {
  const Shape channels{graph.desc(x).shape.back()};
  const auto statistic = [&](const char* what) {
    return graph.add_variable({name + what, {channels, DType::f32}, VariableRole::statistic, {}});
  };
  const std::vector<ValueId> inputs{x, new_parameter(graph, name + ".scale", channels),
                                    new_parameter(graph, name + ".bias", channels), statistic(".mean"), statistic(".variance")};
  return graph.add_node(Op::relu, {}, {graph.add_node(Op::batch_norm, BatchNormAttributes{}, inputs, name)[0]}, name)[0];
}

// Appends loss, gradient and optimizer, fuses, and sees that every value is there when it is read.
void finish(Graph& graph, ValueId logits) {
  const ValueId labels = graph.add_input("labels", {{graph.desc(logits).shape[0]}, DType::i32});
  const ValueId loss = graph.add_node(Op::cross_entropy, CrossEntropyAttributes{}, {logits, labels}, "loss")[0];
  graph.add_output("loss", loss);
  append_optimizer(graph, {}, append_gradient(graph, loss));
  fuse(graph, [](const Graph&, const Node&) { return true; });
  std::set<ValueId> ready;
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs)
      EXPECT_TRUE(graph.value(id).kind != ValueKind::intermediate || ready.count(id))
          << node.name << " reads " << graph.value(id).name;
    ready.insert(node.outputs.begin(), node.outputs.end());
  }
}

// Who reads the product before its GELU needs it as a value.
TEST(Fusion, AProductThatIsReadBeforeItsGeluStaysApart) {
  for (const bool early : {false, true}) {
    Graph graph;
    const ValueId x = graph.add_input("x", {{6, 5}, DType::f32});
    const ValueId y = linear(graph, x, "first", new_parameter(graph, "bias", {5}));
    const auto gelu = [&] { return graph.add_node(Op::gelu, {}, {y}, "gelu")[0]; };
    const auto relu = [&] { return graph.add_node(Op::relu, {}, {y}, "relu")[0]; };
    const ValueId one = early ? relu() : gelu(), other = early ? gelu() : relu();
    finish(graph, graph.add_node(Op::add, {}, {one, other}, "sum")[0]);
    EXPECT_EQ(count_ops(graph)[Op::linear_gelu], early ? 0 : 1);
    EXPECT_EQ(count_ops(graph)[Op::gelu], early ? 1 : 0);
  }
}

// The second gradient of the bias is added to the first right where it is computed, before its weight's.
TEST(Fusion, GradientsOfASharedBiasAreThereWhenTheyAreAdded) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{6, 5}, DType::f32}), bias = new_parameter(graph, "bias", {5});
  finish(graph, linear(graph, linear(graph, x, "first", bias), "second", bias));
  EXPECT_EQ(count_ops(graph)[Op::linear_grad_weight], 2);
  EXPECT_EQ(count_ops(graph)[Op::add], 1);
}

// One sum of gradients that two relus read: it stays a node.
TEST(Fusion, ASumOfGradientsThatOthersReadIsNotTakenIn) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{6, 5}, DType::f32});
  const ValueId sum =
      graph.add_node(Op::add, {}, {batch_norm_relu(graph, x, "left"), batch_norm_relu(graph, x, "right")}, "sum")[0];
  const ValueId twice = graph.add_node(Op::add, {}, {graph.add_node(Op::gelu, {}, {sum}, "gelu")[0], sum}, "twice")[0];
  finish(graph, twice);
  EXPECT_EQ(count_ops(graph)[Op::batch_norm_relu_grad], 2);
  EXPECT_EQ(count_where(graph, &BatchNormReluGradAttributes::second), 0);
  EXPECT_EQ(count_where(graph, &BatchNormReluGradAttributes::mask), 2);
}

// The gradient of a sublayer's input: the shortcut's, to which the product of query, key and value, or of the first linear
// layer, is added in place.
TEST(Fusion, AddsProductsToTheGradientOfTheShortcutInItsMemory) {
  for (Precision precision : kPrecisions) {
    const Program program = make_program(test::made_workload("bert-tiny", 4), EveryComposite(), {Entry::train}, precision);
    const auto& [graph, plan] = *program.entry(Entry::train);
    EXPECT_EQ(count_ops(graph)[Op::matmul_add], 2 * (1 + 1)) << name(precision);
    EXPECT_EQ(count_ops(graph)[Op::add], 0) << name(precision);
    for (const Node& node : graph.nodes) {
      if (node.op != Op::matmul_add) continue;
      EXPECT_EQ(plan.offset[static_cast<std::size_t>(node.inputs[2])], plan.offset[static_cast<std::size_t>(node.outputs[0])])
          << node.name;
    }
  }
}

// How many sums remain of x W + addend, whose addend is made of x and has the given readers after the product.
int sums_kept(ValueId (*addend)(Graph&, ValueId), void (*reader)(Graph&, ValueId)) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{6, 6}, DType::f32}), weight = new_parameter(graph, "weight", {6, 6});
  const ValueId added = addend(graph, x);
  const ValueId product = graph.add_node(Op::matmul, MatmulAttributes{}, {x, weight}, "product")[0];
  reader(graph, added);
  graph.add_output("y", graph.add_node(Op::add, {}, {product, added}, "sum")[0]);
  fuse(graph, [](const Graph&, const Node&) { return true; });
  return count_ops(graph)[Op::add];
}

// The product would overwrite what belongs to the caller, what others read, or what another value is a view of.
TEST(Fusion, AProductIsAddedOnlyToWhatNothingElseNeeds) {
  const auto gelu = [](Graph& graph, ValueId x) { return graph.add_node(Op::gelu, {}, {x}, "gelu")[0]; };
  const auto nothing = [](Graph&, ValueId) {};
  EXPECT_EQ(sums_kept(gelu, nothing), 0);
  EXPECT_EQ(sums_kept([](Graph&, ValueId x) { return x; }, nothing), 1);
  EXPECT_EQ(sums_kept(
                [](Graph& graph, ValueId x) {
                  return graph.add_node(Op::reshape, ReshapeAttributes{{6, 6}}, {x}, "view")[0];
                },
                nothing),
            1);
  EXPECT_EQ(sums_kept(gelu, [](Graph& graph, ValueId added) { graph.add_output("added", added); }), 1);
  EXPECT_EQ(
      sums_kept(gelu, [](Graph& graph,
                         ValueId added) { graph.add_output("later", graph.add_node(Op::relu, {}, {added}, "later")[0]); }),
      1);
}

// A graph: the layer norm of dropout(x) + shortcut, where `read_sum` adds a reader of the sum before the norm.
Graph sum_and_norm(bool read_sum) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{6, 5}, DType::f32}), shortcut = graph.add_input("shortcut", {{6, 5}, DType::f32});
  const ValueId step = graph.add_variable({"step", {{1}, DType::i32}, VariableRole::control, {}});
  const ValueId dropped = graph.add_node(Op::dropout, DropoutAttributes{0.5}, {x, step}, "dropout")[0];
  const ValueId sum = graph.add_node(Op::add, {}, {shortcut, dropped}, "add")[0];
  const ValueId other = read_sum ? graph.add_node(Op::gelu, {}, {sum}, "gelu")[0] : kNoValue;
  const ValueId y = graph.add_node(Op::layer_norm, LayerNormAttributes{},
                                   {sum, new_parameter(graph, "scale", {5}), new_parameter(graph, "bias", {5})}, "norm")[0];
  graph.add_output("y", y);
  graph.add_output("sum", sum);
  if (read_sum) graph.add_output("other", other);
  return graph;
}

TEST(Fusion, TheDroppedOperandOfASumComesFirst) {
  Graph graph = sum_and_norm(false);
  fuse(graph, [](const Graph&, const Node&) { return true; });
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Node& node = graph.nodes[0];
  EXPECT_EQ(node.op, Op::add_layer_norm);
  EXPECT_EQ(node.parts.size(), 3u);
  EXPECT_EQ(graph.value(node.inputs[0]).name, "x");
  EXPECT_EQ(graph.value(node.inputs[1]).name, "shortcut");
  EXPECT_EQ(node.outputs.back(), graph.output("sum"));
}

// The composite stands where the norm stood, so what reads the sum before would read it too early.
TEST(Fusion, ASumThatIsReadBeforeItsNormStays) {
  Graph graph = sum_and_norm(true);
  fuse(graph, [](const Graph&, const Node&) { return true; });
  EXPECT_EQ(count_ops(graph)[Op::add_layer_norm], 0);
  EXPECT_EQ(graph.nodes.size(), 4u);
}

}  // namespace
}  // namespace epochbench
