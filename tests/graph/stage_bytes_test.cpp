// The pass that stages images as bytes: what it replaces, where, and what stays as it was.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "src/workload/workload.h"
#include "support/every_composite.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

std::vector<float> half_everywhere(const WorkloadSpec& workload) {
  return std::vector<float>(static_cast<std::size_t>(256 * workload.model.family->sample(workload.config).channels), 0.5f);
}

Program staged_program(const std::string& model, const Backend& backend, Precision precision, bool bytes) {
  const WorkloadSpec workload = test::made_workload(model, 4);
  return make_program(workload, backend, test::kAllEntries, precision, true,
                      bytes ? half_everywhere(workload) : std::vector<float>());
}

std::vector<const Node*> readers_of(const Graph& graph, ValueId value) {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes)
    if (std::ranges::count(node.inputs, value) > 0) found.push_back(&node);
  return found;
}

std::vector<std::string> names_of_nodes(const std::vector<const Node*>& nodes) {
  std::vector<std::string> found;
  for (const Node* node : nodes) found.push_back(node->name);
  return found;
}

// The values are those that readers of the images, or of their cast, had before.
TEST(StageBytes, OneNodeReadsTheBytesAndTakesThePlaceOfTheImagesOrTheirCast) {
  for (const char* model : {"lenet5", "mlp", "resnet20"})
    for (Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
      const test::EveryComposite backend;
      const Program floats = staged_program(model, backend, precision, false),
                    bytes = staged_program(model, backend, precision, true);
      EXPECT_EQ(images_of(floats), DType::f32);
      EXPECT_EQ(images_of(bytes), DType::u8);
      const bool is_16_bit = precision == Precision::bf16 || precision == Precision::fp16;
      for (Entry entry : test::kAllEntries) {
        SCOPED_TRACE(std::string(model) + " " + name(precision) + " " + name(entry));
        const Graph &before = floats.entry(entry)->graph, &after = bytes.entry(entry)->graph;
        const ValueId images = 0;
        ASSERT_EQ(after.value(images).name, "images");
        EXPECT_EQ(after.desc(images).dtype, DType::u8);
        EXPECT_EQ(after.inputs[0].desc, after.desc(images));
        EXPECT_EQ(4 * after.inputs[0].desc.bytes(), before.inputs[0].desc.bytes());
        const auto nodes = readers_of(after, images);
        ASSERT_EQ(names_of_nodes(nodes), std::vector<std::string>{"images.decode"});
        const Node& decode = *nodes[0];
        EXPECT_EQ(decode.op, Op::decode_pixels);
        const std::size_t at = static_cast<std::size_t>(&decode - after.nodes.data());
        ValueId replaced = images;
        if (is_16_bit) {
          ASSERT_EQ(before.nodes[at].name, "images.cast");
          replaced = before.nodes[at].outputs[0];
        }
        EXPECT_EQ(after.nodes.size(), before.nodes.size() + (is_16_bit ? 0 : 1));
        EXPECT_EQ(after.desc(decode.outputs[0]), before.desc(replaced));
        EXPECT_EQ(names_of_nodes(readers_of(after, decode.outputs[0])), names_of_nodes(readers_of(before, replaced)));
        for (std::size_t i = 0; i < at; ++i) EXPECT_EQ(std::ranges::count(after.nodes[i].inputs, decode.outputs[0]), 0);
        EXPECT_EQ(flops(after), flops(before));
        EXPECT_EQ(flops(after, decode), 0);
      }
      EXPECT_LT(memory(bytes).total(), memory(floats).total());
      ASSERT_EQ(bytes.variables.size(), floats.variables.size() + 1);
      const auto table = std::ranges::find(bytes.variables, "pixel_values", &Variable::name);
      EXPECT_EQ(table->role, VariableRole::control);
      EXPECT_EQ(table->initializer.values, half_everywhere(test::made_workload(model, 4)));
    }
}

TEST(StageBytes, ChangesNothingWithoutImagesAValueTableOrAKernel) {
  const test::EveryComposite without([](const Node&node) { return node.op == Op::decode_pixels; }), with;
  EXPECT_EQ(images_of(staged_program("lenet5", without, Precision::bf16, true)), DType::f32);
  EXPECT_EQ(images_of(staged_program("lenet5", *make_cpu_backend(1), Precision::fp32, true)), DType::f32);
  EXPECT_EQ(images_of(staged_program("bert-tiny", with, Precision::bf16, false)), std::nullopt);
  const WorkloadSpec text = test::made_workload("bert-tiny", 4);
  const Program program = make_program(text, with, {Entry::train}, Precision::bf16, true, std::vector<float>(256));
  EXPECT_EQ(program.variables.size(), make_program(text, with, {Entry::train}, Precision::bf16).variables.size());
  for (const Node& node : program.entry(Entry::train)->graph.nodes) EXPECT_NE(node.op, Op::decode_pixels);
}

// Where something else reads the float images as well.
TEST(StageBytes, ACastThatIsNotTheOnlyReaderStays) {
  Graph graph;
  const ValueId images = graph.add_input("images", {{2, 3, 3, 1}, DType::f32});
  const ValueId cast = graph.add_node(Op::cast, CastAttributes{DType::bf16}, {images}, "images.cast")[0];
  graph.add_node(Op::relu, {}, {cast}, "in 16 bits");
  graph.add_node(Op::relu, {}, {images}, "in 32");
  stage_bytes(graph, std::vector<float>(256), [](const Graph&, const Node&) { return true; });
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[0].op, Op::decode_pixels);
  const ValueId decoded = graph.nodes[0].outputs[0];
  EXPECT_EQ(graph.desc(decoded).dtype, DType::f32);
  EXPECT_EQ(names_of_nodes(readers_of(graph, decoded)), (std::vector<std::string>{"images.cast", "in 32"}));
  EXPECT_EQ(names_of_nodes(readers_of(graph, images)), std::vector<std::string>{"images.decode"});
}

TEST(StageBytes, AnotherNumberOfChannelsIsAnError) {
  const WorkloadSpec workload = test::made_workload("resnet20", 4);
  EXPECT_THROW(make_program(workload, test::EveryComposite(), {Entry::train}, Precision::fp32, true, std::vector<float>(256)),
               GraphError);
}

TEST(StageBytes, TypesOfTheOp) {
  Graph graph;
  const auto input = [&](DType dtype, Shape shape) {
    return graph.add_input("v" + std::to_string(graph.inputs.size()), {std::move(shape), dtype});
  };
  const ValueId x = input(DType::u8, {2, 5, 4, 3}), table = input(DType::f32, {3, 256});
  const auto decode = [&](DType to, ValueId pixels, ValueId values) {
    return graph.desc(graph.add_node(Op::decode_pixels, CastAttributes{to}, {pixels, values}, "decode")[0]);
  };
  for (DType to : {DType::f32, DType::bf16, DType::f16}) EXPECT_EQ(decode(to, x, table), (TensorDesc{{2, 5, 4, 3}, to}));
  EXPECT_THROW(decode(DType::i32, x, table), GraphError);
  EXPECT_THROW(decode(DType::f32, input(DType::f32, {2, 5, 4, 3}), table), GraphError);
  EXPECT_THROW(decode(DType::f32, x, input(DType::f32, {1, 256})), GraphError);
  EXPECT_THROW(decode(DType::f32, x, input(DType::f32, {3, 255})), GraphError);
  EXPECT_THROW(decode(DType::f32, x, input(DType::bf16, {3, 256})), GraphError);
  EXPECT_THROW(graph.set_input_type(graph.nodes[0].outputs[0], DType::f32), GraphError);
}

}  // namespace
}  // namespace epochbench
