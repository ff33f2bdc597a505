// Which algorithm of a problem is chosen, and what choosing costs, on a fake device whose clock is the only one.
#include <algorithm>
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/backend/cuda/cuda_choices.h"
#include "src/backend/cuda/cuda_handles.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench {
namespace {

using cuda::Error;
using test::FakeDevice;
using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

struct Algorithm {
  double seconds = 1e-3;     // of a run
  double build_seconds = 0;  // together with timing it, nearly
  bool builds = true, runs = true, last_resort = false, compiles = true;
  bool hangs = false, breaks_device = false;
};

struct Plan {
  std::string tag;
  double seconds;
  Algorithm algorithm;
  int* held;  // plans that exist
  Plan(std::string name, const Algorithm& of, int& count)
      : tag(std::move(name)), seconds(of.seconds), algorithm(of), held(&count) {
    ++*held;
  }
  ~Plan() { --*held; }
};

class FakeAlgorithms final : public cuda::Algorithms<Plan> {
 public:
  FakeAlgorithms(FakeDevice& device, std::string problem, std::vector<Algorithm> algorithms)
      : device_(device), problem_(std::move(problem)), algorithms_(std::move(algorithms)) {}

  std::string problem() const override { return problem_; }
  std::vector<cuda::Offer> offers() override {
    std::vector<cuda::Offer> offers;
    for (std::size_t i = 0; i < algorithms_.size(); ++i)
      offers.push_back({std::to_string(i), algorithms_[i].last_resort, algorithms_[i].compiles});
    return offers;
  }
  std::shared_ptr<Plan> build(const std::string& tag) override {
    const Algorithm& algorithm = algorithms_.at(std::stoul(tag));
    device_.pass(algorithm.build_seconds);
    built.push_back(tag);
    if (!algorithm.builds) throw Error("way " + tag + " is not for this device");
    auto plan = std::make_shared<Plan>(tag, algorithm, held);
    max_held = std::max(max_held, held);
    return plan;
  }

  int held = 0, max_held = 0;
  std::vector<std::string> built;

 private:
  FakeDevice& device_;
  std::string problem_;
  std::vector<Algorithm> algorithms_;
};

class ChoosesAlgorithms : public ::testing::Test {
 protected:
  ~ChoosesAlgorithms() override {
    try {
      device_->synchronize(stream_.get());
    } catch (const Error&) {  // a test broke the device
    }
  }

  Choices choices(double seconds, const std::string& file = "", const std::string& library = "1") {
    Choices made(device_, {library, library},
                 {file, seconds, [this] { return device_->seconds(); },
                  [](const std::string& message) { throw std::logic_error(message); }});
    made.begin_program({{"layer", {1, 1}}});
    return made;
  }
  Trial<Plan> trial() {
    const auto run = [this](Plan& plan, cuda::Stream stream) {
      if (!plan.algorithm.runs) throw Error("way " + plan.tag + " does not run");
      if (plan.algorithm.hangs) device_->hang(true);
      if (plan.algorithm.breaks_device) device_->fail_work(1);
      ++runs_;
      device_->enqueue(
          stream, [] {}, plan.seconds);
    };
    return {run, {}, stream_.get()};
  }
  Chosen<Plan> choose(Choices& choices, FakeAlgorithms& algorithms, const std::string& layer = "layer") {
    return choices.choose<Plan>(layer, algorithms, trial());
  }
  std::string file(const std::string& name) {
    const std::string path = ::testing::TempDir() + "choices_test-" + std::to_string(getpid()) + "/" + name;
    std::remove(path.c_str());
    return path;
  }

  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
  cuda::Owned<cuda::Stream> stream_{*device_, device_->make_stream()};
  int runs_ = 0;
};

constexpr double kEnough = 1e3;

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
  made.begin_program({{"usual", {1, 1}}, {"large", {20, 20}}, {"slow", {1, 1}}, {"hopeless", {1, 1}}});
  FakeAlgorithms usual(*device_, "usual problem", {{1e-3}, {5e-4}}), large(*device_, "large problem", {{5e-2}, {1e-3}});
  EXPECT_EQ(choose(made, usual, "usual").how, " [first of 2]");
  EXPECT_EQ(choose(made, large, "large").how, " [first of 2]");  // it also has more to do
  FakeAlgorithms slow(*device_, "slow problem", {{1e-1}, {9e-2}, {2e-3}, {1e-3}, {.seconds = 1e-4, .last_resort = true}});
  const Chosen<Plan> chosen = choose(made, slow, "slow");
  EXPECT_EQ(chosen.plan->tag, "2");
  EXPECT_EQ(chosen.how, " [fastest of 3, 5 offered]");
  EXPECT_EQ(slow.held, 1);
  FakeAlgorithms hopeless(*device_, "hopeless problem", std::vector<Algorithm>(9, {1e-1}));
  EXPECT_EQ(choose(made, hopeless, "hopeless").how, " [fastest of 4, 9 offered]");
}

// The algorithm itself has a single engine, as that gradient does.
TEST_F(ChoosesAlgorithms, WithoutTimeOneWithASingleFarTooSlowEngineIsComparedToo) {
  Choices made = choices(0);
  made.begin_program({{"usual", {1, 1}}, {"slow", {1, 1}}});
  FakeAlgorithms usual(*device_, "usual problem", {{1e-3}, {5e-4}}), engines(*device_, "engines", {{1e-1}});
  choose(made, usual, "usual");
  Listed<Plan> algorithms("both", {{"library", [&] { return choose(made, engines, "slow").plan; }},
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

// Each algorithm takes 1 s to build: one is begun as long as there is time.
TEST_F(ChoosesAlgorithms, LayersGetTheTimeThatTheyCost) {
  const std::vector<Algorithm> algorithms(20, {.seconds = 1e-3, .build_seconds = 1});
  Choices made = choices(10);
  made.begin_program({{"expensive", {60, 60}}, {"cheap", {20, 20}}});
  FakeAlgorithms expensive(*device_, "expensive problem", algorithms), cheap(*device_, "cheap problem", algorithms);
  EXPECT_EQ(choose(made, expensive, "expensive").how, " [fastest of 8, 20 offered]");
  EXPECT_EQ(choose(made, cheap, "cheap").how, " [fastest of 2, 20 offered]");
  FakeAlgorithms unknown(*device_, "another problem", algorithms);
  EXPECT_EQ(choose(made, unknown, "unknown").how, " [first of 20]");
}

TEST_F(ChoosesAlgorithms, EqualWorkIsChosenAlikeWheneverTheClockIsAlike) {
  std::vector<std::string> chosen[2];
  for (std::vector<std::string>& tags : chosen) {
    Choices made = choices(5);
    made.begin_program({{"a", {3, 3}}, {"b", {2, 2}}, {"c", {5, 5}}});
    for (const char* layer : {"a", "b", "c"}) {
      FakeAlgorithms algorithms(*device_, layer, {{4e-3, 0.3}, {3e-3, 0.5}, {2e-3, 0.7}, {1e-3, 0.2}});
      tags.push_back(choose(made, algorithms, layer).plan->tag);
    }
  }
  EXPECT_EQ(chosen[0], chosen[1]);
  EXPECT_THAT(chosen[0], ElementsAre("2", "2", "3"));
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
  const std::vector<Algorithm> slow(20, {.seconds = 1e-3, .build_seconds = 1});
  FakeAlgorithms library(*device_, "library", slow), own(*device_, "own", {{.seconds = 9e-4, .build_seconds = 1}, {8e-4, 1}});
  std::vector<std::string> how;
  const auto nested = [&](FakeAlgorithms& algorithms) {
    Chosen<Plan> chosen = choose(made, algorithms);
    how.push_back(chosen.how);
    return chosen.plan;
  };
  Listed<Plan> algorithms("both", {{"library", [&] { return nested(library); }}, {"own", [&] { return nested(own); }}});
  const Chosen<Plan> chosen = made.choose<Plan>("layer", algorithms, trial());
  EXPECT_EQ(chosen.plan->seconds, 8e-4);
  EXPECT_THAT(how, ElementsAre(" [fastest of 4, 20 offered]", " [fastest of 2]"));
  EXPECT_EQ(chosen.how, " [fastest of 2]");
  EXPECT_EQ(made.counts().decided, 3);
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

// The first layer takes all the time; the others have a moment each for what need not be compiled.
TEST_F(ChoosesAlgorithms, WhatIsCompiledAlreadyIsTimedForEveryLayer) {
  Choices made = choices(2);
  made.begin_program({{"first", {1000, 1}}, {"later", {1, 1}}});
  FakeAlgorithms fused(*device_, "fused problem", std::vector<Algorithm>(5, {.seconds = 1e-3, .build_seconds = 3}));
  choose(made, fused, "first");
  const Algorithm compiled{.seconds = 2e-3, .compiles = false};
  FakeAlgorithms later(*device_, "later problem", {compiled, {.seconds = 1e-3, .compiles = false}, {.seconds = 1e-4}});
  const Chosen<Plan> chosen = choose(made, later, "later");
  EXPECT_EQ(chosen.plan->tag, "1");
  EXPECT_EQ(chosen.how, " [fastest of 2, 3 offered]");
  EXPECT_THAT(later.built, ElementsAre("0", "1"));
  const double begin = device_->seconds();
  FakeAlgorithms many(*device_, "many", std::vector<Algorithm>(16, {.seconds = 5e-3, .compiles = false}));
  choose(made, many, "later");
  EXPECT_LT(device_->seconds() - begin, 0.15);
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

TEST_F(ChoosesAlgorithms, ADeviceThatFailsEndsTheRunWithTheFirstMessage) {
  Choices made = choices(kEnough);
  FakeAlgorithms inner(*device_, "engines", {{.seconds = 1e-3}, {.seconds = 1e-3, .breaks_device = true}, {1e-3}});
  Listed<Plan> algorithms("both", {{"library", [&] { return choose(made, inner).plan; }},
                                   {"own", [&] { return std::make_shared<Plan>("own", Algorithm{}, inner.held); }}});
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

TEST_F(ChoosesAlgorithms, ABlindChoiceIsTriedAgainByTheNextProcessThatHasTime) {
  const std::string path = file("blind.json");
  const std::vector<Algorithm> algorithms = {
      {.seconds = 2e-3, .build_seconds = 2}, {1e-3}, {.seconds = 1e-4, .last_resort = true}};
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
