// The sections of the page of answers, one function each, and what they share: which runs they speak of, and in which words.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/speedup/speedup.h"
#include "src/report/answers/answers_page.h"

namespace epochbench {

// answer_speed.cpp
AnswerSection speed_section(const std::vector<Run>& runs, const Speedup& speedup);
AnswerSection utilization_section(const std::vector<Run>& runs);
AnswerSection precision_section(const std::vector<Run>& runs, const Speedup& speedup);

// answer_costs.cpp
AnswerSection cost_section(const std::vector<Run>& runs, const Speedup& speedup);
AnswerSection batch_section(const Result& result);
AnswerSection input_section(const Result& result);

// answer_parts.cpp
std::string ratio_text(const Estimate& estimate);       // "12.3x (11.9 to 12.8)", "12.3x (no interval: ...)"
std::string workload_text(const Workload& workload);    // "resnet50 b32"
std::string side_text(const SpeedupSide& side);         // "cuda bf16"
std::string repetitions_text(std::size_t repetitions);  // ", median of 5 repetitions"; "" of one

bool usable(const Run& run);  // ok, with its times and its throughput
bool on_gpu(const Run& run);

struct Repeated : RunGroup {  // in order of throughput
  const Run& median() const { return *runs[(runs.size() - 1) / 2]; }
};

// The workloads that ran in more than one precision or on more than one device are those that the speed is asked of; where
// there are none, all that trained on synthetic data.
std::vector<Repeated> compared_workloads(const std::vector<Run>& runs);

// Of the repetitions that know it, so that a disturbed one does not speak for all; empty where none does.
std::optional<double> median_over(const Repeated& work, const std::function<std::optional<double>(const Run&)>& of);

// Whether the baseline has a handicap: such a pair does not say how fast a device is.
bool has_handicap(const SpeedupPair& pair);

// Of each workload the pair in fp32 on both devices, and the GPU at its fastest over the CPU at its fastest: not the largest
// ratio, which the slowest of the CPU's runs would make.
std::vector<const SpeedupPair*> gpu_over_cpu(const Speedup& speedup);

}  // namespace epochbench
