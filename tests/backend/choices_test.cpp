// Which algorithm of a problem is chosen, and what choosing costs.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

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

TEST_F(ChoosesAlgorithms, KeepsOnlyTheFastest) {
  Choices made = choices(kEnough);
  FakeAlgorithms algorithms(*device_, "problem", {{3e-3}, {1e-3}, {2e-3}, {1e-3}});
  const Chosen<Plan> chosen = choose(made, algorithms);
  EXPECT_EQ(chosen.plan->tag, "1");
  EXPECT_EQ(chosen.how, " [fastest of 4]");
  EXPECT_EQ(algorithms.held, 1);
  EXPECT_EQ(algorithms.max_held, 2);
  EXPECT_EQ(made.counts(), (Choices::Counts{.timed = 4, .decided = 1, .restored = 0}));
}

// As a step is: launched one by one, short calls would wait for the host.
TEST_F(ChoosesAlgorithms, TrialsAreReplayedFromAGraph) {
  Choices made = choices(kEnough);
  FakeAlgorithms algorithms(*device_, "problem", {{.seconds = 1e-3, .fails_in_graph = true}, {2e-3}, {1e-5}});
  const Chosen<Plan> chosen = choose(made, algorithms);
  EXPECT_EQ(chosen.plan->tag, "2");
  EXPECT_EQ(chosen.refused, "way 0 cannot be captured");
  EXPECT_EQ(device_->counts().graph_launches, 2 * (1 + 3));  // a first one and three averages, of 1 and 32 calls
  EXPECT_EQ(runs_, 1 + (1 + 1) + (1 + 1 + 32));              // the first of each outside a graph
}

// The slowest engines of strict fp32 take a tenth of a second.
TEST_F(ChoosesAlgorithms, LongCallsAreMeasuredOnce) {
  Choices made = choices(kEnough);
  FakeAlgorithms algorithms(*device_, "problem", {{2e-1}, {1e-1}});
  EXPECT_EQ(choose_once(made, algorithms).plan->tag, "0");
  EXPECT_EQ(device_->counts().graph_launches, 1);
  EXPECT_EQ(choose(made, algorithms).plan->tag, "1");
}

TEST_F(ChoosesAlgorithms, SaysWhatTheRulesLeaveOut) {
  const std::string path = file("left_out.json");
  for (const char* stored : {"", "stored: "}) {
    Choices made = choices(kEnough, path);
    FakeAlgorithms algorithms(*device_, "problem", {{3e-3}, {1e-3}}), one(*device_, "other problem", {{3e-3}});
    algorithms.listed_beside = one.listed_beside = "of 9; 6 use tensor cores";
    EXPECT_EQ(choose(made, algorithms).how, std::string(" [") + stored + "fastest of 2 of 9; 6 use tensor cores]");
    EXPECT_EQ(choose(made, one).how, " [1 of 9; 6 use tensor cores]");
    made.store();
  }
}

TEST_F(ChoosesAlgorithms, SkipsAndReleasesWhatCannotBeBuiltOrRun) {
  Choices made = choices(kEnough);
  FakeAlgorithms algorithms(*device_, "problem",
                            {{.seconds = 1e-9, .builds = false}, {.seconds = 1e-9, .runs = false}, {2e-3}, {3e-3}});
  const Chosen<Plan> chosen = choose(made, algorithms);
  EXPECT_EQ(chosen.plan->tag, "2");
  EXPECT_EQ(chosen.how, " [fastest of 2, 4 offered]");
  EXPECT_EQ(chosen.refused, "way 0 is not for this device");
  EXPECT_EQ(algorithms.held, 1);
  for (const double seconds : {0.0, kEnough}) {
    Choices others = choices(seconds);
    FakeAlgorithms none(*device_, "problem", {{.seconds = 1, .runs = false}, {.seconds = 1, .builds = false}});
    EXPECT_THAT([&] { choose(others, none); }, ThrowsMessage<Error>("way 0 does not run"));
    EXPECT_EQ(none.held, 0);
    FakeAlgorithms empty(*device_, "problem", {});
    EXPECT_THAT([&] { choose(others, empty); }, ThrowsMessage<Error>("problem: no way is listed"));
  }
}

TEST_F(ChoosesAlgorithms, WithoutTimeTakesTheFirstThatWorks) {
  Choices made = choices(0);
  FakeAlgorithms algorithms(*device_, "problem", {{.builds = false}, {.seconds = 2e-3, .runs = false}, {3e-3}, {1e-3}});
  const Chosen<Plan> chosen = choose(made, algorithms);
  EXPECT_EQ(chosen.plan->tag, "2");
  EXPECT_EQ(chosen.how, " [first of 4]");
  EXPECT_EQ(made.counts().timed, 0);
  EXPECT_EQ(runs_, 2);  // a glance at how long it lasts
}

// On an H200, the only engine for 24 gradients of a ResNet-50 at batch 256 in fp32 was 100 times slower than a product.
TEST_F(ChoosesAlgorithms, WithoutTimeAFirstThatIsFarTooSlowIsComparedWithOthers) {
  Choices made = choices(0);
  made.begin_program({{"usual", {1, 1}}, {"large", {20, 1}}, {"slow", {1, 1}}, {"hopeless", {1, 1}}});
  FakeAlgorithms usual(*device_, "usual problem", {{1e-3}, {5e-4}}), large(*device_, "large problem", {{5e-2}, {1e-3}});
  EXPECT_EQ(choose_once(made, usual, "usual").how, " [first of 2]");
  EXPECT_EQ(choose_once(made, large, "large").how, " [first of 2]");  // it also has more to do
  FakeAlgorithms slow(*device_, "slow problem", {{1e-1}, {9e-2}, {2e-3}, {1e-3}, {.seconds = 1e-4, .last_resort = true}});
  const Chosen<Plan> chosen = choose_once(made, slow, "slow");
  EXPECT_EQ(chosen.plan->tag, "2");
  EXPECT_EQ(chosen.how, " [fastest of 3, 5 offered]");
  EXPECT_EQ(slow.held, 1);
  FakeAlgorithms hopeless(*device_, "hopeless problem", std::vector<Algorithm>(9, {1e-1}));
  EXPECT_EQ(choose_once(made, hopeless, "hopeless").how, " [fastest of 4, 9 offered]");
}

// The algorithm itself has a single engine, as that gradient does.
TEST_F(ChoosesAlgorithms, WithoutTimeOneWithASingleFarTooSlowEngineIsComparedToo) {
  Choices made = choices(0);
  made.begin_program({{"usual", {1, 1}}, {"slow", {1, 1}}});
  FakeAlgorithms usual(*device_, "usual problem", {{1e-3}, {5e-4}}), engines(*device_, "engines", {{1e-1}});
  choose_once(made, usual, "usual");
  Listed<Plan> algorithms("both", {{"library", [&] { return choose_once(made, engines, "slow").plan; }},
                                   {"own", [&] { return std::make_shared<Plan>("own", Algorithm{}, engines.held); }}});
  EXPECT_EQ(made.choose<Plan>("slow", algorithms, trial()).plan->tag, "own");
}

TEST_F(ChoosesAlgorithms, ALastResortIsTakenOnlyIfNothingElseWorks) {
  Choices made = choices(kEnough);
  FakeAlgorithms unneeded(*device_, "unneeded", {{2e-3}, {.seconds = 1e-3, .last_resort = true}});
  EXPECT_EQ(choose(made, unneeded).plan->tag, "0");
  EXPECT_THAT(unneeded.built, ElementsAre("0"));
  EXPECT_EQ(made.counts().timed, 0);  // nothing to compare
  FakeAlgorithms needed(*device_, "needed", {{.builds = false}, {.seconds = 1e-3, .last_resort = true}});
  EXPECT_EQ(choose(made, needed).plan->tag, "1");
}

// Each algorithm takes 2 s to build, the first of each layer in any case: one is begun as long as there is time.
TEST_F(ChoosesAlgorithms, LayersGetTheTimeOfTheSecondPassByWhatTheyMayGain) {
  const auto slow = [](double seconds) {
    return std::vector<Algorithm>(20, {.seconds = seconds, .build_seconds = 2, .compiles = true});
  };
  Choices made = choices(12);
  FakeAlgorithms cheap(*device_, "cheap problem", slow(1e-3)), expensive(*device_, "expensive problem", slow(3e-3));
  const auto chosen = choose(made, {{"cheap", 20, cheap}, {"expensive", 60, expensive}});
  EXPECT_EQ(chosen.at("expensive").how, " [fastest of 4, 20 offered]");
  EXPECT_EQ(chosen.at("cheap").how, " [fastest of 2, 20 offered]");
  FakeAlgorithms unknown(*device_, "another problem", slow(1e-3));
  EXPECT_EQ(choose_once(made, unknown, "unknown").how, " [first of 20]");
}

TEST_F(ChoosesAlgorithms, EqualWorkIsChosenAlikeWheneverTheClockIsAlike) {
  std::vector<std::string> chosen[2];
  for (std::vector<std::string>& tags : chosen) {
    Choices made = choices(5);
    const std::vector<Algorithm> algorithms{
        {4e-3, 0.3}, {3e-3, 0.5}, {2e-3, 0.7}, {.seconds = 1e-3, .build_seconds = 0.9, .compiles = true}};
    FakeAlgorithms a(*device_, "a", algorithms), b(*device_, "b", algorithms), c(*device_, "c", algorithms);
    for (const auto& [layer, one] : choose(made, {{"a", 3, a}, {"b", 2, b}, {"c", 5, c}})) tags.push_back(one.plan->tag);
  }
  EXPECT_EQ(chosen[0], chosen[1]);
}

TEST_F(ChoosesAlgorithms, AtMost16OfAProblemAreTimed) {
  Choices made = choices(kEnough);
  FakeAlgorithms many(*device_, "problem", std::vector<Algorithm>(30));
  EXPECT_EQ(choose(made, many).how, " [fastest of 16, 30 offered]");
}

TEST_F(ChoosesAlgorithms, EqualProblemsAreDecidedOnce) {
  Choices made = choices(kEnough);
  FakeAlgorithms first(*device_, "problem", {{2e-3}, {1e-3}}), again(*device_, "problem", {{2e-3}, {1e-3}});
  choose(made, first);
  const Choices::Counts counts = made.counts();
  runs_ = 0;
  const Chosen<Plan> chosen = choose(made, again);
  EXPECT_EQ(chosen.plan->tag, "1");
  EXPECT_EQ(chosen.how, " [fastest of 2]");
  EXPECT_THAT(again.built, ElementsAre("1"));
  EXPECT_EQ(made.counts(), counts);
  EXPECT_EQ(runs_, 0);
}

// The algorithm itself chooses: the first of two gets half of the time, the last what is left.
TEST_F(ChoosesAlgorithms, OneThatChoosesTakesHalfOfTheTimeThatIsLeft) {
  Choices made = choices(8);
  const std::vector<Algorithm> slow(20, {.seconds = 1e-3, .build_seconds = 1, .compiles = true});
  FakeAlgorithms library(*device_, "library", slow),
      own(*device_, "own",
          {{.seconds = 9e-4, .build_seconds = 1, .compiles = true}, {.seconds = 8e-4, .build_seconds = 1, .compiles = true}});
  std::map<std::string, std::string> how;
  const auto nested = [&](FakeAlgorithms& algorithms) {
    Chosen<Plan> chosen = choose_once(made, algorithms);
    how[algorithms.problem()] = chosen.how;
    return chosen.plan;
  };
  Listed<Plan> algorithms("both", {{.tag = "library", .build = [&] { return nested(library); }, .compiles = true},
                                   {.tag = "own", .build = [&] { return nested(own); }, .compiles = true}});
  const Chosen<Plan> chosen = choose(made, algorithms);
  EXPECT_EQ(chosen.plan->seconds, 8e-4);
  EXPECT_EQ(how.at("library"), " [fastest of 4, 20 offered]");
  EXPECT_EQ(how.at("own"), " [fastest of 2]");
  EXPECT_EQ(chosen.how, " [fastest of 2]");
}

TEST_F(ChoosesAlgorithms, InputsAreRandomNumbersNotZeros) {
  Choices made = choices(kEnough);
  cuda::DeviceMemory memory(*device_, 3 << 20);
  for (const Element element : {Element::f32, Element::bf16, Element::f16}) {
    Trial<Plan> on_input = trial();
    on_input.inputs = {{memory.data(), memory.size(), element}};
    FakeAlgorithms algorithms(*device_, "problem " + std::to_string(static_cast<int>(element)), {{2e-3}, {1e-3}});
    device_->clear(memory.data(), memory.size(), stream_.get());
    made.choose<Plan>("layer", algorithms, on_input);
    std::vector<std::uint16_t> halves(memory.size() / 2);
    device_->copy_to_host(halves.data(), memory.data(), memory.size(), stream_.get());
    // Exponents of 1/16 to 1, in the upper half of a float or in each number.
    for (std::size_t i = 1; i < halves.size(); i += 2) {
      const int exponent = element == Element::f16 ? (halves[i] >> 10 & 31) - 15 : (halves[i] >> 7 & 255) - 127;
      ASSERT_TRUE(exponent >= -4 && exponent <= -1) << i << " of element " << static_cast<int>(element);
    }
    EXPECT_NEAR(static_cast<double>(std::count_if(halves.begin(), halves.end(), [](auto half) { return half >> 15; })),
                halves.size() / 2, halves.size() / 50);
  }
}

// Whatever the order of the layers.
TEST_F(ChoosesAlgorithms, WhatBuildsAtOnceIsTimedForEveryLayerBeforeAnythingIsCompiled) {
  const Algorithm fused{.seconds = 1e-4, .build_seconds = 3, .compiles = true}, at_once{2e-3}, faster{1e-3};
  for (const double seconds : {0.01, kEnough}) {
    Choices made = choices(seconds);
    FakeAlgorithms first(*device_, "first problem", {fused, at_once, faster}),
        second(*device_, "second problem", {at_once, faster, fused});
    const auto chosen = choose(made, {{"first", 1, first}, {"second", 1, second}});
    if (seconds < kEnough) {
      for (const auto& [layer, one] : chosen) EXPECT_EQ(one.how, " [fastest of 2, 3 offered]");
      EXPECT_THAT(first.built, ElementsAre("1", "2"));
      EXPECT_THAT(second.built, ElementsAre("0", "1"));
    } else {
      for (const auto& [layer, one] : chosen) EXPECT_EQ(one.how, " [fastest of 3]");
      EXPECT_EQ(chosen.at("first").plan->tag, "0");
      EXPECT_EQ(chosen.at("second").plan->tag, "2");
    }
  }
}

TEST_F(ChoosesAlgorithms, TheFirstPassTakesAMomentPerProblem) {
  Choices made = choices(kEnough);
  FakeAlgorithms many(*device_, "many", std::vector<Algorithm>(16, {.seconds = 5e-3, .build_seconds = 1}));
  made.begin_program({{"layer", {1, 1}}});
  const double begin = device_->seconds();
  choose_once(made, many);
  EXPECT_LT(device_->seconds() - begin - static_cast<double>(many.built.size()), 0.1);  // without building
}

TEST_F(ChoosesAlgorithms, ADeviceThatFailsEndsTheRunWithTheFirstMessage) {
  Choices made = choices(kEnough);
  FakeAlgorithms inner(*device_, "engines", {{.seconds = 1e-3}, {.seconds = 1e-3, .breaks_device = true}, {1e-3}});
  Listed<Plan> algorithms("both", {{"library", [&] { return choose_once(made, inner).plan; }},
                                   {"own", [&] { return std::make_shared<Plan>("own", Algorithm{}, inner.held); }}});
  made.begin_program({{"layer", {1, 1}}});
  try {
    made.choose<Plan>("layer", algorithms, trial());
    FAIL();
  } catch (const Error& error) {
    FAIL() << "taken for an algorithm that does not work: " << error.what();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "engines by 1: fake device: an illegal memory access was encountered");
  }
  EXPECT_THAT(inner.built, ElementsAre("0", "1"));
}

TEST(RunsOnThreads, EachJobOnceAndNoneAfterTheTimeIsOver) {
  std::array<std::atomic<int>, 100> runs{};
  Jobs jobs;
  for (std::atomic<int>& count : runs) jobs.push_back([&count] { ++count; });
  run_on_threads(jobs, [] { return true; });
  for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
  std::atomic<int> left = 10;
  run_on_threads(jobs, [&] { return left-- > 0; });
  int again = 0;
  for (const std::atomic<int>& count : runs) again += count - 1;
  EXPECT_EQ(again, 10);
  run_on_threads({}, [] { return true; });
}

}  // namespace
}  // namespace epochbench
