// Cores that a device needs for decoding: of simulated loaders and devices.
#include "src/analysis/input/decoding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

constexpr int kBatch = 64, kPrefetched = 3, kSteps = 300;

struct Simulated {
  double samples_per_second = 0, wait_fraction = 0, decode_seconds = 0;
};

// A loader whose threads decode samples in order, each for a time that varies as files do, into batches, a few of them
// prefetched; and a device that takes a batch in `step_seconds`.
Simulated simulate(int threads, double decode_seconds, double step_seconds) {
  std::mt19937_64 engine(3);
  std::lognormal_distribution<double> varies(-0.5 * 0.4 * 0.4, 0.4);  // of mean 1
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int i = 0; i < threads; ++i) free.push(0);
  std::vector<double> taken;  // when each batch's memory was free again
  double now = 0, waited = 0, decoded = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double opened = step > kPrefetched ? taken[static_cast<std::size_t>(step - kPrefetched - 1)] : 0;
    double ready = 0;
    for (int sample = 0; sample < kBatch; ++sample) {
      const double begin = std::max(free.top(), opened), took = decode_seconds * varies(engine);
      free.pop();
      free.push(begin + took);
      ready = std::max(ready, begin + took);
      decoded += took;
    }
    waited += std::max(0.0, ready - now);
    now = std::max(now, ready) + step_seconds;
    taken.push_back(now);
  }
  return {kBatch * kSteps / now, waited / now, decoded / (kBatch * kSteps)};
}

Result result_of(int threads, const Simulated& simulated) {
  Run run = made_run({"cuda", "bf16", simulated.samples_per_second, kBatch}, 0);
  run.workload.dataset = "images:pictures";
  run.efficiency->data_wait_fraction = simulated.wait_fraction;
  run.input = Input{threads};
  run.input->files = ImageFiles{10, 300, 40, 224, 224};
  run.input->decode_cpu_seconds = run.input->decode_wall_seconds = simulated.decode_seconds;
  return {{}, {run}};
}

// The fewest threads with which the device takes 98 % of what it could.
int min_threads(double decode_seconds, double step_seconds) {
  int threads = 1;
  while (simulate(threads, decode_seconds, step_seconds).samples_per_second < 0.98 * kBatch / step_seconds) ++threads;
  return threads;
}

TEST(Decoding, KnowsTheCoresOfSimulatedDevices) {
  constexpr double kDecodeSeconds = 0.005;
  for (const double device : {400.0, 1000.0, 2900.0, 6000.0}) {  // samples per second
    const double step = kBatch / device;
    const int needed = min_threads(kDecodeSeconds, step);
    for (const int threads : {1, 2, needed}) {  // starved, and fed
      const Decoding decoding = decoding_of(result_of(threads, simulate(threads, kDecodeSeconds, step))).at(0);
      EXPECT_NEAR(cores_needed(decoding, *decoding.device_rate) / needed, 1, 0.1) << device << " with " << threads;
      EXPECT_NEAR(*decoding.device_rate / device, 1, 0.02);
    }
  }
}

TEST(Decoding, IsHiddenWhereStepsDoNotWait) {
  EXPECT_GT(*decoding_of(result_of(8, simulate(8, 0.001, 0.1)))[0].hidden, 0.95);
  EXPECT_LT(*decoding_of(result_of(1, simulate(1, 0.001, 0.001)))[0].hidden, 0.1);
}

TEST(Decoding, SaysWhatADeviceElsewhereNeeds) {
  const Result result = result_of(4, {500, 0, 0.005});
  std::string text = decoding_text(result, 2900);
  replace_all(text, "\n ", "");
  EXPECT_THAT(text, HasSubstr("200 samples/s per thread of 224x224 pixels, 5.00 ms of a core each"));
  EXPECT_THAT(text, HasSubstr("this device at 500 samples/s needs 2.50 cores"));
  EXPECT_THAT(text, HasSubstr("one at 2,900 samples/s needs 14.5 cores"));
  EXPECT_EQ(decoding_text({{}, {made_run({}, 0)}}), "") << "synthetic data are not decoded";
}

TEST(Decoding, SaysWhatIsNeededByTheMostCostlyThatIsNotMadeUp) {
  Result result = result_of(4, {500, 0, 0.005});
  for (const double seconds : {0.007, 0.009, 0.02}) {
    result.runs.push_back(result_of(4, {500, 0, seconds}).runs[0]);
    result.runs.back().name += format_seconds(seconds);
    result.runs.back().settings.emplace("decode_cost", seconds);
  }
  result.runs[2].input->cache = Cache::decoded;
  result.runs[3].input->files.reset();
  const std::string text = decoding_text(result, 1000);
  EXPECT_EQ(text.find("needs"), text.find("needs 3.50 cores")) << text;
  EXPECT_THAT(text, HasSubstr("one at\n  1,000 samples/s needs 7.00 cores\n"));
  EXPECT_EQ(text.rfind("cores: "), text.find("cores: ")) << text;
  Result added = result_of(4, {500, 0, 0.005});
  added.runs[0].input->decode_cost_seconds = 0.002;
  EXPECT_THAT(decoding_text(added, 1000), HasSubstr("cores: ")) << "there is nothing else to answer by";
}

}  // namespace
}  // namespace epochbench
