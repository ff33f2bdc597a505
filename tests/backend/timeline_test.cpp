// How far measured steps are from the device's steady state, on a device whose every duration is known. The executable, the
// runner and the rules of the parent are the real ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "src/backend/cuda/cuda_executable.h"
#include "src/base/statistics.h"
#include "src/graph/passes.h"
#include "src/worker/run_totals.h"
#include "src/worker/runner.h"
#include "src/worker/warm_up_rule.h"
#include "tests/support/cuda_launch.h"
#include "tests/support/timeline_device.h"

namespace epochbench {
namespace {

constexpr double kTalkSeconds = 1e-3;  // between two blocks: the parent reads an answer and decides

// A step that reads a batch and has a loss.
Program small_program() {
  Graph graph;
  const ValueId x = graph.add_input("x", {{1}, DType::f32});
  const ValueId w = graph.add_variable({"w", {{1}, DType::f32}, VariableRole::parameter, {}});
  graph.add_output("loss", graph.add_node(Op::add, {}, {x, w}, "loss")[0]);
  Program program;
  program.variables = graph.variables;
  MemoryPlan plan = plan_memory(graph, [](const Graph&, const Node&) { return std::size_t{0}; });
  program.entries[static_cast<std::size_t>(Entry::train)] = EntryGraph{std::move(graph), std::move(plan)};
  return program;
}

// Batches that are there at once: on the device from the start, or each to be copied. A slot is filled again only when its step
// is done.
class TimelineBatches final : public BatchSource {
 public:
  explicit TimelineBatches(bool resident) : resident_(resident) {}
  Batch next() override {
    const auto slot = static_cast<InputSlot>(handed_out_ % kInputSlots);
    if (!resident_ && in_use_[static_cast<std::size_t>(slot)]) throw std::logic_error("a slot whose step is not done");
    in_use_[static_cast<std::size_t>(slot)] = true;
    return {slot, 1, handed_out_++ < kInputSlots || !resident_};
  }
  void release(InputSlot slot) override { in_use_[static_cast<std::size_t>(slot)] = false; }
  std::int64_t steps_per_epoch() const override { return 100; }
  void begin_training(std::uint64_t) override {}
  void begin_evaluation() override {}
  bool resident() const override { return resident_; }

 private:
  bool resident_;
  std::int64_t handed_out_ = 0;
  std::array<bool, kInputSlots> in_use_{};
};

struct Timed {
  double step_seconds = 0, median_seconds = 0;  // the mean is what throughput follows from
  double shortest_block_seconds = 1e9, total_seconds = 0, warm_up_seconds = 0;
  std::int64_t min_block_steps = 1 << 30;
  double longest_step_seconds = 0;
};

// What the parent of a case does (src/worker/case_driver.cpp), with the process of the case in place.
Timed measure(double step_seconds, bool resident, WarmUpRule warm_up = WarmUpRule::by_time()) {
  test::set_launch_hook([](cuda::Stream, const std::function<void()>&) {});
  const auto device = std::make_shared<test::TimelineDevice>(test::TimelineSpeeds{.step_seconds = step_seconds});
  CudaExecutable executable(device, small_program(), [](const std::vector<CudaNodePlace>& places) {
    return std::vector<CudaNode>(places.size(), CudaNode{[](cuda::Stream) {}, "timeline"});
  });
  TimelineBatches batches(resident);
  Runner runner(
      executable, batches, Entry::train, [&] { return device->now(); }, [] { return Usage{}; });
  StoppingRule rule({});
  rule.set_queues();
  RunTotals totals;
  Timed timed;
  std::optional<double> one_step;
  const auto take = [&](std::int64_t steps) {
    device->pass(kTalkSeconds);
    const StepBlock& block = runner.steps(steps);
    one_step = block.wall_seconds / static_cast<double>(steps);
    return block;
  };
  while (const std::int64_t steps = warm_up.next_block(rule, one_step)) {
    const StepBlock block = take(steps);
    warm_up.after_block(block.step_seconds);
    timed.warm_up_seconds += std::accumulate(block.step_seconds.begin(), block.step_seconds.end(), 0.0);
  }
  const double begin = device->now();
  do {
    const StepBlock block = take(rule.next_block(totals.timed_steps(), one_step));
    totals.add_timed(block);
    timed.shortest_block_seconds = std::min(timed.shortest_block_seconds, block.wall_seconds);
    timed.min_block_steps = std::min(timed.min_block_steps, std::ssize(block.step_seconds));
  } while (!rule.after_steps(totals.step_seconds(), device->now() - begin));
  timed.longest_step_seconds = *std::ranges::max_element(totals.step_seconds());
  timed.total_seconds = std::accumulate(totals.step_seconds().begin(), totals.step_seconds().end(), 0.0);
  timed.step_seconds = 1 / totals.rate();
  timed.median_seconds = median(totals.step_seconds());
  return timed;
}

struct Steady {
  double step_seconds;
  bool resident;

  // While one step computes, the next batch travels.
  double seconds() const { return resident ? step_seconds : std::max(step_seconds, test::TimelineSpeeds{}.copy_seconds); }
  double error_of(double measured) const { return measured / seconds() - 1; }
};
void PrintTo(const Steady& steady, std::ostream* out) {
  *out << steady.step_seconds << " s, " << (steady.resident ? "resident" : "staged");
}

class Timeline : public testing::TestWithParam<Steady> {};

TEST_P(Timeline, MeasuresTheSteadyState) {
  const Timed timed = measure(GetParam().step_seconds, GetParam().resident);
  RecordProperty("mean_error", std::to_string(GetParam().error_of(timed.step_seconds)));
  RecordProperty("median_error", std::to_string(GetParam().error_of(timed.median_seconds)));
  EXPECT_LT(std::fabs(GetParam().error_of(timed.step_seconds)), 0.001);
  EXPECT_LT(std::fabs(GetParam().error_of(timed.median_seconds)), 0.001);
}

TEST_P(Timeline, TakesLongBlocksAndEnoughTime) {
  const Timed timed = measure(GetParam().step_seconds, GetParam().resident);
  EXPECT_GE(timed.min_block_steps, 16);
  EXPECT_GE(timed.shortest_block_seconds, 1);
  EXPECT_GE(timed.total_seconds, 3);
  EXPECT_GE(timed.warm_up_seconds, 2);
}

INSTANTIATE_TEST_SUITE_P(All, Timeline,
                         testing::Values(Steady{50e-6, true}, Steady{1e-3, true}, Steady{43e-3, true}, Steady{0.3, true},
                                         Steady{50e-6, false}, Steady{1e-3, false}, Steady{43e-3, false}, Steady{0.3, false}));

// Whatever the warm-up, no timed step is longer than those that follow.
TEST(TimelineSlots, AreFilledBeforeTheFirstTimedStep) {
  for (const Steady& steady : {Steady{1e-3, true}, Steady{1e-3, false}, Steady{43e-3, false}})
    for (const std::int64_t warm_up : {0, 3}) {  // fewer than there are slots
      SCOPED_TRACE(testing::PrintToString(steady));
      const Timed timed = measure(steady.step_seconds, steady.resident, WarmUpRule::of_steps(warm_up));
      EXPECT_LT(steady.error_of(timed.longest_step_seconds), 0.02);
    }
}

}  // namespace
}  // namespace epochbench
