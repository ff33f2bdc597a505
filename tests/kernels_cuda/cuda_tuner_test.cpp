// Which candidate of a library is kept and what choosing costs, with fake candidates and a fake clock.
#include <algorithm>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/libraries/tuner.h"

namespace epochbench::cuda {
namespace {

using ::testing::ElementsAre;

struct Candidate {
  double seconds;            // per call
  double build_seconds = 0;  // of building and timing it
  bool builds = true, runs = true;
};

class FakeCandidates final : public Candidates {
 public:
  FakeCandidates(double& now, std::vector<Candidate> candidates) : now_(now), candidates_(std::move(candidates)) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(candidates_.size()); }
  void build(std::int64_t index) override {
    now_ += at(index).build_seconds;
    if (!at(index).builds) throw Error("candidate " + std::to_string(index) + " is not for this device");
    held.insert(index);
    most_held = std::max(most_held, held.size());
  }
  double seconds(std::int64_t index, double) override {
    EXPECT_TRUE(held.count(index));
    if (!at(index).runs) throw Error("candidate " + std::to_string(index) + " does not run");
    ++timed;
    return at(index).seconds;
  }
  void release(std::int64_t index) noexcept override { held.erase(index); }

  std::set<std::int64_t> held;
  std::size_t most_held = 0;
  int timed = 0;

 private:
  const Candidate& at(std::int64_t index) const { return candidates_.at(static_cast<std::size_t>(index)); }
  double& now_;
  std::vector<Candidate> candidates_;
};

class PlanTuner : public ::testing::Test {
 protected:
  // How many of these candidates are timed.
  int timed(std::vector<Candidate> list) {
    FakeCandidates candidates(now_, std::move(list));
    std::string reason;
    EXPECT_TRUE(tuner_.fastest(candidates, reason));
    return candidates.timed;
  }

  double now_ = 100;
  Tuner tuner_{{.candidates = 4, .seconds_of_one = 0.5, .seconds_of_all = 1.5}, [this] { return now_; }};
  std::string reason_;
};

TEST_F(PlanTuner, KeepsOnlyTheFastest) {
  FakeCandidates candidates(now_, {{3e-3}, {1e-3}, {2e-3}, {1e-3}});
  EXPECT_EQ(tuner_.fastest(candidates, reason_), 1);
  EXPECT_THAT(candidates.held, ElementsAre(1));
  EXPECT_EQ(candidates.most_held, 2u);
}

TEST_F(PlanTuner, SkipsAndReleasesCandidatesThatCannotBeBuiltOrRun) {
  FakeCandidates candidates(now_, {{.seconds = 1e-9, .builds = false}, {.seconds = 1e-9, .runs = false}, {2e-3}, {3e-3}});
  EXPECT_EQ(tuner_.fastest(candidates, reason_), 2);
  EXPECT_THAT(candidates.held, ElementsAre(2));
  FakeCandidates none(now_, {{.seconds = 1, .runs = false}, {.seconds = 1, .builds = false}});
  EXPECT_EQ(tuner_.fastest(none, reason_), std::nullopt);
  EXPECT_EQ(reason_, "candidate 0 does not run");
  EXPECT_TRUE(none.held.empty());
  FakeCandidates empty(now_, {});
  EXPECT_EQ(tuner_.fastest(empty, reason_), std::nullopt);
  EXPECT_EQ(reason_, "there is none");
}

TEST_F(PlanTuner, FailedCandidatesDoNotCountTowardTheLimit) {
  std::vector<Candidate> many(9, Candidate{1e-3});
  many[0].builds = many[2].runs = false;
  EXPECT_EQ(timed(many), 4);
}

TEST_F(PlanTuner, BoundsTheTimePerProblem) { EXPECT_EQ(timed(std::vector<Candidate>(4, {1e-3, 0.1875})), 3); }

TEST_F(PlanTuner, TakesTheFirstThatRunsWhenTheTimeIsSpent) {
  const std::vector<Candidate> slow(4, {1e-3, 0.375});
  EXPECT_EQ(timed(slow), 2);
  EXPECT_EQ(timed(slow), 2);
  EXPECT_EQ(timed(slow), 1);
  EXPECT_EQ(timed({{.seconds = 1e-3, .builds = false}, {.seconds = 1e-3, .build_seconds = 0.375}, {1e-9}}), 1);
}

TEST_F(PlanTuner, UsesTheSystemClockByDefault) {
  FakeCandidates candidates(now_, {{2e-3}, {1e-3}});
  EXPECT_EQ(Tuner({.candidates = 4, .seconds_of_one = 1e9, .seconds_of_all = 1e9}).fastest(candidates, reason_), 1);
}

}  // namespace
}  // namespace epochbench::cuda
