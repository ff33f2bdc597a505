// The int8 pass: which products take in what, where codes pass between them, and what its three graphs hold.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "src/workload/workload.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

using testing::UnorderedElementsAre;

Graph forward_graph(const std::string& model) {
  const WorkloadSpec workload = test::made_workload(model, 2);
  ModelConfig config = workload.config;
  config.training = false;
  Graph graph;
  const ValueId logits = workload.model.family->build(graph, config);
  graph.add_output("logits", logits);
  return graph;
}

std::map<Op, int> ops_of(const Graph& graph) {
  std::map<Op, int> count;
  for (const Node& node : graph.nodes) ++count[node.op];
  return count;
}

const Node& node_named(const Graph& graph, std::string_view name) {
  const auto found = std::ranges::find_if(graph.nodes, [&](const Node& node) { return node.name == name; });
  if (found == graph.nodes.end()) throw std::out_of_range(std::string(name));
  return *found;
}

const Int8ProductAttributes& product(const Graph& graph, std::string_view name) {
  return std::get<Int8ProductAttributes>(node_named(graph, name).attributes);
}

std::set<std::string> variables_of(const Graph& graph) {
  std::set<std::string> names;
  for (const Variable& variable : graph.variables) names.insert(variable.name);
  return names;
}

TEST(Int8Pass, ResNetPassesCodesFromTheImagesToTheLastBlock) {
  const Int8Graphs graphs = with_int8(forward_graph("resnet50"));
  const Graph& forward = graphs.forward;
  // 53 convolutions take in their norms, their relus and the 16 shortcuts. The images and the mean over all pixels are floats.
  EXPECT_EQ(
      ops_of(forward),
      (std::map<Op, int>{
          {Op::conv2d_int8, 53}, {Op::linear_int8, 1}, {Op::quantize, 2}, {Op::max_pool, 1}, {Op::global_average_pool, 1}}));
  EXPECT_EQ(forward.desc(node_named(forward, "maxpool").outputs[0]).dtype, DType::u8);
  for (const char* name : {"layer1.0.conv3", "layer3.1.conv3"}) {
    EXPECT_TRUE(product(forward, name).relu && product(forward, name).shortcut_codes && product(forward, name).codes) << name;
  }
  EXPECT_FALSE(product(forward, "layer1.0.downsample.0").relu);
  EXPECT_TRUE(product(forward, "layer1.0.downsample.0").codes) << "only an addition reads it, of a product";
  EXPECT_FALSE(product(forward, "layer4.2.conv3").codes) << "a mean of floats reads it";
  EXPECT_FALSE(product(forward, "fc").codes);
}

TEST(Int8Pass, BertTakesGeluIntoTheProductBeforeIt) {
  const Int8Graphs graphs = with_int8(forward_graph("bert-tiny"));
  const auto ops = ops_of(graphs.forward);
  EXPECT_EQ(ops.at(Op::linear_int8), 2 * 6 + 2);
  EXPECT_EQ(ops.at(Op::quantize), 2 * 3 + 2)
      << "what a norm, attention or the gathered rows are read as; gelu is codes already";
  EXPECT_EQ(ops.at(Op::attention), 2);
  EXPECT_EQ(ops.at(Op::layer_norm), 2 * 2 + 2);
  EXPECT_FALSE(ops.contains(Op::gelu) || ops.contains(Op::matmul) || ops.contains(Op::bias_add));
  const Int8ProductAttributes& gelu = product(graphs.forward, "bert.encoder.layer.0.intermediate.dense");
  EXPECT_TRUE(gelu.gelu && gelu.codes);
}

TEST(Int8Pass, WeightsOfProductsAreReadByPrepareAlone) {
  for (const char* model : {"mlp", "lenet5", "resnet20", "resnet18", "bert-tiny"}) {
    const Graph original = forward_graph(model);
    const Int8Graphs graphs = with_int8(original);
    const auto forward = variables_of(graphs.forward), prepared = variables_of(graphs.prepare);
    for (const Node& node : original.nodes) {
      if (node.op != Op::conv2d && node.op != Op::matmul) continue;
      const std::string weight = original.value(node.inputs[1]).name;
      EXPECT_TRUE(prepared.contains(weight) && prepared.contains(node.name + ".int8")) << weight;
      EXPECT_TRUE(forward.contains(node.name + ".int8")) << weight;
      EXPECT_TRUE(!forward.contains(weight) || weight.ends_with("word_embeddings.weight")) << weight;
    }
  }
}

// Only calibrate writes the value of a range, which prepare and forward read.
TEST(Int8Pass, EveryRangeIsMeasured) {
  for (const char* model : {"mlp", "lenet5", "resnet20", "resnet50", "bert-tiny"}) {
    const Int8Graphs graphs = with_int8(forward_graph(model));
    std::set<std::string> measured, read;
    for (const Node& node : graphs.calibrate.nodes)
      if (node.op == Op::observe_range) {
        const std::string name = graphs.calibrate.value(node.inputs[1]).name;
        EXPECT_TRUE(measured.insert(name).second) << name << " has two values";
      }
    for (const Graph* graph : {&graphs.prepare, &graphs.forward})
      for (const std::string& name : variables_of(*graph))
        if (name.ends_with(".range")) read.insert(name);
    EXPECT_EQ(measured, read) << model;
  }
}

TEST(Int8Pass, TheFlopsOfProductsStay) {
  for (const char* model : {"mlp", "lenet5", "resnet50", "bert-tiny"}) {
    const Graph original = forward_graph(model);
    const Int8Graphs graphs = with_int8(original);
    EXPECT_EQ(flops(graphs.forward), flops(original)) << model;
    EXPECT_EQ(flops(graphs.calibrate), flops(original)) << model;
    EXPECT_EQ(flops(graphs.prepare), 0) << model;
  }
}

TEST(Int8Pass, APoolThatFloatsComeFromPoolsFloats) {
  const Int8Graphs graphs = with_int8(forward_graph("lenet5"));
  std::vector<DType> pooled;
  for (const Node& node : graphs.forward.nodes)
    if (node.op == Op::max_pool) pooled.push_back(graphs.forward.desc(node.outputs[0]).dtype);
  EXPECT_THAT(pooled, testing::ElementsAre(DType::u8, DType::f32)) << "the second is flattened";
}

TEST(Int8Pass, IsNotForTraining) {
  const auto backend = make_reference_backend();
  const WorkloadSpec workload = test::made_workload("lenet5", 2);
  EXPECT_THROW(make_program(workload, *backend, {Entry::train}, Precision::int8), GraphError);
  const Program program = make_program(workload, *backend, {Entry::forward}, Precision::int8);
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (program.entries[i]) entries.push_back(static_cast<Entry>(i));
  EXPECT_THAT(entries, UnorderedElementsAre(Entry::calibrate, Entry::prepare, Entry::forward));
}

}  // namespace
}  // namespace epochbench
