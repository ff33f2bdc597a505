// The precision pass: which tensors of real models are 16-bit, which products are tf32, and what stays as it was.
#include "epochbench/precision.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "src/workload/workload.h"
#include "support/made_workload.h"
#include "support/print.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

Program program_of(const std::string& model, Precision precision) {
  return make_program(test::made_workload(model, 4), *make_reference_backend(), {Entry::train, Entry::evaluate, Entry::forward},
                      precision);
}

// How often each output of each op is an intermediate with floats.
using Census = std::map<std::string, int>;
Census census(const Graph& graph, DType dtype) {
  Census found;
  for (const Node& node : graph.nodes)
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (graph.value(node.outputs[i]).kind == ValueKind::intermediate && graph.desc(node.outputs[i]).dtype == dtype)
        ++found[name(node.op) + (i > 0 ? "#" + std::to_string(i) : std::string())];
  return found;
}

std::vector<const Node*> nodes_of(const Graph& graph, Op op) {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes)
    if (node.op == op) found.push_back(&node);
  return found;
}

const Graph& train_graph(const Program& program) { return program.entry(Entry::train)->graph; }

struct Mixed {
  const char* model;
  Census f32;                       // intermediates that stay float
  int weights, all_variables;       // cast to 16 bits, of how many parameters
  std::vector<std::string> inputs;  // cast to 16 bits
};
void PrintTo(const Mixed& mixed, std::ostream* out) { *out << mixed.model; }

class MixedModel : public testing::TestWithParam<std::tuple<Mixed, Precision>> {
 protected:
  const Mixed& mixed() const { return std::get<0>(GetParam()); }
  Precision precision() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(
    Models, MixedModel,
    testing::Combine(testing::Values(Mixed{"lenet5", {{"cross_entropy", 1}, {"cross_entropy#1", 1}}, 10, 10, {"images"}},
                                     Mixed{"resnet20",
                                           {{"cross_entropy", 1},
                                            {"cross_entropy#1", 1},
                                            {"batch_norm#1", 21},
                                            {"batch_norm#2", 21},
                                            {"batch_norm_grad#1", 21},
                                            {"batch_norm_grad#2", 21}},
                                           23,
                                           23 + 2 * 21,
                                           {"images"}},
                                     Mixed{"bert-tiny",
                                           {{"cross_entropy", 1},
                                            {"cross_entropy#1", 1},
                                            {"layer_norm#1", 6},
                                            {"layer_norm#2", 6},
                                            {"layer_norm_grad#1", 6},
                                            {"layer_norm_grad#2", 6},
                                            {"attention#1", 2},
                                            {"embedding_grad", 1},
                                            {"add_rows_grad", 2}},
                                           30,
                                           30 + 2 * 6,
                                           {}}),
                     testing::Values(Precision::bf16, Precision::fp16)));

TEST_P(MixedModel, OnlyStatisticsLossesAndTablesGradientsStayFloat) {
  const Program program = program_of(mixed().model, precision());
  EXPECT_EQ(census(train_graph(program), DType::f32), mixed().f32);
  for (Entry entry : {Entry::train, Entry::evaluate, Entry::forward})
    EXPECT_EQ(census(program.entry(entry)->graph, precision() == Precision::bf16 ? DType::f16 : DType::bf16), Census{});
}

TEST_P(MixedModel, OneNodeCastsAllWeightsThatProductsRead) {
  const Program program = program_of(mixed().model, precision());
  for (Entry entry : {Entry::train, Entry::evaluate, Entry::forward}) {
    const Graph& graph = program.entry(entry)->graph;
    const std::vector<const Node*> casts = nodes_of(graph, Op::cast);
    ASSERT_EQ(casts.size(), 1 + mixed().inputs.size());
    EXPECT_EQ(casts[0], graph.nodes.data());
    EXPECT_EQ(casts[0]->inputs.size(), static_cast<std::size_t>(mixed().weights));
    for (ValueId id : casts[0]->inputs) EXPECT_EQ(graph.value(id).kind, ValueKind::variable) << graph.value(id).name;
    for (std::size_t i = 0; i < mixed().inputs.size(); ++i) {
      ASSERT_EQ(casts[1 + i]->inputs.size(), 1u);
      EXPECT_EQ(graph.value(casts[1 + i]->inputs[0]).name, mixed().inputs[i]);
    }
  }
}

TEST_P(MixedModel, VariablesAreThoseOfFp32AndFloat) {
  const Program mixed_program = program_of(mixed().model, precision()), plain = program_of(mixed().model, Precision::fp32);
  std::vector<std::string> names, expected;
  int parameters = 0;
  for (const Variable& variable : mixed_program.variables) {
    EXPECT_TRUE(variable.desc.dtype == DType::f32 || variable.desc.dtype == DType::i32) << variable.name;
    names.push_back(variable.name);
    parameters += variable.role == VariableRole::parameter;
  }
  EXPECT_EQ(parameters, mixed().all_variables);
  for (const Variable& variable : plain.variables) expected.push_back(variable.name);
  if (precision() == Precision::fp16) expected.insert(expected.end(), {"loss_scale", "finite_steps", "skipped_steps"});
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(expected));
}

// Random numbers are keyed by ordinal, so dropout draws the same masks; profiles group by it.
TEST_P(MixedModel, ForwardNodesKeepNamesAndOrdinals) {
  const Program mixed_program = program_of(mixed().model, precision()), plain = program_of(mixed().model, Precision::fp32);
  for (Entry entry : {Entry::train, Entry::evaluate, Entry::forward}) {
    std::vector<std::pair<std::string, int>> names, expected;
    std::set<int> cast_ordinals;
    for (const Node& node : plain.entry(entry)->graph.nodes) {
      if (node.op == Op::cross_entropy_grad) break;  // the backward half begins
      expected.emplace_back(node.name, node.ordinal);
    }
    for (const Node& node : mixed_program.entry(entry)->graph.nodes) {
      if (node.op == Op::cast)
        EXPECT_TRUE(cast_ordinals.insert(node.ordinal).second && node.ordinal >= static_cast<int>(expected.size()))
            << node.name;
      else if (names.size() < expected.size())
        names.emplace_back(node.name, node.ordinal);
    }
    EXPECT_EQ(names, expected);
    for (const Output& output : plain.entry(entry)->graph.outputs)
      EXPECT_NE(mixed_program.entry(entry)->graph.output(output.name), kNoValue) << output.name;
  }
}

TEST_P(MixedModel, ArenaAndTrafficShrinkAndProductsCountAlike) {
  const Program mixed_program = program_of(mixed().model, precision()), plain = program_of(mixed().model, Precision::fp32);
  const auto total = [](const Program& program, double (*count)(const Graph&, const Node&)) {
    double sum = 0;
    for (const Node& node : train_graph(program).nodes)
      if (node.op != Op::cast && node.op != Op::all_finite && node.op != Op::sgd && node.op != Op::adamw)
        sum += count(train_graph(program), node);
    return sum;
  };
  EXPECT_EQ(total(mixed_program, flops), total(plain, flops));
  EXPECT_LT(total(mixed_program, bytes), 0.6 * total(plain, bytes));  // half, and what stays float
  EXPECT_LT(memory(mixed_program).gradients, memory(plain).gradients);
  EXPECT_EQ(memory(mixed_program).parameters, memory(plain).parameters);
}

TEST(Cast, CountsBothTypesBytes) {
  const Program program = program_of("lenet5", Precision::bf16);
  const Node& cast = *nodes_of(train_graph(program), Op::cast)[0];
  EXPECT_EQ(bytes(train_graph(program), cast), 61706.0 * (4 + 2));
}

TEST(LossScale, IsPartOfFp16Alone) {
  for (Precision precision : kPrecisions) {
    const Program program = program_of("lenet5", precision);
    const std::size_t expected = precision == Precision::fp16;
    EXPECT_EQ(nodes_of(train_graph(program), Op::all_finite).size(), expected) << name(precision);
    EXPECT_EQ(nodes_of(train_graph(program), Op::update_loss_scale).size(), expected) << name(precision);
    EXPECT_EQ(nodes_of(train_graph(program), Op::cross_entropy_grad)[0]->inputs.size(), 3 + expected) << name(precision);
    const Node& optimizer = *nodes_of(train_graph(program), Op::adamw)[0];
    EXPECT_EQ(std::get<AdamwAttributes>(optimizer.attributes).loss_scaled, expected == 1) << name(precision);
    EXPECT_EQ(optimizer_layout(optimizer).parameters, 10) << name(precision);
  }
}

TEST(Tf32, MarksEveryProductInBothDirectionsAndNothingElse) {
  const std::set<Op> products{
      Op::matmul,           Op::conv2d,     Op::conv2d_grad_input, Op::conv2d_grad_weight,   Op::attention,
      Op::attention_grad,   Op::linear,     Op::conv2d_bias,       Op::linear_grad_weight,   Op::linear_gelu,
      Op::matmul_gelu_grad, Op::matmul_add, Op::joint_attention,   Op::joint_attention_grad, Op::lstm,
      Op::lstm_grad};
  for (const char* model : {"lenet5", "resnet20", "bert-tiny", "lstm-lm"})
    for (Precision precision : {Precision::tf32, Precision::fp32}) {
      const Program program = program_of(model, precision);
      for (const Node& node : train_graph(program).nodes)
        EXPECT_EQ(is_tf32(node.attributes), precision == Precision::tf32 && products.count(node.op)) << node.name;
      EXPECT_EQ(census(train_graph(program), DType::f16).size() + census(train_graph(program), DType::bf16).size(), 0u);
    }
}

TEST(Precision, TheCpuBackendRefusesWhatItLacksWithAReason) {
  const auto backend = make_cpu_backend(1);
  for (Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16}) {
    try {
      make_program(test::made_workload("lenet5", 4), *backend, {Entry::train}, precision);
      EXPECT_EQ(precision, Precision::bf16) << name(precision) << " was accepted";
    } catch (const GraphError& error) {
      EXPECT_NE(precision, Precision::bf16) << error.what();
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("CPU"), HasSubstr(name(precision))));
    }
  }
}

// As they were before there was a precision pass: results of earlier versions stay comparable.
TEST(Fingerprint, OfEveryModelStays) {
  const std::map<std::string, std::string> known{
      {"mlp", "183eb6f5387bbcfc27a14bcd4f2c24d9"},       {"lenet5", "7cba53a0e92c5b8cc576929c50eed2e4"},
      {"resnet20", "9bfc92529e9c7b0e9c0b086de396ab2f"},  {"resnet18", "aa6c683c69dda948c757a3e2d90eeb72"},
      {"resnet34", "04223715bfe8297f633c6bfa6b22acd7"},  {"resnet50", "1cf9b94bc357330ff61763b815b1ef4c"},
      {"resnet101", "50c85d810c9992ce8e37ac1b398406b8"}, {"resnet152", "428f827f26564c9e147ae4ef1e33c117"},
      {"bert-tiny", "b9f54f348cad5a05f6be2365ac832ebc"}, {"bert-base", "5a129676be10d2377a549c31c2cc8278"},
      {"bert-large", "10443e6ef884bcf65c1db9488f2ed3ff"}};
  for (const auto& [model, fingerprint] : known) {
    const WorkloadSpec workload = test::made_workload(model, find_model(model).family->default_batch);
    EXPECT_EQ(count(workload).fingerprint, fingerprint) << model;
  }
}

}  // namespace
}  // namespace epochbench
