// The pass that lets AdamW write 16-bit copies of weights: what it replaces, where, and what stays as it was.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "src/workload/workload.h"
#include "support/every_composite.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

Program program_of(const std::string& model, Precision precision, bool copies) {
  const test::EveryComposite backend([=](const Node& node) {
    const auto* adamw = std::get_if<AdamwAttributes>(&node.attributes);
    return !copies && adamw != nullptr && !adamw->copies.empty();
  });
  return make_program(test::made_workload(model, 4), backend, test::kAllEntries, precision);
}

const Graph& graph_of(const Program& program, Entry entry) { return program.entry(entry)->graph; }
const Node& adamw_of(const Program& program) {
  return *std::ranges::find(graph_of(program, Entry::train).nodes, Op::adamw, &Node::op);
}
std::int64_t casts_of_variables(const Graph& graph) {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) {
    return node.op == Op::cast && graph.value(node.inputs[0]).kind == ValueKind::variable;
  });
}
TEST(WeightCopies, AdamwUpdatesWhatEachStepHasCast) {
  for (const char* model : {"lenet5", "bert-tiny", test::kSmallVit})
    for (Precision precision : {Precision::bf16, Precision::fp16}) {
      SCOPED_TRACE(std::string(model) + " " + name(precision));
      const Program with = program_of(model, precision, true), without = program_of(model, precision, false);
      EXPECT_EQ(without.entry(Entry::prepare), nullptr);
      EXPECT_EQ(casts_of_variables(graph_of(without, Entry::train)), 1);
      EXPECT_EQ(casts_of_variables(graph_of(with, Entry::train)), 0);
      EXPECT_EQ(casts_of_variables(graph_of(with, Entry::evaluate)), 1);
      EXPECT_EQ(graph_of(with, Entry::train).nodes.size() + 1, graph_of(without, Entry::train).nodes.size());
      EXPECT_EQ(flops(graph_of(with, Entry::train)), flops(graph_of(without, Entry::train)));

      const Graph &train = graph_of(with, Entry::train), &copying = graph_of(with, Entry::prepare);
      ASSERT_EQ(copying.nodes.size(), 1u);
      std::set<std::string> made, updated;
      std::int64_t bytes = 0;
      for (ValueId id : copying.nodes[0].outputs) {
        made.insert(copying.value(id).name);
        bytes += static_cast<std::int64_t>(copying.desc(id).bytes());
      }
      const Node& adamw = adamw_of(with);
      const OptimizerLayout layout = optimizer_layout(adamw);
      const auto& copies = std::get<AdamwAttributes>(adamw.attributes).copies;
      for (std::size_t i = 0; i < copies.size(); ++i) {
        const Value& copy = train.value(adamw.inputs[static_cast<std::size_t>(layout.copies) + i]);
        const ValueId weight = adamw.inputs[static_cast<std::size_t>(layout.first + copies[i] * layout.group)];
        EXPECT_EQ(copy.name, train.value(weight).name + ".copy");
        EXPECT_EQ(train.variables[static_cast<std::size_t>(copy.index)].role, VariableRole::derived);
        updated.insert(copy.name);
      }
      EXPECT_EQ(updated, made);
      EXPECT_GT(made.size(), 3u);
      EXPECT_GE(memory(with).parameters, memory(without).parameters + bytes);
    }
}

TEST(WeightCopies, AGraphWithoutAdamwOrCastsStaysAsItIs) {
  EXPECT_EQ(program_of("resnet20", Precision::bf16, true).entry(Entry::prepare), nullptr);  // SGD
  EXPECT_EQ(program_of("lenet5", Precision::fp32, true).entry(Entry::prepare), nullptr);
  EXPECT_EQ(program_of("lenet5", Precision::tf32, true).entry(Entry::prepare), nullptr);
}

TEST(WeightCopies, ACopyHasTheShapeOfItsWeightIn16Bits) {
  Graph graph;
  const auto variable = [&](const char* name, Shape shape, DType dtype) {
    return graph.add_variable({name, {std::move(shape), dtype}, VariableRole::parameter, {}});
  };
  const ValueId rate = variable("rate", {1}, DType::f32), step = variable("step", {1}, DType::i32);
  const ValueId weight = variable("w", {3, 2}, DType::f32), gradient = variable("g", {3, 2}, DType::bf16);
  const std::vector<ValueId> operands{
      rate, step, weight, gradient, variable("m", {3, 2}, DType::f32), variable("v", {3, 2}, DType::f32)};
  const auto add = [&](ValueId copy, std::int64_t parameter) {
    std::vector<ValueId> all = operands;
    all.push_back(copy);
    graph.add_node(Op::adamw, AdamwAttributes{.weight_decay = {0}, .copies = {parameter}}, all, "optimizer");
  };
  EXPECT_NO_THROW(add(variable("copy", {3, 2}, DType::bf16), 0));
  EXPECT_THROW(add(variable("float", {3, 2}, DType::f32), 0), GraphError);
  EXPECT_THROW(add(variable("turned", {2, 3}, DType::bf16), 0), GraphError);
  EXPECT_THROW(add(variable("copy", {3, 2}, DType::bf16), 1), GraphError);
  const auto cast = [&](std::vector<ValueId> operands_of_cast) {
    graph.add_node(Op::cast, CastAttributes{DType::bf16, true}, std::move(operands_of_cast), "cast");
  };
  EXPECT_NO_THROW(cast({weight, variable("copy", {3, 2}, DType::bf16)}));
  EXPECT_THROW(cast({weight}), GraphError);
  EXPECT_THROW(cast({weight, variable("float", {3, 2}, DType::f32)}), GraphError);
}

}  // namespace
}  // namespace epochbench
