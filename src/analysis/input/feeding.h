// How well its input feeds a device: runs of one workload that differ only in how samples reach the steps.
//
// On a CPU the loader's threads and the steps may share cores. Then a step hardly waits for data and takes longer all the
// same, which no utilization shows, so throughput stands beside it, over that of runs whose data lie decoded in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/estimate.h"
#include "src/result/result.h"

namespace epochbench {

// The rule of the article: below the first, mend the input before anything else; above the second, the device is well fed.
inline constexpr double kStarvedBelow = 0.7, kFedAbove = 0.9;
enum class Fed : std::uint8_t { starved, partly, well };
Fed fed(double utilization);

struct FeedingRow {  // the ok repetitions of one run
  std::string name;
  Input input;
  std::vector<double> samples_per_second;    // one a repetition
  std::optional<double> data_wait_fraction;  // mean of the repetitions; empty where one does not know it
  std::optional<double> utilization;         // on a GPU gpu_busy_fraction, else 1 - data_wait_fraction; likewise
  std::optional<Fed> state;                  // by the utilization
  Estimate of_decoded;                       // samples/s over those of the group's row whose data lie decoded in memory
  std::vector<double> utilizations;          // one a repetition; empty where one does not know it
};

struct FeedingGroup {    // of one device, workload and decode cost, and of names that differ in nothing but the input
  std::string workload;  // "resnet20/cpu/fp32/b32"
  std::string dataset, mode;
  bool on_gpu = false;
  std::optional<int> threads;  // of the steps, on a CPU
  double decode_cost_seconds = 0;
  std::vector<FeedingRow> rows;        // two or more, in the order of their first runs
  std::optional<std::size_t> decoded;  // the row with decoded data, prefetched where there is one
  // The best fed row's samples/s over the worst fed one's, by utilization, and which these are.
  std::optional<std::size_t> best, worst;
  Estimate gain;
};

// In the order of their first runs. Runs of synthetic data belong to none, nor does one that stands alone.
std::vector<FeedingGroup> feeding(const Result& result);

}  // namespace epochbench
