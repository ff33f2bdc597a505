// The passes on the graphs of the real models, in every precision: order of values, FLOPs, memory plan.
#include "src/graph/passes.h"

#include <map>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/workload/workload.h"
#include "support/every_composite.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

struct Build {
  std::string name;
  std::shared_ptr<const Backend> backend;
  Precision precision;
};
std::vector<Build> builds() {
  std::vector<Build> all{{"cpu fp32", make_cpu_backend(2), Precision::fp32}};
  const std::shared_ptr<const Backend> reference = make_reference_backend(),
                                       everything = std::make_shared<test::EveryComposite>();
  for (Precision precision : kPrecisions) {
    all.push_back({std::string("reference ") + name(precision), reference, precision});
    all.push_back({std::string("every composite ") + name(precision), everything, precision});
  }
  return all;
}

class Passes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Passes,
                         testing::Values("mlp", "lenet5", "resnet20", "bert-tiny:sequence=16",
                                         "lstm-lm:sequence=5,units=16,vocabulary=30"));

TEST_P(Passes, EveryValueIsComputedBeforeItIsRead) {
  for (const Build& build : builds()) {
    SCOPED_TRACE(build.name);
    const Program program =
        make_program(test::made_workload(GetParam(), 4), *build.backend, test::kAllEntries, build.precision);
    for (Entry entry : test::kAllEntries) {
      const Graph& graph = program.entry(entry)->graph;
      std::set<ValueId> ready;
      for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id)
        if (graph.value(id).kind != ValueKind::intermediate) ready.insert(id);
      for (const Node& node : graph.nodes) {
        for (ValueId id : node.inputs) EXPECT_TRUE(ready.count(id)) << node.name << " reads " << graph.value(id).name;
        for (ValueId id : node.outputs) {
          ready.insert(id);
          const Value& value = graph.value(id);
          ready.insert(value.members.begin(), value.members.end());
          if (value.joint != kNoValue &&
              std::ranges::all_of(graph.value(value.joint).members, [&](ValueId member) { return ready.count(member) > 0; }))
            ready.insert(value.joint);
        }
      }
      for (const Output& output : graph.outputs) EXPECT_TRUE(ready.count(output.value)) << output.name;
    }
  }
}

// What a composite reads and writes is what its parts read from outside and what others read of them.
TEST_P(Passes, CompositesReadAndWriteWhatTheirPartsDo) {
  for (const Build& build : builds()) {
    SCOPED_TRACE(build.name);
    const Program program =
        make_program(test::made_workload(GetParam(), 4), *build.backend, test::kAllEntries, build.precision);
    for (Entry entry : test::kAllEntries)
      for (const Node& node : program.entry(entry)->graph.nodes) {
        if (!is_composite(node.op)) continue;
        std::set<ValueId> inside, outside;
        for (const Node& part : node.parts) inside.insert(part.outputs.begin(), part.outputs.end());
        for (const Node& part : node.parts)
          for (ValueId id : part.inputs)
            if (!inside.count(id) || program.entry(entry)->graph.value(id).kind == ValueKind::variable) outside.insert(id);
        std::set<ValueId> inputs(node.inputs.begin(), node.inputs.end()), outputs(node.outputs.begin(), node.outputs.end());
        const Graph& graph = program.entry(entry)->graph;
        if (node.op == Op::batch_norm_relu && std::get<BatchNormReluAttributes>(node.attributes).mask) {
          ASSERT_EQ(node.outputs.size(), 6u) << node.name;
          EXPECT_EQ(graph.desc(node.outputs[5]),
                    (TensorDesc{{(graph.desc(node.outputs[0]).elements() + 31) / 32}, DType::i32}));
          outputs.erase(node.outputs[5]);
        }
        if (node.op == Op::batch_norm_relu_grad) {
          const auto& a = std::get<BatchNormReluGradAttributes>(node.attributes);
          if (a.mask) {  // in place of what relu_grad reads
            inputs.erase(node.inputs[a.second ? 2 : 1]);
            outside.erase(node.parts[0].inputs[1]);
          }
        }
        if (node.op == Op::joint_attention || node.op == Op::joint_attention_grad) {  // one value in place of q, k and v
          const bool gradient = node.op == Op::joint_attention_grad;
          const Node& part = node.parts[0];
          for (std::size_t i = 0; i < 3; ++i) outside.erase(part.inputs[i + gradient]);
          inputs.erase(node.inputs[gradient]);
          if (gradient) outputs.erase(node.outputs[0]);
        }
        if (node.op == Op::conv2d_batch_norm_grad) inputs.erase(node.inputs.back());  // of the norm whose y it computes again
        EXPECT_EQ(inputs, outside) << node.name;
        for (ValueId id : outputs) EXPECT_TRUE(inside.count(id)) << node.name << " writes " << graph.value(id).name;
      }
  }
}

TEST_P(Passes, FusionKeepsFlops) {
  const Program plain = make_program(test::made_workload(GetParam(), 4), *make_reference_backend(), test::kAllEntries);
  for (const auto& backend :
       {std::shared_ptr<const Backend>(make_cpu_backend(2)), std::shared_ptr<const Backend>(new test::EveryComposite)}) {
    const Program fused = make_program(test::made_workload(GetParam(), 4), *backend, test::kAllEntries);
    for (Entry entry : test::kAllEntries) {
      EXPECT_EQ(flops(fused.entry(entry)->graph), flops(plain.entry(entry)->graph));
      EXPECT_LT(fused.entry(entry)->graph.nodes.size(), plain.entry(entry)->graph.nodes.size());
    }
  }
}

// Simulates the program on the plan: whatever a node reads must still be what its producer wrote.
TEST_P(Passes, MemoryPlanNeverOverwritesWhatIsStillNeeded) {
  for (const Build& build : builds()) {
    SCOPED_TRACE(build.name);
    const Program program =
        make_program(test::made_workload(GetParam(), 4), *build.backend, test::kAllEntries, build.precision);
    for (Entry entry : test::kAllEntries) {
      const Graph& graph = program.entry(entry)->graph;
      const MemoryPlan& plan = program.entry(entry)->plan;
      std::map<std::int64_t, std::pair<std::int64_t, ValueId>> owner;  // begin -> (end, value) of what lies there
      auto erase_overlaps = [&](std::int64_t begin, std::int64_t end) {
        for (auto it = owner.begin(); it != owner.end();)
          it = it->first < end && begin < it->second.first ? owner.erase(it) : std::next(it);
      };
      // What lies in the memory of a value: the members of a joint one, of a view what it shows.
      auto parts = [&](ValueId id) {
        const Value& value = graph.value(id);
        if (!value.members.empty()) return value.members;
        return std::vector{value.joint != kNoValue ? id : plan.root[static_cast<std::size_t>(id)]};
      };
      auto expect_intact = [&](ValueId id, const std::string& reader) {
        for (ValueId part : parts(id)) {
          if (graph.value(part).kind != ValueKind::intermediate) continue;
          const auto found = owner.find(plan.offset[static_cast<std::size_t>(part)]);
          ASSERT_TRUE(found != owner.end() && found->second.second == part)
              << reader << " reads " << graph.value(part).name << ", which was overwritten";
        }
      };
      for (const Node& node : graph.nodes) {
        for (ValueId id : node.inputs) expect_intact(id, node.name);
        std::vector<ValueId> written;
        for (ValueId output : node.outputs)
          for (ValueId part : parts(output))
            if (node.op != Op::reshape) written.push_back(part);
        for (ValueId id : written) {
          const std::int64_t offset = plan.offset[static_cast<std::size_t>(id)];
          if (graph.value(id).kind != ValueKind::intermediate || offset == MemoryPlan::kNone) continue;
          const auto size = static_cast<std::int64_t>(graph.desc(id).bytes());
          EXPECT_EQ(offset % 64, 0);
          EXPECT_LE(offset + size, plan.arena_bytes);
          // A node's outputs must not overlap each other; operands may be overwritten where the rule allows it.
          for (ValueId other : written) {
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

TEST(MemoryPlan, NeedsLessThanAllValuesTogether) {
  const Program program = make_program(test::made_workload("resnet20", 8), *make_cpu_backend(2), {Entry::train});
  const auto& [graph, plan] = *program.entry(Entry::train);
  std::int64_t all = 0;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id)
    if (plan.offset[static_cast<std::size_t>(id)] != MemoryPlan::kNone && plan.root[static_cast<std::size_t>(id)] == id)
      all += static_cast<std::int64_t>(graph.desc(id).bytes());
  EXPECT_LT(plan.arena_bytes, all * 3 / 5);
}

TEST(MemoryPlan, NeedsHalfTheArenaIn16Bits) {
  const auto arena = [](const Backend& backend, Precision precision) {
    const Program program = make_program(test::made_workload("resnet20", 32), backend, {Entry::train}, precision);
    return static_cast<double>(program.entry(Entry::train)->plan.arena_bytes);
  };
  const test::EveryComposite everything;
  const double fp32 = arena(everything, Precision::fp32), bf16 = arena(everything, Precision::bf16);
  EXPECT_EQ(arena(everything, Precision::fp16), bf16);
  EXPECT_EQ(arena(everything, Precision::tf32), fp32);
  EXPECT_GT(bf16, 0.5 * fp32);  // statistics and masks do not shrink
  EXPECT_LT(bf16, 0.6 * fp32);
}

TEST(MemoryPlan, CountsParametersAndState) {
  const Program program =
      make_program(test::made_workload("lenet5", 64), *make_cpu_backend(2), {Entry::train, Entry::evaluate});
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
