// What is known about data sets without reading samples, for calls that plan many cases over few data sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "epochbench/dataset.h"

namespace epochbench {

struct DatasetSize {
  std::string name;                  // as Dataset::name()
  std::int64_t train = 0, test = 0;  // samples
  bool synthetic = false;
  std::vector<float> pixel_values = {};  // as Dataset::pixel_values()
};

// Opens each data set once, at its first use, which also checks its contents.
class DatasetSizes {
 public:
  // Errors: as open_dataset.
  DatasetSize of(const std::string& spec, const SampleSpec& sample, std::int64_t nominal_samples,
                 const Tokenizer* tokenizer = nullptr, const ImageOptions& images = {});

 private:
  struct Known {
    std::string spec;
    SampleSpec sample;
    std::int64_t nominal_samples;
    std::string tokenizer;  // its identity; empty: bytes
    ImageOptions images;
    DatasetSize size;
  };
  std::vector<Known> known_;
};

}  // namespace epochbench
