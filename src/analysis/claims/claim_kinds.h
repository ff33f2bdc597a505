// One function per kind of experiment, from a quantity to its answers: one, or one for each of its models.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/claims/claim_runs.h"
#include "src/analysis/claims/claims.h"

namespace epochbench {

// An answer without a measurement: not testable, for this reason. `model` is empty where the answer is not of one of several.
ClaimAnswer unanswered(const ClaimQuantity& quantity, const std::string& model, std::string reason);

// An answer with a measured value in SI units; its verdict follows from the interval, and is undecided without one.
ClaimAnswer answered(const ClaimQuantity& quantity, const std::string& model, const Estimate& estimate, std::string conditions);

// What is known exactly, by arithmetic or by a plan.
Estimate exact(double value);

using Answers = std::vector<ClaimAnswer>;

// claim_ratios.cpp: numbers of runs, beside each other or alone.
Answers answer_ratio(const ClaimQuantity& quantity, const Evidence& evidence);
Answers answer_value(const ClaimQuantity& quantity, const Evidence& evidence);
Answers answer_difference(const ClaimQuantity& quantity, const Evidence& evidence);
Answers answer_error(const ClaimQuantity& quantity, const Evidence& evidence);
Answers answer_error_ratio(const ClaimQuantity& quantity, const Evidence& evidence);

// claim_machine.cpp: the machine's ceilings, and memory.
Answers answer_peak(const ClaimQuantity& quantity, const Evidence& evidence);
Answers answer_weights(const ClaimQuantity& quantity);
Answers answer_memory(const ClaimQuantity& quantity, const Evidence& evidence);

// claim_trends.cpp: does a number grow with a size?
Answers answer_slope(const ClaimQuantity& quantity, const Evidence& evidence);

// claim_input.cpp: how well input feeds a device.
Answers answer_input(const ClaimQuantity& quantity, const Evidence& evidence);

// claim_costs.cpp: from how many hours per month owning is cheaper than renting.
Answers answer_break_even(const ClaimQuantity& quantity, const Evidence& evidence);

// claim_curves.cpp: where do curves cross, flatten or reach?
Answers answer_crossover(const ClaimQuantity& quantity, const Evidence& evidence);
Answers answer_plateau(const ClaimQuantity& quantity, const Evidence& evidence);
Answers answer_cores(const ClaimQuantity& quantity, const Evidence& evidence);

}  // namespace epochbench
