// Makes the factors of expected_time.h from measured steps, and says how well they predict devices left out of the fit.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/predict/expected_time.h"

namespace epochbench {

// A measured step of one kind of device: of a published row or of one of our results.
struct MeasuredStep {
  std::string device;  // the catalog's id
  std::string source;  // the setting of a published row, or the file of a result
  std::string model;   // with precision and batch, for tables
  Demands demands{};
  double bound_seconds = 0;  // by the roofline
  double seconds = 0;
  int cores = 0;  // of a CPU
};

// Factors that minimize the sum over devices of sqrt(log(expected / measured)^2 + 0.05^2), where the steps of a device weigh
// the square root of their number: an outlier counts by its distance, not by its square. A factor that no step demands is 0.
// Deterministic: a search along each axis with steps that are halved. Precondition: at least one step.
Demands fit_factors(const std::vector<MeasuredStep>& steps, bool is_gpu);

// What the fit without a step's device, or without its source, says of the step.
struct LeftOutStep {
  bool predicted = true;  // false: it waits for launches, and none of the other steps of its device does
  double log_ratio = 0;   // log(expected / measured)
  bool within = false;    // whether it is in the interval from the ratios of all other devices or sources
};

struct FittedFactors {
  TimeFactors kind;
  std::vector<LeftOutStep> by_device, by_source;  // of each step
};
// Leaves each device and each source out of a separate fit. The interval is that of the middle 80 % of these ratios, or wider
// if the one from the others contains less than 80 % of the steps of devices left out, or less than 75 % of those of sources.
// Precondition: steps of at least two devices and sources.
FittedFactors fit_with_left_out(const std::vector<MeasuredStep>& steps, bool is_gpu, const std::string& evidence,
                                const std::string& program);

}  // namespace epochbench
