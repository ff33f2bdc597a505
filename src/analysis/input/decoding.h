// What decoding costs, how much of it the steps hide, and how many cores a device with a given sample rate needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

struct Decoding {  // of a case: means over its repetitions
  std::string name, dataset;
  std::string model, device;  // "resnet20", "cpu"
  Input input;
  double cpu_seconds = 0;   // of one core, per training sample
  double wall_seconds = 0;  // elapsed time in a thread: above the CPU time by waits for the disk or for a core
  // The part of the decoding threads' time during which no step waited; empty if waits are unknown or all is decoded before.
  std::optional<double> hidden;
  std::optional<double> device_rate;  // samples/s that the steps would take if they never waited
};

// One per case that decodes, in the order of their first runs.
std::vector<Decoding> decoding_of(const Result& result);

// Those that say how many cores a device needs: of each model on a device the one that costs most of a core, among those that
// decode while steps run. A cost that was added (--decode-cost) counts only where no case is without one.
std::vector<const Decoding*> most_costly(const std::vector<Decoding>& decodings);

// Cores that decode as fast as a device takes samples.
double cores_needed(const Decoding& decoding, double rate);

}  // namespace epochbench
