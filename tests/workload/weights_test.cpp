// Weights and traces in files: order and names of other frameworks, and files that do not match a model.
#include "src/workload/weights.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/workload/trace.h"
#include "src/workload/workload.h"
#include "support/data_files.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using test::TemporaryFolder;
using testing::ElementsAre;

CaseSpec spec_of(const std::string& model, std::int64_t batch) {
  CaseSpec spec;
  spec.model = find_model(model);
  spec.data = find_model(model).family->default_data;
  spec.batch = batch;
  spec.threads = 2;
  spec.dropout = 0;
  return spec;
}

std::vector<float> tensor(SafetensorsFile& file, const std::string& name) {
  const SafetensorsTensor& found = file.tensors().at(name);
  std::vector<float> values((found.end - found.begin) / sizeof(float));
  file.read(found, std::as_writable_bytes(std::span(values)));
  return values;
}

std::vector<float> value_of(const Executable& executable, const Variable& variable) {
  std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
  executable.read(variable.name, values);
  return values;
}

TEST(FileOrder, PutsChannelsBeforeHeightAndWidth) {
  // [1, 2, 3, 2] -> [1, 2, 2, 3]
  const FileLayout layout{{1, 2, 3, 2}, {1, 2, 2, 3}};
  const std::vector<float> here{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<float> there = to_file_order(layout, here);
  EXPECT_THAT(there, ElementsAre(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
  EXPECT_EQ(from_file_order(layout, there), here);
  EXPECT_EQ(to_file_order({}, here), here);
  EXPECT_THROW(to_file_order({{1, 2, 3, 3}, {1, 3, 2, 3}}, here), std::invalid_argument);
}

TEST(FileOrder, CoversConvolutionsAndColumnsAfterFlatten) {
  const std::vector<Variable> variables = model_variables(workload_spec(spec_of("lenet5", 2)));
  const auto layout = [&](const std::string& name) {
    return std::find_if(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == name; })->file_layout;
  };
  EXPECT_EQ(layout("conv2.weight"), (FileLayout{{16, 5, 5, 6}, {16, 6, 5, 5}}));
  EXPECT_EQ(layout("fc1.weight"), (FileLayout{{120, 5, 5, 16}, {120, 400}}));
  EXPECT_EQ(layout("fc2.weight"), FileLayout{});
  EXPECT_EQ(layout("conv2.bias"), FileLayout{});
}

// A depthwise weight is [channels, 1, rows, columns] in files, and squeeze-and-excitation is 1x1 convolutions.
TEST(FileOrder, CoversDepthwiseConvolutionsAndSqueezeExcitation) {
  const std::vector<Variable> variables = model_variables(workload_spec(spec_of("efficientnet-b0", 2)));
  const auto layout = [&](const std::string& name) {
    return std::find_if(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == name; })->file_layout;
  };
  EXPECT_EQ(layout("features.3.0.block.1.0.weight"), (FileLayout{{1, 5, 5, 144}, {144, 1, 5, 5}}));
  EXPECT_EQ(layout("features.3.0.block.2.fc1.weight"), (FileLayout{.shape = {6, 144, 1, 1}}));
  EXPECT_EQ(layout("classifier.1.weight"), FileLayout{});
}

// timm's names and shapes.
TEST(FileOrder, CoversSeparableConvolutions) {
  const std::vector<Variable> variables = model_variables(workload_spec(spec_of("nasnet-mobile", 2)));
  const auto layout = [&](const std::string& name) {
    return std::find_if(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == name; })->file_layout;
  };
  EXPECT_EQ(layout("cell_stem_0.comb_iter_0_right.separable_1.depthwise_conv2d.weight"),
            (FileLayout{{1, 7, 7, 32}, {32, 1, 7, 7}}));
  EXPECT_EQ(layout("cell_6.path_2.conv.weight"), (FileLayout{{44, 1, 1, 264}, {44, 264, 1, 1}}));
  EXPECT_EQ(layout("last_linear.weight"), FileLayout{});
}

TEST(Weights, RoundTripThroughAFile) {
  const TemporaryFolder folder;
  for (const char* model :
       {"mlp:width=20", "lenet5", "resnet20", "vit-s-16:layers=1,units=48,heads=3,patch=16,height=32,width=32",
        test::kSmallGpt2, test::kSmallLlama, test::kSmallMobileNet, test::kSmallEfficientNet, test::kSmallNasNet}) {
    const WorkloadSpec workload = workload_spec(spec_of(model, 2));
    const auto backend = make_cpu_backend(1);
    const Program program = make_program(workload, *backend, {Entry::train});
    const auto saved = backend->compile(program), loaded = backend->compile(program);
    initialize(*saved, program, 1);
    initialize(*loaded, program, 2);
    write_weights(*saved, program.variables, folder.path() / "w");
    read_weights(*loaded, program.variables, folder.path() / "w");
    for (const Variable& variable : model_variables(workload))
      EXPECT_EQ(value_of(*loaded, variable), value_of(*saved, variable)) << model << ", " << variable.name;
  }
}

TEST(Weights, HaveTheNamesAndShapesOfTorchvision) {
  const TemporaryFolder folder;
  const auto backend = make_cpu_backend(1);
  const Program program = make_program(workload_spec(spec_of("resnet18", 1)), *backend, {Entry::train});
  const auto executable = backend->compile(program);
  initialize(*executable, program, 0);
  write_weights(*executable, program.variables, folder.path() / "w");
  SafetensorsFile file(folder.path() / "w");
  EXPECT_EQ(file.tensors().size(), 102u);  // 62 parameters, 20 batch norms with two statistics each
  const auto shape = [&](const char* name) { return file.tensors().at(name).shape; };
  EXPECT_EQ(shape("conv1.weight"), (Shape{64, 3, 7, 7}));
  EXPECT_EQ(shape("layer2.0.downsample.0.weight"), (Shape{128, 64, 1, 1}));
  EXPECT_EQ(shape("layer4.1.bn2.running_var"), Shape{512});
  EXPECT_EQ(shape("fc.weight"), (Shape{1000, 512}));
  // One element computed by hand: output channel 5, input channel 2, row 1, column 3.
  std::vector<float> here(64 * 7 * 7 * 3);
  executable->read("conv1.weight", here);
  EXPECT_EQ(tensor(file, "conv1.weight")[((5 * 3 + 2) * 7 + 1) * 7 + 3], here[((5 * 7 + 1) * 7 + 3) * 3 + 2]);
}

TEST(Weights, HaveTheNamesOfHuggingFace) {
  std::set<std::string> names;
  for (const Variable& variable : model_variables(workload_spec(spec_of("bert-tiny", 1)))) names.insert(variable.name);
  EXPECT_EQ(names.size(), 42u);  // 5 of the embeddings, 16 per layer, 5 of the head
  for (const char* name :
       {"bert.embeddings.word_embeddings.weight", "bert.embeddings.position_embeddings.weight",
        "bert.embeddings.token_type_embeddings.weight", "bert.embeddings.LayerNorm.bias",
        "bert.encoder.layer.0.attention.self.query.weight", "bert.encoder.layer.1.attention.output.LayerNorm.weight",
        "bert.encoder.layer.1.intermediate.dense.bias", "bert.encoder.layer.1.output.dense.weight", "cls.predictions.bias",
        "cls.predictions.transform.dense.weight", "cls.predictions.transform.LayerNorm.weight"})
    EXPECT_TRUE(names.contains(name)) << name;
}

// Weights of linear layers are transposed there; query, key and value are the columns of one tensor.
TEST(Weights, OfGpt2AreHuggingFaces) {
  const TemporaryFolder folder;
  const auto backend = make_cpu_backend(1);
  const Program program = make_program(workload_spec(spec_of(test::kSmallGpt2, 1)), *backend, {Entry::train});
  const auto executable = backend->compile(program);
  initialize(*executable, program, 0);
  write_weights(*executable, program.variables, folder.path() / "w");
  SafetensorsFile file(folder.path() / "w");
  EXPECT_EQ(file.tensors().size(), 2u + 2 * 12 + 2);  // tables, 12 per layer, the last norm; the head is the first table
  const auto shape = [&](const std::string& name) { return file.tensors().at(name).shape; };
  EXPECT_EQ(shape("transformer.wte.weight"), (Shape{320, 64}));
  EXPECT_EQ(shape("transformer.wpe.weight"), (Shape{1024, 64}));
  EXPECT_EQ(shape("transformer.ln_f.bias"), Shape{64});
  const std::string layer = "transformer.h.1.";
  EXPECT_EQ(shape(layer + "ln_2.weight"), Shape{64});
  EXPECT_EQ(shape(layer + "attn.c_attn.weight"), (Shape{64, 192}));
  EXPECT_EQ(shape(layer + "attn.c_attn.bias"), Shape{192});
  EXPECT_EQ(shape(layer + "mlp.c_fc.weight"), (Shape{64, 256}));
  EXPECT_EQ(shape(layer + "mlp.c_proj.weight"), (Shape{256, 64}));
  // Elements computed by hand: input 7 of the key's output 5, and input 200 of an output 3.
  std::vector<float> key(64 * 64), projection(64 * 256);
  executable->read(layer + "attn.key.weight", key);
  executable->read(layer + "mlp.c_proj.weight", projection);
  EXPECT_EQ(tensor(file, layer + "attn.c_attn.weight")[7 * 192 + 64 + 5], key[5 * 64 + 7]);
  EXPECT_EQ(tensor(file, layer + "mlp.c_proj.weight")[200 * 64 + 3], projection[3 * 256 + 200]);
}

// Parts of joint products are tensors of their own there, and the table of rotations is none.
TEST(Weights, OfLlamaAreHuggingFaces) {
  std::map<std::string, Shape> shapes;
  for (const Variable& variable : model_variables(workload_spec(spec_of(test::kSmallLlama, 1))))
    shapes[variable.name] = variable.desc.shape;
  EXPECT_EQ(shapes.size(), 1u + 2 * 9 + 1);  // the table, 9 per layer, the last norm; the head is the table
  EXPECT_EQ(shapes.at("model.embed_tokens.weight"), (Shape{320, 96}));
  EXPECT_EQ(shapes.at("model.norm.weight"), Shape{96});
  const std::string layer = "model.layers.1.";
  EXPECT_EQ(shapes.at(layer + "input_layernorm.weight"), Shape{96});
  EXPECT_EQ(shapes.at(layer + "self_attn.q_proj.weight"), (Shape{96, 96}));
  EXPECT_EQ(shapes.at(layer + "self_attn.k_proj.weight"), (Shape{32, 96}));
  EXPECT_EQ(shapes.at(layer + "self_attn.v_proj.weight"), (Shape{32, 96}));
  EXPECT_EQ(shapes.at(layer + "self_attn.o_proj.weight"), (Shape{96, 96}));
  EXPECT_EQ(shapes.at(layer + "post_attention_layernorm.weight"), Shape{96});
  EXPECT_EQ(shapes.at(layer + "mlp.gate_proj.weight"), (Shape{80, 96}));
  EXPECT_EQ(shapes.at(layer + "mlp.up_proj.weight"), (Shape{80, 96}));
  EXPECT_EQ(shapes.at(layer + "mlp.down_proj.weight"), (Shape{96, 80}));
  const auto untied = model_variables(workload_spec(spec_of("llama-7b:layers=1,units=8,heads=2,hidden=8,vocabulary=9", 1)));
  EXPECT_EQ(untied.back().name, "lm_head.weight");
}

// Query, key and value are the rows of one tensor there.
TEST(Weights, OfAVisionTransformerAreTorchvisions) {
  const TemporaryFolder folder;
  const auto backend = make_cpu_backend(1);
  const Program program = make_program(workload_spec(spec_of(test::kSmallVit, 1)), *backend, {Entry::train});
  const auto executable = backend->compile(program);
  initialize(*executable, program, 0);
  write_weights(*executable, program.variables, folder.path() / "w");
  SafetensorsFile file(folder.path() / "w");
  EXPECT_EQ(file.tensors().size(), 32u);  // 4 before the layers, 12 in each, 4 behind them
  const auto shape = [&](const std::string& name) { return file.tensors().at(name).shape; };
  EXPECT_EQ(shape("conv_proj.weight"), (Shape{64, 3, 8, 8}));
  EXPECT_EQ(shape("class_token"), (Shape{1, 1, 64}));
  EXPECT_EQ(shape("encoder.pos_embedding"), (Shape{1, 13, 64}));
  const std::string layer = "encoder.layers.encoder_layer_1.";
  EXPECT_EQ(shape(layer + "self_attention.in_proj_weight"), (Shape{192, 64}));
  EXPECT_EQ(shape(layer + "self_attention.in_proj_bias"), Shape{192});
  EXPECT_EQ(shape(layer + "self_attention.out_proj.weight"), (Shape{64, 64}));
  EXPECT_EQ(shape(layer + "mlp.0.weight"), (Shape{256, 64}));
  EXPECT_EQ(shape(layer + "mlp.3.bias"), Shape{64});
  EXPECT_EQ(shape("heads.head.weight"), (Shape{1000, 64}));
  std::vector<float> key(64 * 64);
  executable->read(layer + "self_attention.key.weight", key);
  const std::vector<float> joint = tensor(file, layer + "self_attention.in_proj_weight");
  EXPECT_TRUE(std::equal(key.begin(), key.end(), joint.begin() + 64 * 64));
}

// Files that differ from the model in one tensor.
class CheckWeights : public testing::Test {
 protected:
  using Tensors = std::vector<std::pair<std::string, TensorDesc>>;
  CheckWeights() {
    for (const Variable& variable : variables)
      tensors.push_back(
          {variable.name, {variable.file_layout.shape.empty() ? variable.desc.shape : variable.file_layout.shape}});
  }
  void check() const {
    SafetensorsWriter writer(folder.path() / "w", tensors);
    for (const auto& [name, desc] : tensors) writer.write(std::vector<std::byte>(desc.bytes()));
    writer.finish();
    check_weights(WeightFiles(folder.path() / "w"), variables);
  }
  TensorDesc& desc(const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(), [&](const auto& entry) { return entry.first == name; })->second;
  }
  const std::vector<Variable> variables = model_variables(workload_spec(spec_of("resnet20", 1)));
  Tensors tensors;
  TemporaryFolder folder;
};

TEST_F(CheckWeights, AcceptsItsOwnFile) { EXPECT_NO_THROW(check()); }

TEST_F(CheckWeights, IgnoresBuffersThatOnlyFrameworksWrite) {
  for (const char* name : {"bn1.num_batches_tracked", "bert.embeddings.position_ids", "cls.predictions.decoder.weight",
                           "lm_head.weight", "transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"})
    tensors.push_back({name, {{2}, DType::i32}});
  EXPECT_NO_THROW(check());
}

TEST_F(CheckWeights, RefusesAnExtraTensor) {
  tensors.push_back({"layer1.0.conv3.weight", {{2, 3}, DType::f32}});
  expect_data_error([&] { check(); }, {"w'", "no tensor 'layer1.0.conv3.weight' of F32[2, 3]", "--init"});
}

TEST_F(CheckWeights, RefusesAMissingTensor) {
  std::erase_if(tensors, [](const auto& entry) { return entry.first == "layer3.0.downsample.0.weight"; });
  expect_data_error([&] { check(); }, {"'layer3.0.downsample.0.weight' of F32[64, 32, 1, 1] is missing"});
}

TEST_F(CheckWeights, RefusesAnotherShapeAndNamesBoth) {
  desc("conv1.weight").shape = {16, 3, 3, 4};
  expect_data_error([&] { check(); }, {"'conv1.weight' is F32[16, 3, 3, 4], the model's is F32[16, 3, 3, 3]"});
  desc("conv1.weight").shape = {16, 27};
  expect_data_error([&] { check(); }, {"'conv1.weight' is F32[16, 27]"});
}

TEST_F(CheckWeights, RefusesAnotherDtype) {
  desc("fc.bias").dtype = DType::i32;
  expect_data_error([&] { check(); }, {"'fc.bias' is I32[10], the model's is F32[10]"});
}

TEST_F(CheckWeights, Takes16BitsAndHeadsOfOtherTasks) {
  desc("fc.bias").dtype = DType::bf16;
  desc("fc.weight").dtype = DType::f16;
  for (const char* name : {"cls.seq_relationship.weight", "bert.pooler.dense.bias", "pooler.dense.weight",
                           "model.layers.0.self_attn.rotary_emb.inv_freq"})
    tensors.push_back({name, {{2}, DType::f32}});
  EXPECT_NO_THROW(check());
  tensors.push_back({"module.fc.bias", {{10}, DType::f32}});
  expect_data_error([&] { check(); }, {"has tensor 'fc.bias' twice, again as 'module.fc.bias'"});
}

// As PyTorch Lightning and OpenMMLab call the tensors of a network that is a member of another module.
TEST_F(CheckWeights, TakesNamesThatAllBeginAlike) {
  tensors.push_back({"bn1.num_batches_tracked", {{2}, DType::i32}});
  for (const char* prefix : {"backbone.", "model._orig_mod."}) {
    for (auto& [name, desc] : tensors) name.insert(0, prefix);
    EXPECT_NO_THROW(check()) << prefix;
  }
  tensors.push_back({"ema.fc.bias", {{10}, DType::f32}});
  expect_data_error([&] { check(); }, {"no tensor 'ema.fc.bias' of F32[10]"});
}

TEST_F(CheckWeights, AMismatchedFileChangesNothing) {
  const auto backend = make_cpu_backend(1);
  const Program program = make_program(workload_spec(spec_of("resnet20", 1)), *backend, {Entry::train});
  const auto executable = backend->compile(program);
  initialize(*executable, program, 3);
  const std::vector<float> before = value_of(*executable, variables.front());
  tensors.pop_back();
  EXPECT_THROW(check(), DataError);
  EXPECT_THROW(read_weights(*executable, program.variables, folder.path() / "w"), DataError);
  EXPECT_EQ(value_of(*executable, variables.front()), before);
}

// Runs `steps` training steps of a case as its process does, and finishes it.
std::vector<double> train(const CaseSpec& spec, int steps) {
  PreparedCase prepared = prepare_case(spec);
  prepared.batches->begin_training(0);
  std::vector<StepRecord> records;
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    const BatchSource::Batch batch = prepared.batches->next();
    prepared.executable->submit(batch.slot);
    prepared.executable->run(Entry::train);
    prepared.executable->synchronize();
    records.clear();
    prepared.executable->drain(records);
    losses.push_back(records.at(0).loss);
    if (prepared.after_step) prepared.after_step(batch.slot, losses.back());
    prepared.batches->release(batch.slot);
  }
  if (prepared.finish) prepared.finish();
  return losses;
}

TEST(Init, ContinuesFromSavedWeights) {
  const TemporaryFolder folder;
  CaseSpec first = spec_of("resnet20", 4), second = first;
  first.save = second.init = (folder.path() / "w").string();
  first.learning_rate = 0.01;
  second.seed = 7;  // different weights unless they come from the file
  train(first, 3);
  check_files(second);
  PreparedCase prepared = prepare_case(second);
  SafetensorsFile file(second.init);
  for (const char* name : {"fc.weight", "bn1.running_mean"}) {
    std::vector<float> values(tensor(file, name).size());
    prepared.executable->read(name, values);
    EXPECT_EQ(values, tensor(file, name)) << name;
  }
  EXPECT_NE(tensor(file, "bn1.running_mean")[0], 0);
}

TEST(Trace, HoldsWhatTheRunConsumedAndProduced) {
  const TemporaryFolder folder;
  CaseSpec spec = spec_of("lenet5", 3);
  spec.trace = (folder.path() / "trace").string();
  const std::vector<double> losses = train(spec, 2);
  const std::filesystem::path trace = spec.trace;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(trace), {}), 5);

  SafetensorsFile step(trace / "step-000001.safetensors");
  EXPECT_EQ(step.tensors().at("images").shape, (Shape{3, 1, 28, 28}));
  EXPECT_EQ(step.tensors().at("labels").shape, Shape{3});
  EXPECT_EQ(step.tensors().at("labels").dtype, "I32");
  EXPECT_EQ(step.tensors().at("loss").shape, Shape{});
  EXPECT_EQ(tensor(step, "loss").at(0), static_cast<float>(losses[1]));

  SafetensorsFile initial(trace / "initial.safetensors"), final(trace / "final.safetensors");
  EXPECT_NE(tensor(initial, "fc3.bias"), tensor(final, "fc3.bias"));
  const auto backend = make_cpu_backend(1);
  const Program program = make_program(workload_spec(spec), *backend, {Entry::train});
  const auto executable = backend->compile(program);
  initialize(*executable, program, spec.seed);
  std::vector<float> bias(10);
  executable->read("fc3.bias", bias);
  EXPECT_EQ(tensor(initial, "fc3.bias"), bias);

  std::ifstream file(trace / "trace.json");
  const std::string json(std::istreambuf_iterator<char>(file), {});
  for (const char* part : {"\"model\": \"lenet5\"", "\"precision\": \"fp32\"", "\"steps\": 2", "\"name\": \"adamw\"", "0.003"})
    EXPECT_THAT(json, testing::HasSubstr(part));
}

// The reference backend stages bytes, the CPU floats; another framework gets the same images.
TEST(Trace, HoldsFloatsOfImagesThatTravelAsBytes) {
  const TemporaryFolder folder;
  test::write_idx_folder(folder, 28, 28, 20, 8);
  std::vector<std::vector<float>> images;
  for (DeviceKind kind : {DeviceKind::cpu, DeviceKind::reference}) {
    CaseSpec spec = spec_of("lenet5", 3);
    spec.data = "idx:" + folder.path().string();
    spec.device.kind = kind;
    const std::filesystem::path trace = folder.path() / name(kind);
    spec.trace = trace.string();
    train(spec, 1);
    SafetensorsFile step(trace / "step-000000.safetensors");
    EXPECT_EQ(step.tensors().at("images").shape, (Shape{3, 1, 28, 28}));
    images.push_back(tensor(step, "images"));
  }
  EXPECT_EQ(images[0], images[1]);
  EXPECT_NE(images[0][0], images[0][1]);
}

TEST(Trace, TextTraceHoldsItsMasks) {
  const TemporaryFolder folder;
  CaseSpec spec = spec_of("bert-tiny:sequence=16", 3);
  spec.trace = folder.path().string();
  train(spec, 1);
  SafetensorsFile step(folder.path() / "step-000000.safetensors");
  EXPECT_EQ(step.tensors().at("input_ids").shape, (Shape{3, 16}));
  EXPECT_EQ(step.tensors().at("masked_positions").shape, (Shape{3, 2}));
  EXPECT_EQ(step.tensors().at("labels").shape, (Shape{3, 2}));
}

TEST(Trace, OfNextTokensHoldsIdsAndLabels) {
  const TemporaryFolder folder;
  CaseSpec spec = spec_of(test::kSmallGpt2, 3);
  spec.trace = folder.path().string();
  train(spec, 1);
  SafetensorsFile step(folder.path() / "step-000000.safetensors");
  EXPECT_EQ(step.tensors().at("input_ids").shape, (Shape{3, 24}));
  EXPECT_FALSE(step.tensors().contains("masked_positions"));
  EXPECT_EQ(step.tensors().at("labels").shape, (Shape{3, 24}));
}

TEST(CheckFiles, ReportsUnwritableFilesBeforeAnythingRuns) {
  const TemporaryFolder folder;
  folder.write("file", "");
  CaseSpec spec = spec_of("lenet5", 2);
  spec.trace = folder.path().string();
  expect_data_error([&] { check_files(spec); }, {"has files in it already", "--trace"});
  spec.trace = (folder.path() / "file").string();
  expect_data_error([&] { check_files(spec); }, {"--trace"});
  spec.trace = (folder.path() / "new").string();
  EXPECT_NO_THROW(check_files(spec));
  EXPECT_FALSE(std::filesystem::exists(spec.trace));
  spec.trace = (folder.path() / "missing" / "new").string();
  expect_data_error([&] { check_files(spec); }, {"cannot be made", "--trace"});
  spec.mode = Mode::forward;
  EXPECT_THROW(check_files(spec), std::invalid_argument);
  spec.trace.clear();
  spec.save = (folder.path() / "missing" / "w").string();
  expect_data_error([&] { check_files(spec); }, {"cannot be written", "--save"});
  spec.save = folder.path().string();
  expect_data_error([&] { check_files(spec); }, {"cannot be written", "--save"});
  spec.save = (folder.path() / "w").string();
  EXPECT_NO_THROW(check_files(spec));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "w"));
  spec.init = (folder.path() / "file").string();
  expect_data_error([&] { check_files(spec); }, {"not a safetensors file"});
}

}  // namespace
}  // namespace epochbench
