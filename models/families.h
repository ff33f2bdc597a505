// The model families of the registry, one file per family.
#pragma once

#include "epochbench/model.h"

namespace epochbench {

ModelFamily mlp_family();
ModelFamily lenet5_family();
ModelFamily resnet20_family();
std::vector<ModelFamily> resnet_families();  // 18, 34, 50, 101, 152

ModelFamily mobilenet_v2_family();
std::vector<ModelFamily> efficientnet_families();  // b0, b2
std::vector<ModelFamily> nasnet_families();        // mobile, large

std::vector<ModelFamily> bert_families();   // tiny, base, large
std::vector<ModelFamily> gpt2_families();   // 124M, medium, large, xl
std::vector<ModelFamily> llama_families();  // 15m, 110m, 7b
std::vector<ModelFamily> vit_families();    // b-16, s-16
std::vector<ModelFamily> lstm_families();   // lstm, lstm-lm

inline constexpr std::int64_t kByteTokens = 256;  // token ids of text read as bytes
constexpr std::int64_t kMaxClasses = 1'000'000;   // largest value of an option
// The sample of families with the options height, width and classes: an image of three channels.
SampleSpec sized_image(const ModelConfig& config);

// `channels` times `multiplier`, rounded to a multiple of 8 that is at least 90 % of it, as in torchvision's _make_divisible.
std::int64_t scaled_channels(std::int64_t channels, double multiplier);

// Why units cannot be divided into heads with these options; empty if they can.
std::string problem_of_heads(const std::map<std::string, std::int64_t>& options);

}  // namespace epochbench
