// How well the input pipeline supplies a device: runs of one workload that differ only in how samples reach the steps.
//
// On a CPU the loader's threads and the steps may share cores. Then a step hardly waits for data but still takes longer, which
// no utilization shows, so throughput is given too, relative to that of runs whose data are decoded in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/figures/estimate.h"
#include "src/result/result.h"

namespace epochbench {

// The rule of the article: below the first, fix the input before anything else; above the second, the device is well supplied.
inline constexpr double kStarvedBelow = 0.7, kWellFedAbove = 0.9;
enum class InputState : std::uint8_t { starved, partly, well };
InputState state_at(double utilization);

struct InputRow {  // the ok repetitions of one run
  std::string name;
  Input input;
  std::vector<double> rates;                 // samples/s, one per repetition
  std::optional<double> data_wait_fraction;  // mean of the repetitions; empty if one does not know it
  std::optional<double> utilization;         // on a GPU gpu_busy_fraction, else 1 - data_wait_fraction; likewise
  std::optional<InputState> state;           // by the utilization
  Estimate of_decoded;                       // samples/s over those of the group's row whose data are decoded in memory
  std::vector<double> utilizations;          // one per repetition; empty if one does not know it
  bool loaded = false;                       // any repetition, by other processes (src/result/load.h)
  bool cold = false;                         // read from the disk (--cold on)
};

struct InputGroup {            // one device, workload and decode cost; settings differ only in input and measurement
  const Run* first = nullptr;  // in the result from which the group was made
  std::string workload;        // for people: "resnet20/cpu/fp32/b32"
  std::string dataset;
  bool on_gpu = false;
  std::optional<int> threads;  // of the steps, on a CPU
  double decode_cost_seconds = 0;
  std::vector<InputRow> rows;          // two or more, in the order of their first runs
  std::optional<std::size_t> decoded;  // the row with decoded data, prefetched if there is one
  // Samples/s of the row with the highest utilization over that with the lowest, and which these are.
  std::optional<std::size_t> best, worst;
  Estimate gain;
};

// In the order of their first runs. Runs of synthetic data belong to no group, nor does a run without others.
std::vector<InputGroup> input_groups(const Result& result);

}  // namespace epochbench
