// Fusion and memory plan on the graphs of the real models.
#include "src/graph/passes.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/workload/workload.h"

namespace epochbench {
namespace {

WorkloadSpec workload(const std::string& model, std::int64_t batch) {
  CaseSpec spec;
  spec.model = model;
  spec.batch = batch;
  return workload_spec(spec);
}

const std::vector<Entry> kAll{Entry::train, Entry::evaluate, Entry::forward};

std::map<Op, int> count_ops(const Graph& graph) {
  std::map<Op, int> counts;
  for (const Node& node : graph.nodes) ++counts[node.op];
  return counts;
}

double total_flops(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes) sum += flops(graph, node);
  return sum;
}

class Passes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Passes, testing::Values("mlp", "lenet5", "resnet20"));

TEST_P(Passes, EveryValueIsComputedBeforeItIsRead) {
  const Program program = make_program(workload(GetParam(), 4), *make_cpu_backend(2), kAll);
  for (Entry entry : kAll) {
    const Graph& graph = program.entry(entry)->graph;
    std::set<ValueId> ready;
    for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id)
      if (graph.value(id).kind != ValueKind::intermediate) ready.insert(id);
    for (const Node& node : graph.nodes) {
      for (ValueId id : node.inputs) EXPECT_TRUE(ready.count(id)) << node.name << " reads " << graph.value(id).name;
      ready.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const Output& output : graph.outputs) EXPECT_TRUE(ready.count(output.value)) << output.name;
  }
}

TEST_P(Passes, FusionKeepsFlops) {
  const Program fused = make_program(workload(GetParam(), 4), *make_cpu_backend(2), kAll);
  const Program plain = make_program(workload(GetParam(), 4), *make_reference_backend(), kAll);
  for (Entry entry : kAll) {
    EXPECT_EQ(total_flops(fused.entry(entry)->graph), total_flops(plain.entry(entry)->graph));
    EXPECT_LT(fused.entry(entry)->graph.nodes.size(), plain.entry(entry)->graph.nodes.size());
  }
}

// Simulates the program on the plan: whatever a node reads must still be what its producer wrote.
TEST_P(Passes, MemoryPlanNeverOverwritesWhatIsStillNeeded) {
  for (const bool fused : {true, false}) {
    const auto backend = fused ? make_cpu_backend(2) : make_reference_backend();
    const Program program = make_program(workload(GetParam(), 4), *backend, kAll);
    for (Entry entry : kAll) {
      const auto& [graph, plan] = *program.entry(entry);
      std::map<std::int64_t, std::pair<std::int64_t, ValueId>> owner;  // begin -> (end, value) of what lies there
      auto erase_overlaps = [&](std::int64_t begin, std::int64_t end) {
        for (auto it = owner.begin(); it != owner.end();)
          it = it->first < end && begin < it->second.first ? owner.erase(it) : std::next(it);
      };
      auto expect_intact = [&](ValueId id, const std::string& reader) {
        const ValueId root = plan.root[static_cast<std::size_t>(id)];
        if (graph.value(root).kind != ValueKind::intermediate) return;
        const auto found = owner.find(plan.offset[static_cast<std::size_t>(root)]);
        ASSERT_TRUE(found != owner.end() && found->second.second == root)
            << reader << " reads " << graph.value(root).name << ", which was overwritten";
      };
      for (const Node& node : graph.nodes) {
        for (ValueId id : node.inputs) expect_intact(id, node.name);
        for (ValueId id : node.outputs) {
          const std::int64_t offset = plan.offset[static_cast<std::size_t>(id)];
          if (graph.value(id).kind != ValueKind::intermediate || plan.root[static_cast<std::size_t>(id)] != id ||
              offset == MemoryPlan::kNone)
            continue;
          const auto size = static_cast<std::int64_t>(graph.desc(id).bytes());
          EXPECT_EQ(offset % 64, 0);
          EXPECT_LE(offset + size, plan.arena_bytes);
          // A node's outputs must not overlap each other; operands may be overwritten where the rule allows it.
          for (ValueId other : node.outputs) {
            const auto found = owner.find(plan.offset[static_cast<std::size_t>(other)]);
            if (other < id && found != owner.end() && found->second.second == other) {
              EXPECT_TRUE(found->second.first <= offset || offset + size <= found->first) << node.name;
            }
          }
          erase_overlaps(offset, offset + size);
          owner[offset] = {offset + size, id};
        }
      }
      for (const Output& output : graph.outputs) expect_intact(output.value, "the caller");
    }
  }
}

TEST(Fusion, FindsEveryCompositeOfResnet20) {
  const Program program = make_program(workload("resnet20", 4), *make_cpu_backend(2), kAll);
  const auto train = count_ops(program.entry(Entry::train)->graph);
  // 19 batch norms end in a relu (9 of them with a shortcut), two are projections without.
  EXPECT_EQ(train.at(Op::batch_norm_relu), 19);
  EXPECT_EQ(train.at(Op::batch_norm), 2);
  EXPECT_EQ(train.at(Op::batch_norm_relu_grad), 19);
  EXPECT_EQ(train.at(Op::batch_norm_grad), 2);
  EXPECT_EQ(train.at(Op::linear), 1);
  EXPECT_EQ(train.count(Op::relu) + train.count(Op::relu_grad) + train.count(Op::bias_add), 0u);
  const auto evaluate = count_ops(program.entry(Entry::evaluate)->graph);
  EXPECT_EQ(evaluate.at(Op::batch_norm_inference_relu), 19);
}

TEST(Fusion, TakesOnlyWhatTheBackendHas) {
  const Program program = make_program(workload("lenet5", 4), *make_reference_backend(), kAll);
  for (const Node& node : program.entry(Entry::train)->graph.nodes) EXPECT_FALSE(is_composite(node.op)) << node.name;
}

TEST(MemoryPlan, NeedsLessThanAllValuesTogether) {
  const Program program = make_program(workload("resnet20", 8), *make_cpu_backend(2), {Entry::train});
  const auto& [graph, plan] = *program.entry(Entry::train);
  std::int64_t all = 0;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id)
    if (plan.offset[static_cast<std::size_t>(id)] != MemoryPlan::kNone && plan.root[static_cast<std::size_t>(id)] == id)
      all += static_cast<std::int64_t>(graph.desc(id).bytes());
  EXPECT_LT(plan.arena_bytes, all * 3 / 5);
}

TEST(MemoryPlan, CountsParametersAndState) {
  const Program program = make_program(workload("lenet5", 64), *make_cpu_backend(2), {Entry::train, Entry::evaluate});
  const ProgramMemory sum = memory(program);
  EXPECT_GE(sum.parameters, 4 * 61706);
  EXPECT_LT(sum.parameters, 4 * 61706 + 10 * 64);
  EXPECT_GE(sum.gradients, 4 * 61706);
  EXPECT_LT(sum.gradients, 4 * 61706 + 10 * 64);
  EXPECT_GE(sum.optimizer, 2 * 4 * 61706);
  EXPECT_GT(sum.activations, 64 * 28 * 28 * 6 * 4);
  EXPECT_EQ(sum.total(), sum.parameters + sum.gradients + sum.optimizer + sum.activations + sum.workspace);
}

}  // namespace
}  // namespace epochbench
