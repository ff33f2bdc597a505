// Groups of fake workers (tests/support/fake_worker_main.cpp): any number of them, bursts between their turns, and who leaves.
#include "src/worker/interleaver.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class InterleaverTest : public testing::Test {
 protected:
  InterleaverTest() {
    std::string pattern = testing::TempDir() + "interleaver-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    spec_.name = "mlp/cpu/fp32/b4";
    spec_.model = find_model("mlp");
    spec_.data = "synthetic";
    spec_.batch = 4;
    spec_.threads = 1;
    spec_.warmup = 3;
    settings_.order = {1, spec_.name, 0};
    settings_.equal_steps = false;
    settings_.process.hung_seconds = 0.4;
    settings_.process.tick_seconds = 0.05;
  }
  ~InterleaverTest() override { std::filesystem::remove_all(folder_); }

  InterleavedWorker worker(const std::string& name) const {
    const std::filesystem::path path = folder_ / name;
    if (!std::filesystem::exists(path)) std::filesystem::create_symlink(FAKE_WORKER_BINARY, path);
    return {path.string(), spec_};
  }
  Interleaver measured(std::vector<InterleavedWorker> workers, std::int64_t rounds = 6) const {
    Interleaver interleaver(std::move(workers), settings_, nullptr);
    for (const std::size_t index : interleaver.order_of_starts()) interleaver.start(index);
    const auto never = [] { return false; };
    interleaver.warm_up(never);
    interleaver.take_rounds([&](const RoundsSoFar& so_far) { return so_far.timed >= rounds; });
    interleaver.finish(never);
    return interleaver;
  }

  std::filesystem::path folder_;
  CaseSpec spec_;
  InterleaverSettings settings_;
};

TEST_F(InterleaverTest, AnyNumberOfWorkersTakesTurns) {
  Interleaver group = measured({worker("even"), worker("slower"), worker("other")});
  ASSERT_THAT(group.timed_orders(), SizeIs(6));
  for (const auto& order : group.timed_orders()) EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 3u);
  for (const Participant& participant : group.participants()) {
    EXPECT_TRUE(participant.running()) << participant.message;
    EXPECT_THAT(participant.turn_seconds, SizeIs(6));
    EXPECT_EQ(participant.totals.timed_steps(), 6 * participant.steps_per_turn);
    EXPECT_EQ(participant.totals.result.peak_bytes, 1000);
  }
  EXPECT_NEAR(*group.participants()[1].median_turn_seconds() / *group.participants()[0].median_turn_seconds(), 1.1, 0.06);
}

TEST_F(InterleaverTest, ATurnIsAsManyStepsAsFillItOfEach) {
  settings_.turn_seconds = 0.0105;  // a step of "even" takes 0.01 s, one of "slower" 0.011 s
  Interleaver own = measured({worker("even"), worker("slower")});
  EXPECT_EQ(own.participants()[0].steps_per_turn, 2);
  EXPECT_EQ(own.participants()[1].steps_per_turn, 1);
  settings_.equal_steps = true;
  EXPECT_EQ(measured({worker("even"), worker("slower")}).participants()[1].steps_per_turn, 2);
}

TEST_F(InterleaverTest, ATurnOnADeviceThatQueuesIsABlockOfARun) {
  Interleaver group = measured({worker("queues"), worker("even")}, 2);
  EXPECT_GE(group.participants()[0].steps_per_turn, 100) << "a second of steps of 0.01 s";
  EXPECT_LE(group.participants()[0].steps_per_turn, 115);
  EXPECT_EQ(group.participants()[1].steps_per_turn, 5);
  settings_.turn_seconds = 2;
  EXPECT_EQ(measured({worker("queues")}, 1).participants()[0].steps_per_turn, 200);
}

TEST_F(InterleaverTest, ABurstIsOneMoreParticipant) {
  settings_.burst = Burst{worker("even").command, Precision::fp32, 1};
  Interleaver group = measured({worker("even"), worker("slower")});
  // The fake peak rises with each burst; the first two are of dropped rounds.
  EXPECT_THAT(group.bursts(), ElementsAre(3e9, 4e9, 5e9, 6e9, 7e9, 8e9));
  EXPECT_THAT(group.timed_orders(), Each(SizeIs(3)));
  EXPECT_FALSE(group.burst_failure());
}

TEST_F(InterleaverTest, WithoutAPeakTheTurnsGoOn) {
  settings_.burst = Burst{worker("dies").command, Precision::fp32, 1};
  Interleaver group = measured({worker("even"), worker("slower")});
  EXPECT_THAT(group.bursts(), ElementsAre(3e9));
  EXPECT_THAT(group.burst_failure().value().message, HasSubstr("exit code 7"));
  EXPECT_THAT(group.participants()[0].turn_seconds, SizeIs(6));
}

TEST_F(InterleaverTest, AWorkerThatEndsLeavesTheOthers) {
  Interleaver group = measured({worker("even"), worker("dies"), worker("refuses"), worker("slower")});
  EXPECT_EQ(group.participants()[1].status, RunStatus::failed);
  EXPECT_EQ(group.participants()[2].status, RunStatus::out_of_memory);
  EXPECT_FALSE(group.participants()[1].median_turn_seconds());
  for (const std::size_t index : {0u, 3u}) EXPECT_THAT(group.participants()[index].turn_seconds, SizeIs(6));
}

TEST_F(InterleaverTest, AnotherNumberOfParametersOrThreadsIsNotTheSameWorkload) {
  InterleavedWorker good = worker("even"), wrong = worker("slower");
  good.workload.emplace().parameters = 1234;  // as fake workers have
  wrong.workload.emplace().parameters = 1235;
  Interleaver group = measured({good, wrong});
  EXPECT_TRUE(group.participants()[0].running()) << group.participants()[0].message;
  EXPECT_THAT(group.participants()[1].message, HasSubstr("1234 parameters, and the case has 1235: not the same workload"));
  spec_.threads = 2;
  EXPECT_THAT(measured({worker("even")}).participants()[0].message, HasSubstr("OpenMP granted 1 of the 2 threads"));
}

TEST_F(InterleaverTest, TheCallerSeesTheTimeThatTurnsTook) {
  Interleaver interleaver({worker("even"), worker("even")}, settings_, nullptr);
  for (const std::size_t index : {0u, 1u}) interleaver.start(index);
  interleaver.warm_up([] { return false; });
  std::vector<double> walls;
  interleaver.take_rounds([&](const RoundsSoFar& so_far) {
    walls.push_back(so_far.wall_seconds);
    return so_far.wall_seconds > 0.5;
  });
  EXPECT_THAT(std::vector<double>(walls.begin(), walls.begin() + 3), Each(0));  // before the first timed round ended
  EXPECT_GT(walls.back(), 0.5);
  EXPECT_LT(walls[walls.size() - 2], 0.5);
}

}  // namespace
}  // namespace epochbench
