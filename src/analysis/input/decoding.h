// What decoding costs, how much of it the steps hide, and how many cores a device needs that takes so many samples per second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

struct Decoding {  // of a case: means over its repetitions
  std::string name, dataset;
  Input input;
  double cpu_seconds = 0;   // of one core, per training sample
  double wall_seconds = 0;  // as it passed in a thread: above the CPU time, waits for the disk or for a core
  // Of the time that decoding takes in its threads, the part during which no step waited; empty where waits are not known, and
  // where all is decoded beforehand.
  std::optional<double> hidden;
  std::optional<double> device_rate;  // samples/s that the steps would take if they never waited
};

// One per case that decodes, in the order of their first runs.
std::vector<Decoding> decoding_of(const Result& result);

// Cores that decode as fast as a device takes samples.
double cores_needed(const Decoding& decoding, double samples_per_second);

}  // namespace epochbench
