// Steps to which the model of expected times is fitted: on GPUs, as others published them (bench/throughputs.json), and on
// CPUs, from results/.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/predict/time_fit.h"

namespace epochbench::bench {

// One step per row of a tuned setting, or of the others. Errors: FormatError, CallError for a model or device that does not
// exist.
std::vector<MeasuredStep> published_steps(const std::string& path, bool tuned);

// The median step of each case trained on all cores with default settings. `folder` has the results that are named in the table
// of measured_steps.cpp. Errors: FormatError.
std::vector<MeasuredStep> own_steps(const std::string& folder);

// The median step of each case trained on a GPU, which no fit uses. Errors: as above.
std::vector<OwnStep> own_gpu_steps(const std::string& folder);

// The model of expected times, and the errors of each kind's steps, in their order.
struct FittedTimes {
  FittedFactors gpu, tuned_gpu, cpu;
  std::vector<OwnStep> own;
};
FittedTimes fit_times(const std::vector<MeasuredStep>& gpu, const std::vector<MeasuredStep>& tuned_gpu,
                      const std::vector<MeasuredStep>& cpu, std::vector<OwnStep> own);

// The contents of bench/time_model.json: the factors, and the hashes of the inputs.
Json time_model_json(const FittedTimes& times, const std::string& root);

}  // namespace epochbench::bench
