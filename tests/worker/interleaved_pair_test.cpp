// Interleaved pairs of fake workers (tests/support/fake_worker_main.cpp), and what they say they are.
#include "src/worker/interleaved_pair.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <unistd.h>

#include "src/machine/topology.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::Optional;
using testing::SizeIs;
using testing::StartsWith;

const std::function<bool()> kNever = [] { return false; };
constexpr int kWarmUpSteps = 3, kRoundsInAll = 22, kStepsPerTurn = 5;  // the fastest step, 0.01 s, fills 0.05 s as often

class InterleavedPairTest : public testing::Test {
 protected:
  InterleavedPairTest() {
    std::string pattern = testing::TempDir() + "turns-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    spec_.name = "mlp/cpu/fp32/b4";
    spec_.model = find_model("mlp");
    spec_.data = "synthetic";
    spec_.batch = 4;
    spec_.threads = 1;
    spec_.warmup = kWarmUpSteps;
    settings_.order.name = spec_.name;
    settings_.process.hung_seconds = 0.4;
    settings_.process.tick_seconds = 0.05;
  }
  ~InterleavedPairTest() override {
    unsetenv("FAKE_WORKER_LOG");
    std::filesystem::remove_all(folder_);
  }

  // The made-up binary under the name that says how it behaves.
  std::string binary(const std::string& name) const {
    const std::filesystem::path path = folder_ / name;
    if (!std::filesystem::exists(path)) std::filesystem::create_symlink(FAKE_WORKER_BINARY, path);
    return path.string();
  }
  TurnsPair take(const std::string& baseline, const std::string& contender) const {
    return interleave_pair(spec_, {binary(baseline), binary(contender)}, settings_, nullptr, kNever);
  }
  std::string refusal(const std::string& path, double patience_seconds = 10) const {
    try {
      identify_binary(path, "gate", kNever, patience_seconds);
    } catch (const UnsuitableBinary& error) {
      EXPECT_THAT(error.what(), StartsWith(path + ": "));
      return error.what();
    }
    return "it is one";
  }
  // The words of one kind that both processes were sent, in the order in which they came: "slower step".
  std::vector<std::string> log_of(const std::string& command) const {
    std::vector<std::string> lines;
    std::ifstream file(folder_ / "log");
    for (std::string line; std::getline(file, line);)
      if (line.ends_with(' ' + command)) lines.push_back(line);
    return lines;
  }
  void keep_log() const { setenv("FAKE_WORKER_LOG", (folder_ / "log").c_str(), 1); }

  std::filesystem::path folder_;
  CaseSpec spec_;
  InterleaverSettings settings_;
};

TEST_F(InterleavedPairTest, TheRatioIsThatOfTheSteps) {
  const TurnsPair pair = take("even", "slower");
  ASSERT_TRUE(pair.ok()) << pair.sides[kContender].message.value_or("");
  EXPECT_NEAR(*pair.log_ratio, std::log(1.1), 1e-12);
  EXPECT_NEAR(*take("slower", "even").log_ratio, -std::log(1.1), 1e-12);
  EXPECT_EQ(*take("even", "even").log_ratio, 0);
}

TEST_F(InterleavedPairTest, TheFirstStepsAreDropped) {
  const TurnsPair pair = take("even", "slower");
  EXPECT_EQ(pair.steps_per_turn, kStepsPerTurn);
  EXPECT_EQ(pair.dropped_rounds, 2);
  EXPECT_THAT(pair.first, SizeIs(20));
  for (const Side side : kSides) {
    const TurnsSide& measured = pair.sides[side];
    const double factor = side == kContender ? 1.1 : 1;
    ASSERT_THAT(measured.step_seconds, SizeIs(20 * kStepsPerTurn));
    // From the step that follows warm-up and dropped rounds on: 3 + 2 * 5 = 13.
    for (std::size_t i = 0; i < measured.step_seconds.size(); ++i)
      EXPECT_DOUBLE_EQ(measured.step_seconds[i], 0.01 * (1 + 0.1 * static_cast<double>((13 + i) % 3)) * factor);
    EXPECT_EQ(measured.steps, kWarmUpSteps + kRoundsInAll * kStepsPerTurn);
    EXPECT_THAT(measured.first_losses, SizeIs(kKeptLosses));
    EXPECT_EQ(measured.first_losses.front(), 1);
    EXPECT_DOUBLE_EQ(*measured.final_loss, 1.0 / static_cast<double>(measured.steps));
    EXPECT_EQ(measured.peak_bytes, 1000);
    EXPECT_EQ(measured.compile_seconds, 0.25);
    EXPECT_EQ(measured.fingerprint, "1111");
    EXPECT_NEAR(*measured.step_seconds_median, 0.011 * factor, 0.0005);
  }
}

TEST_F(InterleavedPairTest, ATurnIsAsLongAsAnEarlierPairFoundIt) {
  settings_.steps_per_turn = 2;
  const TurnsPair pair = take("even", "slower");
  EXPECT_EQ(pair.steps_per_turn, 2);
  EXPECT_THAT(pair.sides[kContender].step_seconds, SizeIs(40));
  settings_.steps_per_turn.reset();
  settings_.turn_seconds = 0.001;
  EXPECT_EQ(take("even", "slower").steps_per_turn, 1);
}

TEST_F(InterleavedPairTest, OrderIsDrawnFromTheSeedAndIsWhatTheProcessesSaw) {
  keep_log();
  const TurnsPair pair = take("even", "slower");
  const std::vector<std::string> steps = log_of("step"), prepared = log_of("prepare");
  ASSERT_THAT(steps, SizeIs(40));
  const std::array<std::string, 2> names = {"even", "slower"};
  for (std::size_t round = 0; round < 20; ++round) {
    const Side first = pair.first[round];
    EXPECT_EQ(first, settings_.order.order_of_round(static_cast<std::uint32_t>(round + 2), 2)[0]);
    EXPECT_EQ(steps[2 * round], names[first] + " step");
    EXPECT_EQ(steps[2 * round + 1], names[1 - first] + " step") << "each has one turn a round";
  }
  EXPECT_EQ(prepared.front(), names[pair.started_first] + " prepare");
  EXPECT_EQ(pair.started_first, settings_.order.order_of_starts(2)[0]);
  EXPECT_EQ(take("even", "slower").first, pair.first) << "the same seed draws the same";
}

TEST_F(InterleavedPairTest, IdleThreadsSleepWhateverTheEnvironmentSays) {
  setenv("OMP_WAIT_POLICY", "active", 1);
  const TurnsPair pair = take("even", "even");
  unsetenv("OMP_WAIT_POLICY");
  EXPECT_THAT(pair.sides[kBaseline].isa, Optional(std::string("passive")));  // where the fake tells what it was given
  EXPECT_EQ(sleeping_when_idle(openmp_settings(2, {{0, 0, 0}, {1, 0, 1}}, std::nullopt)).at("GOMP_SPINCOUNT"), "0");
}

TEST_F(InterleavedPairTest, KnowsWhatOthersTookMeanwhile) {
  EXPECT_THAT(take("even", "slower").foreign_cpu_cores, Optional(testing::DoubleNear(0.125, 1e-9)));
}

TEST_F(InterleavedPairTest, TellsOfEveryRound) {
  std::vector<std::int64_t> rounds;
  interleave_pair(
      spec_, {binary("even"), binary("even")}, settings_, [&](std::int64_t done) { rounds.push_back(done); }, kNever);
  ASSERT_THAT(rounds, SizeIs(kRoundsInAll));
  EXPECT_EQ(rounds.front(), 1);
  EXPECT_EQ(rounds.back(), kRoundsInAll);
}

TEST_F(InterleavedPairTest, ASideThatEndsIsReportedAndTheOtherGoesOn) {
  struct Ending {
    const char* name;
    RunStatus status;
    const char* message;
  };
  for (const Ending& ending :
       {Ending{"dies", RunStatus::failed, "ended with exit code 7"}, Ending{"hangs", RunStatus::failed, "hung"},
        Ending{"diverges", RunStatus::diverged, "the loss is not a number"},
        Ending{"garbled", RunStatus::failed, "a block of another length"},
        Ending{"refuses", RunStatus::out_of_memory, "needs 5 GiB"}}) {
    const TurnsPair pair = take("even", ending.name);
    EXPECT_FALSE(pair.ok()) << ending.name;
    EXPECT_EQ(pair.sides[kContender].status, ending.status) << ending.name;
    EXPECT_THAT(pair.sides[kContender].message.value_or(""), HasSubstr(ending.message));
    EXPECT_EQ(pair.sides[kBaseline].status, RunStatus::ok) << ending.name;
    EXPECT_FALSE(pair.sides[kContender].step_seconds_median);
    const TurnsPair swapped = take(ending.name, "even");
    EXPECT_EQ(swapped.sides[kBaseline].status, ending.status) << ending.name;
    EXPECT_EQ(swapped.sides[kContender].status, RunStatus::ok) << ending.name;
  }
  const TurnsPair both = take("dies", "refuses");
  EXPECT_EQ(both.sides[kBaseline].status, RunStatus::failed);
  EXPECT_EQ(both.sides[kContender].status, RunStatus::out_of_memory);
}

TEST_F(InterleavedPairTest, WhatFitsIntoMemoryAloneIsNoFailure) {
  for (const char* name : {"large", "grows"}) {
    for (settings_.order.group = 0; settings_.order.group < 4; ++settings_.order.group) {  // whichever starts first
      const TurnsPair pair = take(name, name);
      EXPECT_FALSE(pair.ok());
      for (const Side side : kSides) {
        EXPECT_EQ(pair.sides[side].status, RunStatus::skipped) << name;
        EXPECT_THAT(pair.sides[side].message.value_or(""), HasSubstr("both at once do not")) << name;
        EXPECT_TRUE(pair.sides[side].step_seconds.empty()) << name;
        EXPECT_FALSE(pair.sides[side].step_seconds_median) << name;
      }
      EXPECT_EQ(pair.sides[kBaseline].fingerprint, "1111");
    }
  }
}

TEST_F(InterleavedPairTest, WhatDoesNotFitIntoMemoryAloneEither) {
  for (const char* name : {"refuses", "leaks"})
    for (settings_.order.group = 0; settings_.order.group < 4; ++settings_.order.group) {
      const TurnsPair pair = take("large", name);
      EXPECT_EQ(pair.sides[kBaseline].status, RunStatus::ok) << name;
      EXPECT_EQ(pair.sides[kContender].status, RunStatus::out_of_memory) << name;
      EXPECT_THAT(pair.sides[kContender].message.value_or(""), HasSubstr("needs 5 GiB"));
    }
  const TurnsPair both = take("leaks", "leaks");
  for (const Side side : kSides) EXPECT_EQ(both.sides[side].status, RunStatus::out_of_memory);
}

TEST_F(InterleavedPairTest, TheLaterToStartEndsFirst) {
  keep_log();
  const std::array<std::string, 2> names = {"even", "slower"};
  std::set<Side> first;
  for (settings_.order.group = 0; settings_.order.group < 8; ++settings_.order.group) {
    const Side later = take(names[kBaseline], names[kContender]).started_first == kBaseline ? kContender : kBaseline;
    const std::vector<std::string> finished = log_of("finish");
    EXPECT_EQ(finished.at(2 * settings_.order.group), names[later] + " finish");
    first.insert(later);
  }
  EXPECT_THAT(first, SizeIs(2)) << "either was the later one";
}

TEST_F(InterleavedPairTest, AProcessThatDoesNotEndIsNotSaidToHaveBeenKilledByOthers) {
  settings_.process.exit_seconds = 0.2;
  const TurnsPair pair = take("even", "lingers");
  EXPECT_EQ(pair.sides[kContender].status, RunStatus::failed);
  EXPECT_THAT(pair.sides[kContender].message.value_or(""), HasSubstr("did not end within 0.2 s, and was killed"));
}

TEST_F(InterleavedPairTest, AStepWithoutTimeDoesNotSayHowManyFillATurn) {
  EXPECT_EQ(take("coarse", "coarse").steps_per_turn, kStepsPerTurn);
}

TEST_F(InterleavedPairTest, OtherWorkIsNotMeasured) {
  const TurnsPair pair = take("even", "other_work");
  EXPECT_FALSE(pair.ok());
  for (const Side side : kSides) {
    EXPECT_EQ(pair.sides[side].status, RunStatus::skipped);
    EXPECT_TRUE(pair.sides[side].step_seconds.empty());
  }
  EXPECT_NE(pair.sides[kBaseline].fingerprint, pair.sides[kContender].fingerprint);
}

TEST_F(InterleavedPairTest, AnOptionThatABinaryDoesNotKnowIsNotPassedOver) {
  EXPECT_TRUE(take("even", "unknowing").ok()) << "what it does not know is as usual in this case";
  spec_.kernels = Kernels::portable;
  const TurnsPair pair = take("even", "unknowing");
  EXPECT_EQ(pair.sides[kContender].status, RunStatus::failed);
  EXPECT_THAT(pair.sides[kContender].message.value_or(""), HasSubstr("does not know 'gemm'"));
}

TEST_F(InterleavedPairTest, AnInterruptEndsBoth) {
  int rounds = 0;
  const TurnsPair pair = interleave_pair(
      spec_, {binary("even"), binary("even")}, settings_, [&](std::int64_t) { ++rounds; }, [&] { return rounds >= 5; });
  EXPECT_FALSE(pair.ok());
  for (const Side side : kSides) EXPECT_EQ(pair.sides[side].status, RunStatus::interrupted);
  EXPECT_LE(rounds, 6);
}

TEST_F(InterleavedPairTest, ABinaryTellsWhoItIs) {
  const auto [build, suite] = identify_binary(binary("even"), "gate", kNever);
  EXPECT_EQ(suite, R"({"cases":[]})");
  EXPECT_EQ(build.version, "0.1.0");
  EXPECT_EQ(build.git_sha, "abc");
  EXPECT_EQ(build.git_dirty, false);
  EXPECT_EQ(build.build_type, "Release");
  EXPECT_EQ(build.compiler, "made up");
}

TEST_F(InterleavedPairTest, AnInterruptIsNotReportedAsABinaryThatDoesNotAnswer) {
  try {
    identify_binary(
        binary("mute"), "gate", [] { return true; }, 10);
    FAIL() << "it does not answer";
  } catch (const UnsuitableBinary& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("interrupted"), Not(HasSubstr("does not answer"))));
  }
}

TEST_F(InterleavedPairTest, AnUnsuitableBinaryIsReported) {
  EXPECT_THAT(refusal((folder_ / "none").string()), HasSubstr("No such file"));
  EXPECT_THAT(refusal(folder_.string()), HasSubstr("Permission denied"));
  std::ofstream(folder_ / "text") << "no program\n";
  EXPECT_THAT(refusal((folder_ / "text").string()), HasSubstr("Permission denied"));
  EXPECT_THAT(refusal(binary("old")), HasSubstr("newer commit"));
  EXPECT_THAT(refusal(binary("newer")), HasSubstr("version 99 of the protocol"));
  EXPECT_THAT(refusal(binary("stranger")), testing::AllOf(HasSubstr("not an epochbench"), HasSubstr("exit code 2")));
  EXPECT_THAT(refusal(binary("talker")), testing::AllOf(HasSubstr("not an epochbench"), HasSubstr("Welcome to talker")));
  EXPECT_THAT(refusal(binary("mute"), 0.5), HasSubstr("does not answer within 0.5 s"));
  EXPECT_THAT(refusal("/bin/true"), HasSubstr("not an epochbench"));
}

}  // namespace
}  // namespace epochbench
