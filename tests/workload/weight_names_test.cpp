// Names under which weights are published.
#include "src/workload/weight_names.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/text.h"
#include "src/workload/workload.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

std::set<std::string> names_in_files(const std::string& model) {
  std::set<std::string> names;
  for (const Variable& variable : model_variables(test::made_workload(model, 1)))
    names.insert(variable.file_layout.tensor.empty() ? variable.name : variable.file_layout.tensor);
  return names;
}

// The spellings of those who publish weights: the file is read as one with the names here.
TEST(WeightNames, AreKnownInOtherSpellings) {
  struct Spelling {
    const char* model;
    std::vector<std::pair<const char*, const char*>> renamings;
  };
  const std::vector<Spelling> spellings{
      {"bert-tiny:layers=1,sequence=16", {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}},
      {test::kSmallGpt2, {{"transformer.", ""}}},
      {test::kSmallGpt2, {{"transformer.", "module.transformer."}}},
      {test::kSmallLlama, {{"model.", "_orig_mod.model."}}},
      {test::kSmallVit,
       {{"conv_proj.", "patch_embed.proj."},
        {"class_token", "cls_token"},
        {"encoder.pos_embedding", "pos_embed"},
        {"encoder.layers.encoder_layer_", "blocks."},
        {".ln_1.", ".norm1."},
        {".ln_2.", ".norm2."},
        {".self_attention.in_proj_", ".attn.qkv."},
        {".self_attention.out_proj.", ".attn.proj."},
        {".mlp.0.", ".mlp.fc1."},
        {".mlp.3.", ".mlp.fc2."},
        {"encoder.ln.", "norm."},
        {"heads.head.", "head."}}},
      {"resnet50:classes=3,height=64,width=64",
       {{"layer1.", "resnet.encoder.stages.0.layers."},
        {"layer2.", "resnet.encoder.stages.1.layers."},
        {"layer3.", "resnet.encoder.stages.2.layers."},
        {"layer4.", "resnet.encoder.stages.3.layers."},
        {"downsample.0.", "shortcut.convolution."},
        {"downsample.1.", "shortcut.normalization."},
        {".conv1.", ".layer.0.convolution."},
        {".bn1.", ".layer.0.normalization."},
        {".conv2.", ".layer.1.convolution."},
        {".bn2.", ".layer.1.normalization."},
        {".conv3.", ".layer.2.convolution."},
        {".bn3.", ".layer.2.normalization."},
        {"fc.", "classifier.1."}}}};
  for (const auto& [model, renamings] : spellings) {
    const std::set<std::string> names = names_in_files(model);
    for (const std::string& name : names) {
      std::string published = name;
      for (const auto& [here, there] : renamings) replace_all(published, here, there);
      EXPECT_EQ(name_here(published, [&](const std::string& each) { return names.contains(each); }), name) << published;
    }
  }
  // Parts that are one tensor here.
  const auto is_key = [](const std::string& name) { return name == "encoder.layers.encoder_layer_0.self_attention.key.bias"; };
  EXPECT_TRUE(is_key(name_here("vit.encoder.layer.0.attention.attention.key.bias", is_key)));
  EXPECT_EQ(name_here("other", [](const std::string&) { return false; }), "other");
}

TEST(WeightNames, APrefixIsSharedByWholeParts) {
  EXPECT_EQ(shared_prefix({"model.net.fc.bias", "model.net.fc.weight", "model.net.bn1.bias"}), "model.net.");
  EXPECT_EQ(shared_prefix({"layer1.weight", "layer2.weight"}), "");
  EXPECT_EQ(shared_prefix({"a.b"}), "a.");
  EXPECT_EQ(shared_prefix({"a.b", ""}), "");
  EXPECT_EQ(shared_prefix({}), "");
}

TEST(WeightNames, BuffersAndOtherHeadsAreLeftOut) {
  for (const char* name : {"bert.pooler.dense.weight", "module.cls.seq_relationship.bias", "h.0.attn.bias", "lm_head.weight"})
    EXPECT_TRUE(is_left_out(name)) << name;
  for (const char* name : {"fc.weight", "bert.encoder.layer.0.output.dense.bias", "h.0.attn.c_attn.bias", ""})
    EXPECT_FALSE(is_left_out(name)) << name;
  EXPECT_FALSE(is_left_out(std::string(1 << 20, '.') + "attn.bias"));
}

}  // namespace
}  // namespace epochbench
