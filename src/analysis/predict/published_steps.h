// bench/throughputs.json: training steps that others measured and published. Facts, never our own measurements.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/precision.h"

namespace epochbench {

struct PublishedStep {
  std::string device;  // id of the catalog
  std::string model;
  Precision precision = Precision::fp32;
  std::string setting;
  bool tuned = false;  // a setting by the GPU's maker or the model's authors, not what most people run
  std::int64_t batch = 0;
  double seconds = 0;
  double rate() const { return static_cast<double>(batch) / seconds; }  // samples per second
};

struct PublishedSteps {
  std::map<std::string, std::string> settings;  // whose program, and what it ran, in words
  std::vector<PublishedStep> steps;
};

// `source` names the text in messages. Errors: FormatError.
PublishedSteps parse_published_steps(std::string_view text, const std::string& source);
const PublishedSteps& embedded_published_steps();

}  // namespace epochbench
