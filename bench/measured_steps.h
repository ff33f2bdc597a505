// Steps that the model of expected times is fitted on: of GPUs as others published them (bench/throughputs.json), of CPUs as
// results/ has them.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/predict/time_fit.h"

namespace epochbench::bench {

// Of every row. Errors: FormatError, CallError for a model or device that does not exist.
std::vector<MeasuredStep> published_steps(const std::string& path);

// Of the runs that trained a model as it is by default, on all cores: their median. `folder`: with the results that are named
// in the table of measured_steps.cpp. Errors: FormatError.
std::vector<MeasuredStep> own_steps(const std::string& folder);

// The model of expected times, and the errors of each kind's steps, in their order.
struct FittedTimes {
  FittedFactors gpu, cpu;
};
FittedTimes fit_times(const std::vector<MeasuredStep>& gpu, const std::vector<MeasuredStep>& cpu);

// What bench/time_model.json has: the factors, and the hashes of the inputs.
Json time_model_json(const FittedTimes& times, const std::string& root);

}  // namespace epochbench::bench
