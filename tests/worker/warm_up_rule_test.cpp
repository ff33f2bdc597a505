// Warm-up by number and by time, with made-up step times.
#include "src/worker/warm_up_rule.h"

#include <functional>
#include <optional>
#include <vector>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::Optional;

struct WarmedUp {
  double seconds = 0;
  std::int64_t steps = 0, first_block = 0;
  std::optional<bool> settled;
};

// Steps last as long as `step_seconds` says of the seconds of warm-up before them.
WarmedUp warm_up(WarmUpRule rule, const std::function<double(double)>& step_seconds) {
  const StoppingRule blocks({});
  WarmedUp result;
  std::optional<double> last;
  while (const std::int64_t steps = rule.next_block(blocks, last)) {
    if (result.first_block == 0) result.first_block = steps;
    std::vector<double> taken;
    for (std::int64_t i = 0; i < steps; ++i) {
      taken.push_back(step_seconds(result.seconds));
      result.seconds += taken.back();
    }
    last = taken.back();
    rule.after_block(taken);
  }
  result.steps = rule.taken();
  result.settled = rule.settled();
  return result;
}

TEST(WarmUpRule, TakesTheNumberOfStepsThatIsAskedFor) {
  for (const std::int64_t steps : {0, 1, 3, 1000}) {
    const WarmedUp warm = warm_up(WarmUpRule::of_steps(steps), [](double) { return 0.01; });
    EXPECT_EQ(warm.steps, steps);
    EXPECT_FALSE(warm.settled);
  }
}

TEST(WarmUpRule, ByTimeLastsTwoSecondsWhereStepsAreSteady) {
  for (const double step : {50e-6, 1e-3, 0.043, 0.3}) {
    const WarmedUp warm = warm_up(WarmUpRule::by_time(), [&](double) { return step; });
    EXPECT_EQ(warm.first_block, 3);
    EXPECT_GE(warm.seconds, 2);
    EXPECT_LT(warm.seconds, 2.5 + 3 * step) << "a block later at most";
    EXPECT_THAT(warm.settled, Optional(true));
  }
}

TEST(WarmUpRule, WaitsForClocksToSettle) {
  const auto slowing = [](double seconds) { return 0.01 * (1 + 0.1 * std::min(seconds, 5.0)); };
  const WarmedUp warm = warm_up(WarmUpRule::by_time(), slowing);
  EXPECT_GE(warm.seconds, 5);
  EXPECT_LT(warm.seconds, 6.5);
  EXPECT_THAT(warm.settled, Optional(true));
}

TEST(WarmUpRule, SaysThatClocksDidNotSettle) {
  const WarmedUp warm = warm_up(WarmUpRule::by_time(), [](double seconds) { return 0.01 * (1 + seconds); });
  EXPECT_GE(warm.seconds, 10);
  EXPECT_LT(warm.seconds, 11);
  EXPECT_THAT(warm.settled, Optional(false));
}

TEST(WarmUpRule, ALongStepIsABlock) {
  const WarmedUp warm = warm_up(WarmUpRule::by_time(), [](double) { return 4.0; });
  EXPECT_EQ(warm.steps, 4) << "three before it is known how long one lasts, and one that agrees with them";
}

}  // namespace
}  // namespace epochbench
