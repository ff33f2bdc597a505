// What a process stores of its choices, and what the next one does with it.
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/fake_algorithms.h"

namespace epochbench {
namespace {

using cuda::Error;
using test::Algorithm;
using test::ChoosesAlgorithms;
using test::FakeAlgorithms;
using test::kEnough;
using test::Plan;
using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

// A layer with a kernel of its own, and engines that must be compiled.
struct Fusion {
  std::string layer;
  std::shared_ptr<FakeAlgorithms> engines;
  CompiledEngines compiled() const { return {layer, "library", engines}; }
};

// The first engine of each layer, then the second of each, as long as there is time for it; at most as many as are timed.
TEST_F(ChoosesAlgorithms, WhatMustBeCompiledIsCompiledAtOnceForAllLayersAndAgainByTheNextProcess) {
  const std::string path = file("compiled.json");
  std::vector<Algorithm> listed(6, {.seconds = 2e-3, .build_seconds = 2, .compiles = true});
  listed[1].seconds = 1e-3;
  const auto run = [&](double seconds, std::size_t threads) {
    threads_ = threads;
    std::vector<Fusion> fusions;
    for (const char* layer : {"small", "large"})
      fusions.push_back({layer, std::make_shared<FakeAlgorithms>(*device_, std::string(layer) + " engines", listed)});
    Choices made = choices(seconds, path);
    const double begin = device_->seconds();
    made.begin_program({{"small", {1, 1}}, {"large", {2, 1}}}, {fusions[0].compiled(), fusions[1].compiled()});
    std::string how;
    const auto choose_layer = [&](const Fusion& fusion) {
      Listed<Plan> ways(way_problem(fusion.layer),
                        {{"own", [&] { return std::make_shared<Plan>("own", Algorithm{.seconds = 3e-3}, own_); }},
                         {.tag = "library",
                          .build = [&] { return choose_once(made, *fusion.engines, fusion.layer).plan; },
                          .compiles = true}});
      const Chosen<Plan> chosen = made.choose<Plan>(fusion.layer, ways, trial());
      return chosen.plan->tag + chosen.how;
    };
    std::map<std::string, std::string> chosen;
    for (const Fusion& fusion : fusions) chosen[fusion.layer] = choose_layer(fusion);
    for (const std::string& layer : made.begin_rest())
      for (const Fusion& fusion : fusions)
        if (fusion.layer == layer) chosen[layer] = choose_layer(fusion);
    made.store();
    for (const Fusion& fusion : fusions)
      for (const std::string& tag : fusion.engines->compiled) how += fusion.layer[0] + tag + " ";
    return std::tuple(chosen["small"] + ", " + chosen["large"], how, device_->seconds() - begin);
  };
  const auto [one_core, first, seconds_of_one] = run(8, 1);
  EXPECT_EQ(one_core, "1 [fastest of 2], 0 [fastest of 2]");
  EXPECT_EQ(first, "s0 l0 ");  // 2 s each, begun within half of the time; then others one by one
  EXPECT_LT(seconds_of_one, 8.5);
  const auto [many_cores, rest, seconds_of_many] = run(kEnough, 16);
  EXPECT_EQ(many_cores, "1 [fastest of 2], 1 [fastest of 2]");
  EXPECT_EQ(rest, "s1 s3 l0 l1 l2 l3 ");  // stored ones, then those that are left
  EXPECT_LT(seconds_of_many, 4.5);
  const auto [stored, again, seconds_of_stored] = run(0, 16);
  EXPECT_EQ(stored, "1 [stored: fastest of 2], 1 [stored: fastest of 2]");
  EXPECT_EQ(again, "s1 l1 ");
  EXPECT_LT(seconds_of_stored, 2.5);
}

TEST_F(ChoosesAlgorithms, WhatLacksMemoryIsLeftOutAndTriedAgainByTheNextProcess) {
  const std::string path = file("memory.json");
  std::vector<Algorithm> algorithms = {{.seconds = 1e-3, .lacks_memory = true}, {2e-3}, {3e-3}};
  const auto chosen = [&] {
    Choices made = choices(kEnough, path);
    FakeAlgorithms listed(*device_, "problem", algorithms);
    const Chosen<Plan> one = choose(made, listed);
    made.store();
    return one.plan->tag + one.how;
  };
  EXPECT_EQ(chosen(), "1 [fastest of 2, 3 offered]");
  algorithms[0].lacks_memory = false;
  EXPECT_EQ(chosen(), "0 [fastest of 3]");
  algorithms[0].lacks_memory = true;  // the stored one
  EXPECT_EQ(chosen(), "1 [fastest of 2, 3 offered]");
  Choices none = choices(kEnough);
  FakeAlgorithms listed(*device_, "problem", {{.builds = false}, {.lacks_memory = true}});
  EXPECT_THAT([&] { choose(none, listed); }, ThrowsMessage<OutOfMemory>("way 1 needs more memory"));
}

TEST_F(ChoosesAlgorithms, AnotherProcessTimesNothing) {
  const std::string path = file("process.json");
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    Choices made = choices(kEnough, path);
    FakeAlgorithms algorithms(*device_, "problem", {{.builds = false}, {2e-3}, {1e-3}});
    choose(made, algorithms);
    made.store();
    _exit(made.counts().timed == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);

  Choices made = choices(kEnough, path);
  FakeAlgorithms algorithms(*device_, "problem", {{.builds = false}, {2e-3}, {1e-3}});
  const Chosen<Plan> chosen = choose(made, algorithms);
  EXPECT_EQ(chosen.plan->tag, "2");
  EXPECT_EQ(chosen.how, " [stored: fastest of 2, 3 offered]");
  EXPECT_EQ(chosen.refused, "way 0 is not for this device");
  EXPECT_THAT(algorithms.built, ElementsAre("2"));
  EXPECT_EQ(made.counts(), (Choices::Counts{.timed = 0, .decided = 0, .restored = 1}));
}

TEST_F(ChoosesAlgorithms, AStoredChoiceThatDoesNotWorkIsMadeAgain) {
  const std::string path = file("again.json");
  {
    Choices made = choices(kEnough, path);
    FakeAlgorithms algorithms(*device_, "problem", {{2e-3}, {1e-3}});
    choose(made, algorithms);
    made.store();
  }
  for (const Algorithm& broken : {Algorithm{.seconds = 1e-3, .builds = false}, Algorithm{.seconds = 1e-3, .runs = false}}) {
    Choices made = choices(kEnough, path);
    FakeAlgorithms algorithms(*device_, "problem", {{2e-3}, broken, {3e-3}});
    EXPECT_EQ(choose(made, algorithms).plan->tag, "0");
    EXPECT_EQ(made.counts(), (Choices::Counts{.timed = 2, .decided = 1, .restored = 0}));
  }
}

TEST_F(ChoosesAlgorithms, OtherVersionsDoNotShareChoices) {
  const std::string path = file("versions.json");
  const auto timed = [&](const std::string& library) {
    Choices made = choices(kEnough, path, library);
    FakeAlgorithms algorithms(*device_, "problem", {{2e-3}, {1e-3}});
    choose(made, algorithms);
    made.store();
    return made.counts().timed;
  };
  EXPECT_EQ(timed("1"), 2);
  EXPECT_EQ(timed("2"), 2);
  EXPECT_EQ(timed("1"), 0);
  EXPECT_EQ(timed("2"), 0);
}

// What a first call has timed, it has timed for good.
TEST_F(ChoosesAlgorithms, ASecondCallTimesOnlyWhatIsLeft) {
  const std::string path = file("left.json");
  std::vector<Algorithm> algorithms(4, {.seconds = 2e-3, .build_seconds = 2, .compiles = true});
  algorithms[1].seconds = 1e-3;
  algorithms.push_back({.seconds = 3e-3});
  const auto built = [&](double seconds, const std::string& how) {
    Choices made = choices(seconds, path);
    FakeAlgorithms listed(*device_, "problem", algorithms);
    EXPECT_EQ(choose(made, listed).how, how);
    made.store();
    return listed.built;
  };
  EXPECT_THAT(built(3, " [fastest of 3, 5 offered]"), ElementsAre("4", "4", "0", "1"));
  EXPECT_THAT(built(0, " [stored: fastest of 3, 5 offered]"), ElementsAre("1"));
  EXPECT_THAT(built(kEnough, " [fastest of 4, 5 offered]"),
              ElementsAre("1", "1", "2"));  // at most 4 if the next must be compiled
  EXPECT_THAT(built(kEnough, " [stored: fastest of 4, 5 offered]"), ElementsAre("1"));
}

// Nothing that waits for such a device returns, so a process can only end; the next one does not try that algorithm.
TEST_F(ChoosesAlgorithms, ATrialThatDoesNotEndIsNamedWithinSecondsAndNotTriedAgain) {
  const std::string path = file("endless.json");
  const std::vector<Algorithm> algorithms = {{2e-3}, {.seconds = 1e-3, .hangs = true}, {3e-3}};
  {
    Choices made = choices(kEnough, path);
    FakeAlgorithms first(*device_, "problem", algorithms);
    const double begin = device_->seconds();
    EXPECT_THAT(
        [&] { choose(made, first); },
        ThrowsMessage<std::logic_error>("problem by 1 did not end within 5.00 s, and the GPU runs nothing else meanwhile; "
                                        "the next call does without it"));
    EXPECT_LT(device_->seconds() - begin, kTrialSeconds + 0.5);
    device_->hang(false);
  }
  Choices again = choices(kEnough, path);
  FakeAlgorithms second(*device_, "problem", algorithms);
  const Chosen<Plan> chosen = choose(again, second);
  EXPECT_EQ(chosen.plan->tag, "0");
  EXPECT_EQ(chosen.refused, "1 did not end in an earlier call");
  EXPECT_THAT(second.built, ElementsAre("0", "2"));
}

TEST_F(ChoosesAlgorithms, ABlindChoiceIsTriedAgainByTheNextProcessThatHasTime) {
  const std::string path = file("blind.json");
  const std::vector<Algorithm> algorithms = {{.seconds = 2e-3, .build_seconds = 2, .compiles = true},
                                             {.seconds = 1e-3, .compiles = true},
                                             {.seconds = 1e-4, .last_resort = true}};
  const auto chosen = [&](double seconds) {
    Choices made = choices(seconds, path);
    FakeAlgorithms listed(*device_, "problem", algorithms);
    const Chosen<Plan> one = choose(made, listed);
    made.store();
    return one.plan->tag + one.how;
  };
  EXPECT_EQ(chosen(1), "0 [first of 3]");
  EXPECT_EQ(chosen(0), "0 [stored: first of 3]");
  EXPECT_EQ(chosen(kEnough), "1 [fastest of 2, 3 offered]");
  EXPECT_EQ(chosen(kEnough), "1 [stored: fastest of 2, 3 offered]");
}

}  // namespace
}  // namespace epochbench
