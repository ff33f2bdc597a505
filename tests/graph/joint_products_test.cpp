// The pass that makes one product of query, key and value, or of gate and up: what it makes of BERT and Llama, where it leaves
// a graph as it is, and where the joint values lie.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "src/backend/host/program_layout.h"
#include "src/graph/passes.h"
#include "src/workload/workload.h"
#include "support/every_composite.h"
#include "support/made_workload.h"
#include "support/op_counts.h"

namespace epochbench {
namespace {

using test::count_ops;
using test::EveryComposite;

Program bert(Precision precision, const Backend& backend = EveryComposite()) {
  return make_program(test::made_workload("bert-tiny:sequence=16", 4), backend, test::kAllEntries, precision);
}

// Per layer: query, key and value, three more linear layers; one product instead of three per direction and operand.
TEST(JointAttention, MakesOneProductOfQueryKeyAndValueInEachDirection) {
  for (Precision precision : kPrecisions) {
    SCOPED_TRACE(name(precision));
    const Program program = bert(precision);
    auto train = count_ops(program.entry(Entry::train)->graph);
    EXPECT_EQ(train[Op::joint_attention], 2);
    EXPECT_EQ(train[Op::joint_attention_grad], 2);
    EXPECT_EQ(train[Op::attention] + train[Op::attention_grad], 0);
    EXPECT_EQ(train[Op::linear] + train[Op::linear_gelu], 2 * (1 + 3) + 2);  // the last two are the head's
    EXPECT_EQ(train[Op::linear_grad_weight], 2 * (1 + 3) + 2);
    EXPECT_EQ(train[Op::matmul_add], 2 * (1 + 1));
    for (Entry entry : {Entry::evaluate, Entry::forward}) {
      auto ops = count_ops(program.entry(entry)->graph);
      EXPECT_EQ(ops[Op::joint_attention], 2);
      EXPECT_EQ(ops[Op::linear] + ops[Op::linear_gelu], 2 * (1 + 3) + 2);
    }
  }
}

// Per layer one product instead of three, another instead of two, and one rotation in each direction; all norms but the first
// include the sum before them.
TEST(JointProducts, OfLlamaIncludeItsRotationsAndItsGates) {
  for (Precision precision : kPrecisions) {
    SCOPED_TRACE(name(precision));
    const Program program =
        make_program(test::made_workload(test::kSmallLlama, 4), EveryComposite(), test::kAllEntries, precision);
    for (Entry entry : test::kAllEntries) {
      const bool train = entry == Entry::train;
      auto ops = count_ops(program.entry(entry)->graph);
      for (Op op : {Op::joint_attention, Op::joint_swiglu}) EXPECT_EQ(ops[op], 2);
      for (Op op : {Op::joint_attention_grad, Op::joint_swiglu_grad}) EXPECT_EQ(ops[op], train ? 2 : 0);
      for (Op op : {Op::attention, Op::attention_grad, Op::swiglu, Op::swiglu_grad}) EXPECT_EQ(ops[op], 0);
      EXPECT_EQ(ops[Op::rotary], train ? 4 : 2);
      EXPECT_EQ(ops[Op::rms_norm], 1);
      EXPECT_EQ(ops[Op::add_rms_norm], 4);
      EXPECT_EQ(ops[Op::rms_norm_grad], train ? 5 : 0);
      EXPECT_EQ(ops[Op::matmul] + ops[Op::matmul_add], (2 * 4 + 1) * (train ? 3 : 1));
    }
    for (const Node& node : program.entry(Entry::train)->graph.nodes)
      if (node.op == Op::rotary) {
        EXPECT_EQ(std::get<RotaryAttributes>(node.attributes).heads, 6 + 2);  // of query and key
      }
  }
}

// A backend that lacks one direction of a joint op runs the parts.
TEST(JointProducts, OfLlamaKeepFlopsAndArePartsWhereTheBackendHasNone) {
  const WorkloadSpec workload = test::made_workload(test::kSmallLlama, 4);
  const Program joint = make_program(workload, EveryComposite(), test::kAllEntries, Precision::bf16);
  for (Op missing : {Op::joint_attention_grad, Op::joint_swiglu_grad, Op::add_rms_norm}) {
    const Program apart = make_program(workload, EveryComposite([=](const Node& node) { return node.op == missing; }),
                                       test::kAllEntries, Precision::bf16);
    auto ops = count_ops(apart.entry(Entry::train)->graph);
    EXPECT_EQ(ops[missing], 0);
    EXPECT_EQ(ops[Op::attention], missing == Op::joint_attention_grad ? 2 : 0);
    EXPECT_EQ(ops[Op::swiglu_grad], missing == Op::joint_swiglu_grad ? 2 : 0);
    EXPECT_EQ(ops[Op::rms_norm], missing == Op::add_rms_norm ? 5 : 1);
    EXPECT_EQ(flops(apart.entry(Entry::train)->graph), flops(joint.entry(Entry::train)->graph));
  }
}

TEST(JointAttention, KeepsFlopsOrdinalsAndVariables) {
  const Program joint = bert(Precision::bf16);
  const Program apart = bert(Precision::bf16, EveryComposite([](const Node& node) { return node.op == Op::joint_attention; }));
  ASSERT_EQ(count_ops(apart.entry(Entry::train)->graph)[Op::attention], 2);
  const auto sum = [](const Graph& graph) {
    double flops = 0;
    for (const Node& node : graph.nodes) flops += epochbench::flops(graph, node);
    return flops;
  };
  const auto masks = [](const Graph& graph) {
    std::vector<int> ordinals;
    for (const Node& node : graph.nodes)
      if (std::holds_alternative<AttentionAttributes>(node.attributes)) ordinals.push_back(node.ordinal);
    return ordinals;
  };
  for (Entry entry : test::kAllEntries) {
    EXPECT_EQ(sum(joint.entry(entry)->graph), sum(apart.entry(entry)->graph));
    EXPECT_EQ(masks(joint.entry(entry)->graph), masks(apart.entry(entry)->graph));
  }
  ASSERT_EQ(joint.variables.size(), apart.variables.size());
  for (std::size_t i = 0; i < joint.variables.size(); ++i) EXPECT_EQ(joint.variables[i].name, apart.variables[i].name);
}

// Members follow each other without a gap, in the order query, key, value, in the arena and among the variables.
TEST(JointAttention, ValuesLieSideBySide) {
  for (Precision precision : {Precision::fp32, Precision::bf16}) {
    const Program program = bert(precision);
    const ProgramLayout layout(program);
    std::vector<std::byte> variables(layout.variable_bytes()), slots(layout.slot_bytes() * kInputSlots),
        arena(layout.arena_bytes());
    std::map<ValueKind, int> joints;
    for (Entry which : test::kAllEntries) {
      const EntryGraph& entry = *program.entry(which);
      const ValueMemory memory(layout, entry, variables.data(), slots.data(), arena.data());
      for (ValueId id = 0; id < static_cast<ValueId>(entry.graph.value_count()); ++id) {
        const Value& joint = entry.graph.value(id);
        if (joint.members.empty()) continue;
        ++joints[joint.kind];
        auto* next = memory.get<std::byte>(id);
        ASSERT_NE(next, nullptr) << joint.name;
        ASSERT_EQ(joint.members.size(), 3u);
        const char* const parts[] = {"query", "key", "value"};
        for (std::size_t i = 0; i < 3; ++i) {
          const Value& member = entry.graph.value(joint.members[i]);
          if (member.kind == ValueKind::variable) {
            EXPECT_NE(member.name.find(parts[i]), std::string::npos) << member.name;
          }
          EXPECT_EQ(memory.get<std::byte>(joint.members[i]), next) << member.name;
          next += member.desc.bytes();
        }
        EXPECT_EQ(next, memory.get<std::byte>(id) + joint.desc.bytes());
      }
    }
    // Weights and biases of two layers in three entries; their gradients in one. In 16 bits the copies lie side by side, which
    // are variables for training and casts for the others.
    const bool fp32 = precision == Precision::fp32;
    EXPECT_EQ(joints[ValueKind::variable], fp32 ? 12 : 4);
    EXPECT_EQ(joints[ValueKind::intermediate], fp32 ? 4 : 12);
  }
}

struct Change {
  std::int64_t width = 32;
  bool second_input = false;    // of the values
  bool read_query = false;      // by another node
  bool shared_weight = false;   // of query and key
  bool shared_bias = false;     // of key and value
  bool transposed = false;      // the value's weight is stored the other way around
  bool input_of_graph = false;  // the layer's input needs no gradient
  bool shortcut = true;
  bool training = true;
};

ValueId added_parameter(Graph& graph, const std::string& name, Shape shape) {
  return graph.add_variable({name, {std::move(shape), DType::f32}, VariableRole::parameter, {}});
}

// The counts of a graph of one attention layer after fusion.
std::map<Op, int> fused(const Change& change, const EveryComposite& backend = EveryComposite()) {
  Graph graph;
  const Shape shape{6, change.width};
  const ValueId input = graph.add_input("x", {shape, DType::f32});
  const ValueId x =
      change.input_of_graph ? input : graph.add_node(Op::add, {}, {input, added_parameter(graph, "p", shape)}, "add")[0];
  const ValueId other = change.second_input ? graph.add_node(Op::gelu, {}, {x}, "gelu")[0] : x;
  const auto linear = [&](ValueId of, const std::string& name, const std::string& weight, const std::string& bias) {
    const MatmulAttributes attributes{.transpose_b = !change.transposed || name != "v"};
    const ValueId w = added_parameter(graph, weight, {change.width, change.width});
    const ValueId product = graph.add_node(Op::matmul, attributes, {of, w}, name)[0];
    return graph.add_node(Op::bias_add, {}, {product, added_parameter(graph, bias, {change.width})}, name + ".bias")[0];
  };
  const ValueId q = linear(x, "q", "wq", "bq"), k = linear(x, "k", change.shared_weight ? "wq" : "wk", "bk"),
                v = linear(other, "v", "wv", change.shared_bias ? "bk" : "bv");
  const ValueId step = graph.add_variable({"step", {{1}, DType::i32}, VariableRole::control, {}});
  ValueId y = graph.add_node(Op::attention, AttentionAttributes{.heads = 2, .sequence = 3}, {q, k, v, step}, "attention")[0];
  if (change.shortcut) y = graph.add_node(Op::add, {}, {y, x}, "shortcut")[0];
  if (change.read_query) y = graph.add_node(Op::add, {}, {y, q}, "read")[0];
  graph.add_output("y", y);
  const ValueId labels = graph.add_input("labels", {{6}, DType::i32});
  graph.add_output("loss", graph.add_node(Op::cross_entropy, CrossEntropyAttributes{}, {y, labels}, "loss")[0]);
  if (change.training) append_optimizer(graph, {}, append_gradient(graph, graph.output("loss")));
  fuse(graph, [&](const Graph& whole, const Node& node) { return !backend.unsupported(whole, node); });
  return count_ops(graph);
}

TEST(JointAttention, IsMadeWithAndWithoutAShortcutOrAGradientOfTheInput) {
  EXPECT_EQ(fused({})[Op::joint_attention_grad], 1);
  EXPECT_EQ(fused({})[Op::matmul_add], 1);
  auto alone = fused({.shortcut = false});
  EXPECT_EQ(alone[Op::joint_attention_grad], 1);
  EXPECT_EQ(alone[Op::matmul], 1);
  EXPECT_EQ(alone[Op::add], 1);  // of the input, not of its gradients
  auto input = fused({.input_of_graph = true});
  EXPECT_EQ(input[Op::joint_attention_grad], 1);
  EXPECT_EQ(input[Op::matmul] + input[Op::matmul_add], 0);
  EXPECT_EQ(input[Op::linear_grad_weight], 1);
}

TEST(JointAttention, IsLeftApartWhereTheValuesAreNotThoseOfOneLayer) {
  for (const Change& change : {Change{.width = 30}, Change{.second_input = true}, Change{.read_query = true},
                               Change{.read_query = true, .training = false}, Change{.shared_weight = true},
                               Change{.shared_bias = true}, Change{.transposed = true}}) {
    auto ops = fused(change);
    EXPECT_EQ(ops[Op::joint_attention] + ops[Op::joint_attention_grad], 0);
    EXPECT_EQ(ops[Op::attention], 1);
    EXPECT_EQ(ops[Op::attention_grad], change.training);
  }
}

TEST(JointAttention, IsLeftApartWhereTheBackendLacksADirection) {
  for (Op lacking : {Op::joint_attention, Op::joint_attention_grad}) {
    auto ops = fused({}, EveryComposite([=](const Node& node) { return node.op == lacking; }));
    EXPECT_EQ(ops[Op::joint_attention] + ops[Op::joint_attention_grad], 0);
    EXPECT_EQ(ops[Op::attention] + ops[Op::attention_grad], 2);
  }
}

TEST(JointValue, TakesOnlyWhatCanLieSideBySide) {
  Graph graph;
  const auto variable = [&](const std::string& name, Shape shape, DType dtype = DType::f32) {
    return graph.add_variable({name, {std::move(shape), dtype}, VariableRole::parameter, {}});
  };
  const ValueId a = variable("a", {2, 16}), b = variable("b", {3, 16}), narrow = variable("narrow", {2, 15}),
                odd = variable("odd", {15}), one = variable("one", {16}), half = variable("half", {2, 32}, DType::f16);
  const ValueId computed = graph.add_node(Op::relu, {}, {a}, "relu")[0], input = graph.add_input("x", {{2, 16}, DType::f32});
  for (const std::vector<ValueId>& refused : {std::vector{a, a}, {a, narrow}, {odd, one}, {a, half}, {a, computed}, {input, a}})
    EXPECT_FALSE(graph.may_join(refused)) << graph.value(refused[1]).name;
  const ValueId joint = graph.add_joint("joint", {b, a});
  EXPECT_EQ(graph.desc(joint), (TensorDesc{{5, 16}, DType::f32}));
  EXPECT_EQ(graph.value(a).joint, joint);
  const ValueId c = variable("c", {2, 16});
  EXPECT_FALSE(graph.may_join({a, c}));
  EXPECT_THROW(graph.add_joint("again", {c, b}), GraphError);
}

TEST(JointValue, MayNotLieBesideDifferentVariablesInTwoEntries) {
  const auto entry = [](bool swapped) {
    Graph graph;
    std::vector<ValueId> members;
    for (const char* name : {"a", "b"}) members.push_back(added_parameter(graph, name, {16}));
    if (swapped) std::reverse(members.begin(), members.end());
    graph.add_joint("joint", members);
    MemoryPlan plan = plan_memory(graph, [](const Graph&, const Node&) { return std::size_t{0}; });
    return EntryGraph{std::move(graph), std::move(plan)};
  };
  Program program;
  program.entries = {entry(false), entry(false)};
  program.variables = program.entries[0]->graph.variables;
  EXPECT_NO_THROW(ProgramLayout{program});
  program.entries[1] = entry(true);
  EXPECT_THROW(ProgramLayout{program}, std::logic_error);
}

}  // namespace
}  // namespace epochbench
