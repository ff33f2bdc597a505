// Building graphs: shape inference, messages, FLOPs and bytes, fingerprints.
#include "epochbench/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

Graph small_graph(std::int64_t width, double scale) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId w = graph.add_variable({"w", f32({3, width}), VariableRole::parameter, {Initializer::Kind::uniform, scale}});
  graph.add_node(Op::matmul, MatmulAttributes{}, {x, w}, "product");
  return graph;
}

TEST(Fingerprint, DependsOnShapesInitialisationAndSuffixAlone) {
  const std::string hash = fingerprint(small_graph(4, 0.5), "sgd");
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash, fingerprint(small_graph(4, 0.5), "sgd"));
  EXPECT_NE(hash, fingerprint(small_graph(5, 0.5), "sgd"));
  EXPECT_NE(hash, fingerprint(small_graph(4, 0.25), "sgd"));
  EXPECT_NE(hash, fingerprint(small_graph(4, 0.5), "adamw"));
}

}  // namespace
}  // namespace epochbench
