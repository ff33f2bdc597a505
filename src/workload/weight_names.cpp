#include "src/workload/weight_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxName = 256;  // no published model has longer ones

struct Spelling {
  std::string_view there, here;  // parts of ".NAME"
};

// What wraps a model adds to its names (DistributedDataParallel, torch.compile), and the names of Google's BERT.
constexpr std::array kWrappers{Spelling{"._orig_mod.", "."}, Spelling{".module.", "."},
                               Spelling{".LayerNorm.gamma", ".LayerNorm.weight"},
                               Spelling{".LayerNorm.beta", ".LayerNorm.bias"}};
// timm's vision transformers.
constexpr std::array kTimmVit{Spelling{".patch_embed.proj.", ".conv_proj."},
                              Spelling{".cls_token", ".class_token"},
                              Spelling{".pos_embed", ".encoder.pos_embedding"},
                              Spelling{".blocks.", ".encoder.layers.encoder_layer_"},
                              Spelling{".norm1.", ".ln_1."},
                              Spelling{".norm2.", ".ln_2."},
                              Spelling{".attn.qkv.", ".self_attention.in_proj_"},
                              Spelling{".attn.proj.", ".self_attention.out_proj."},
                              Spelling{".mlp.fc1.", ".mlp.0."},
                              Spelling{".mlp.fc2.", ".mlp.3."},
                              Spelling{".norm.", ".encoder.ln."},
                              Spelling{".head.", ".heads.head."}};
// Hugging Face's.
constexpr std::array kHubVit{Spelling{".vit.", "."},
                             Spelling{".embeddings.patch_embeddings.projection.", ".conv_proj."},
                             Spelling{".embeddings.cls_token", ".class_token"},
                             Spelling{".embeddings.position_embeddings", ".encoder.pos_embedding"},
                             Spelling{".encoder.layer.", ".encoder.layers.encoder_layer_"},
                             Spelling{".layernorm_before.", ".ln_1."},
                             Spelling{".layernorm_after.", ".ln_2."},
                             Spelling{".attention.attention.", ".self_attention."},
                             Spelling{".attention.output.dense.", ".self_attention.out_proj."},
                             Spelling{".intermediate.dense.", ".mlp.0."},
                             Spelling{".output.dense.", ".mlp.3."},
                             Spelling{".layernorm.", ".encoder.ln."},
                             Spelling{".classifier.", ".heads.head."}};
// Hugging Face's ResNets.
constexpr std::array kHubResnet{Spelling{".resnet.", "."},
                                Spelling{".embedder.embedder.convolution.", ".conv1."},
                                Spelling{".embedder.embedder.normalization.", ".bn1."},
                                Spelling{".encoder.stages.0.layers.", ".layer1."},
                                Spelling{".encoder.stages.1.layers.", ".layer2."},
                                Spelling{".encoder.stages.2.layers.", ".layer3."},
                                Spelling{".encoder.stages.3.layers.", ".layer4."},
                                Spelling{".shortcut.convolution.", ".downsample.0."},
                                Spelling{".shortcut.normalization.", ".downsample.1."},
                                Spelling{".layer.0.convolution.", ".conv1."},
                                Spelling{".layer.0.normalization.", ".bn1."},
                                Spelling{".layer.1.convolution.", ".conv2."},
                                Spelling{".layer.1.normalization.", ".bn2."},
                                Spelling{".layer.2.convolution.", ".conv3."},
                                Spelling{".layer.2.normalization.", ".bn3."},
                                Spelling{".classifier.1.", ".fc."}};

template <std::size_t kCount>
std::string respelled(std::string name, const std::array<Spelling, kCount>& spellings) {
  name.insert(0, ".");
  for (const auto& [there, here] : spellings) replace_all(name, there, here);
  return name.substr(1);
}

}  // namespace

std::string name_here(const std::string& published, const std::function<bool(const std::string&)>& known) {
  if (known(published) || published.size() > kMaxName) return published;
  const std::string name = respelled(published, kWrappers);
  // Files of a module without its head lack the name that the whole module gives it.
  for (const char* module : {"", "bert.", "transformer.", "model."})
    if (known(module + name)) return module + name;
  for (const std::string& other : {respelled(name, kTimmVit), respelled(name, kHubVit), respelled(name, kHubResnet)})
    if (known(other)) return other;
  return published;
}

std::string shared_prefix(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string_view shared = names.front();
  for (const std::string& name : names)
    shared = shared.substr(0, static_cast<std::size_t>(std::ranges::mismatch(shared, name).in1 - shared.begin()));
  const std::size_t dot = shared.rfind('.');
  return std::string(shared.substr(0, dot == std::string_view::npos ? 0 : dot + 1));
}

bool is_left_out(const std::string& published) {
  if (published.size() > kMaxName) return false;
  const std::string name = "." + respelled(published, kWrappers);
  for (std::string_view ending :
       {".num_batches_tracked", ".position_ids", ".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"})
    if (name.ends_with(ending)) return true;
  // A decoder that shares the word embedding's memory, and heads of other tasks.
  for (std::string_view begin :
       {".cls.predictions.decoder.", ".cls.seq_relationship.", ".bert.pooler.", ".pooler.", ".vit.pooler.", ".lm_head."})
    if (name.starts_with(begin)) return true;
  return false;
}

}  // namespace epochbench
