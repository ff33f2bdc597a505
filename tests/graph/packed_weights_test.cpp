// The pass that packs weights once: where it packs them, what that costs in memory, and that new weights are packed again.
#include <algorithm>

#include <gtest/gtest.h>

#include "src/workload/workload.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

Program forward_of(const std::string& model, std::int64_t batch, Precision precision = Precision::fp32, bool pack = true,
                   const std::vector<Entry>& entries = {Entry::forward}) {
  return make_program(test::made_workload(model, batch), *make_cpu_backend(2, {.packed_weights = pack}), entries, precision);
}

const Graph& entry_graph(const Program& program, Entry entry) { return program.entry(entry)->graph; }

std::size_t packed_operands(const Program& program) {
  const auto& nodes = entry_graph(program, Entry::forward).nodes;
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [](const Node& node) { return weight_operand(node) > 1; }));
}

TEST(PackedWeights, AreThoseOfProductsOfFewRows) {
  for (const char* model : {"lenet5", "resnet20", "bert-tiny"}) {
    SCOPED_TRACE(model);
    const Program program = forward_of(model, 2);
    ASSERT_NE(program.entry(Entry::prepare), nullptr);
    const auto& packing = entry_graph(program, Entry::prepare).nodes;
    EXPECT_EQ(packing.size(), packed_operands(program));
    for (const Node& node : packing) EXPECT_EQ(node.op, Op::pack_weight);
    EXPECT_EQ(packed_operands(forward_of(model, 2, Precision::fp32, false)), 0u);
  }
  EXPECT_GT(packed_operands(forward_of("mlp", 1024)), 0u);
  EXPECT_EQ(forward_of("mlp", 1025).entry(Entry::prepare), nullptr);
}

TEST(PackedWeights, AreNotThoseThatAStepChanges) {
  for (const auto& entries : {std::vector{Entry::train}, std::vector{Entry::train, Entry::forward}}) {
    const Program program = forward_of("lenet5", 2, Precision::fp32, true, entries);
    EXPECT_EQ(program.entry(Entry::prepare), nullptr);
  }
  const Program evaluating = forward_of("lenet5", 2, Precision::fp32, true, {Entry::forward, Entry::evaluate});
  EXPECT_GT(packed_operands(evaluating), 0u);
  for (const Node& node : entry_graph(evaluating, Entry::evaluate).nodes) EXPECT_EQ(weight_operand(node), 1u) << node.name;
}

TEST(PackedWeights, CountAsParametersAndChangeNoWork) {
  for (const char* model : {"resnet20", "bert-tiny"}) {
    SCOPED_TRACE(model);
    const Program packed = forward_of(model, 2), plain = forward_of(model, 2, Precision::fp32, false);
    std::int64_t more = 0;
    for (const Variable& variable : packed.variables)
      if (variable.role == VariableRole::derived) more += static_cast<std::int64_t>((variable.desc.bytes() + 63) / 64 * 64);
    EXPECT_GT(more, 0);
    EXPECT_EQ(memory(packed).parameters, memory(plain).parameters + more);
    EXPECT_LE(memory(packed).workspace, memory(plain).workspace);
    const Graph &with = entry_graph(packed, Entry::forward), &without = entry_graph(plain, Entry::forward);
    ASSERT_EQ(with.nodes.size(), without.nodes.size());
    for (std::size_t i = 0; i < with.nodes.size(); ++i) {
      EXPECT_EQ(flops(with, with.nodes[i]), flops(without, without.nodes[i]));
      EXPECT_EQ(bytes(with, with.nodes[i]), bytes(without, without.nodes[i])) << with.nodes[i].name;
    }
  }
}

// Weights from outside are read only after Entry::prepare.
TEST(PackedWeights, ArePackedAgainWhenWeightsAreNew) {
  const auto backend = make_cpu_backend(2);
  const Program program = forward_of("mlp:width=64", 4);
  const auto executable = backend->compile(program);
  initialize(*executable, program, 1);
  const auto packed_sum = [&] {
    double sum = 0;
    for (const Variable& variable : program.variables)
      if (variable.role == VariableRole::derived) {
        std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
        executable->read(variable.name, values);
        for (float value : values) sum += static_cast<double>(value);
      }
    return sum;
  };
  prepare(*executable, program);
  const double first = packed_sum();
  for (const Variable& variable : program.variables)
    if (variable.role == VariableRole::parameter && variable.desc.shape.size() == 2)
      executable->write(variable.name, std::vector<float>(static_cast<std::size_t>(variable.desc.elements()), 0.5f));
  prepare(*executable, program);
  double expected = 0;
  for (const Variable& variable : program.variables)
    if (variable.role == VariableRole::parameter && variable.desc.shape.size() == 2)
      expected += 0.5 * static_cast<double>(variable.desc.elements());
  EXPECT_NE(first, expected);
  EXPECT_EQ(packed_sum(), expected);
}

}  // namespace
}  // namespace epochbench
