// A model with its defaults, as tests of the graph and its passes train it.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "src/case/case_spec.h"
#include "src/workload/workload.h"

namespace epochbench::test {

// A vision transformer of 12 patches and 64 units.
inline constexpr const char* kSmallVit = "vit-s-16:layers=2,units=64,heads=2,patch=8,height=32,width=24";

// A masked language model with two layers; half a million of its parameters embed a vocabulary that has no option.
inline constexpr const char* kSmallBert = "bert-tiny:sequence=16,units=16";

// A causal language model with two layers.
inline constexpr const char* kSmallGpt2 = "gpt2:layers=2,units=64,heads=2,sequence=24,vocabulary=320";
// One whose heads share keys and values.
inline constexpr const char* kSmallLlama =
    "llama-15m:layers=2,units=96,heads=6,kv-heads=2,hidden=80,sequence=24,vocabulary=320";
// A quarter as wide, on images of few pixels.
inline constexpr const char* kSmallMobileNet = "mobilenet-v2:width-multiplier=25,height=48,width=40,classes=20";
inline constexpr const char* kSmallEfficientNet = "efficientnet-b0:width-multiplier=25,height=48,width=40,classes=20";
// Few filters, two cells per stage; axes of odd and of even sizes.
inline constexpr const char* kSmallNasNet = "nasnet-mobile:filters=8,cells=2,height=75,width=43,classes=20";

// Models whose forward passes take every op, small.
inline constexpr const char* kForwardModels[] = {
    "mlp:width=96",
    "lenet5",
    "resnet20",
    "resnet20:height=41,width=54",
    "resnet18:height=64,width=70",
    "bert-tiny:sequence=16",
    "gpt2:layers=2,units=48,heads=3,sequence=20,vocabulary=300",
    "llama-15m:layers=2,units=60,heads=6,kv-heads=3,hidden=50,sequence=20,vocabulary=300",
    "vit-s-16:layers=2,units=48,heads=3,patch=8,height=24,width=40",
    kSmallMobileNet,
    kSmallEfficientNet,
    kSmallNasNet,
    "lstm:units=20,sequence=9,vocabulary=50",
    "lstm-lm:units=33,sequence=7,vocabulary=41"};

// A model with options as the name of a test's parameter: letters, digits and underscores.
inline std::string parameter_name(std::string model) {
  std::ranges::replace_if(
      model, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return model;
}

inline const std::vector<Entry> kAllEntries{Entry::train, Entry::evaluate, Entry::forward};

inline WorkloadSpec made_workload(const std::string& model, std::int64_t batch) {
  CaseSpec spec;
  spec.model = find_model(model);
  spec.batch = batch;
  return workload_spec(spec);
}

}  // namespace epochbench::test
