// Which algorithm of a problem is chosen, and what choosing costs, on a fake device whose clock is the only one.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epochbench/executable.h"
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
  bool builds = true, runs = true, last_resort = false, compiles = false;
  bool hangs = false, breaks_device = false, fails_in_graph = false, lacks_memory = false;
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
    if (algorithm.lacks_memory) throw OutOfMemory("way " + tag + " needs more memory");
    auto plan = std::make_shared<Plan>(tag, algorithm, held);
    max_held = std::max(max_held, held);
    return plan;
  }

  std::string left_out() override { return listed_beside; }
  std::function<std::shared_ptr<void>()> compiling(const std::string& tag) override {
    if (!algorithms_.at(std::stoul(tag)).compiles) return {};
    return [this, tag] {
      Algorithm& algorithm = algorithms_.at(std::stoul(tag));
      device_.pass(std::exchange(algorithm.build_seconds, 0));
      if (!algorithm.builds) throw Error("way " + tag + " is not for this device");
      compiled.push_back(tag);
      return std::make_shared<int>();
    };
  }

  int held = 0, max_held = 0;
  std::string listed_beside;                 // left_out()
  std::vector<std::string> built, compiled;  // one by one, and at once

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
    Choices made(
        device_, {library, library},
        {file, seconds, [this] { return device_->seconds(); },
         [](const std::string& message) { throw std::logic_error(message); },
         [this](const Jobs& jobs, const std::function<bool()>& goes_on) { device_->run_at_once(jobs, goes_on, threads_); }});
    made.begin_program({{"layer", {1, 1}}});
    return made;
  }
  Trial<Plan> trial() {
    const auto run = [this](Plan& plan, cuda::Stream stream) {
      if (!plan.algorithm.runs) throw Error("way " + plan.tag + " does not run");
      if (plan.algorithm.fails_in_graph && device_->captures(stream)) throw Error("way " + plan.tag + " cannot be captured");
      if (plan.algorithm.hangs) device_->hang(true);
      if (plan.algorithm.breaks_device) device_->fail_work(1);
      ++runs_;
      device_->enqueue(
          stream, [] {}, plan.seconds);
    };
    return {run, {}, stream_.get()};
  }
  // In one pass.
  Chosen<Plan> choose_once(Choices& choices, cuda::Algorithms<Plan>& algorithms, const std::string& layer = "layer") {
    return choices.choose<Plan>(layer, algorithms, trial());
  }
  struct Layer {
    std::string name;
    double cost;
    cuda::Algorithms<Plan>& algorithms;
  };
  // Both passes of a program with one node of each layer.
  std::map<std::string, Chosen<Plan>> choose(Choices& choices, const std::vector<Layer>& layers) {
    std::map<std::string, Choices::Cost> costs;
    for (const Layer& layer : layers) costs[layer.name] = {layer.cost, 1};
    choices.begin_program(costs);
    std::map<std::string, Chosen<Plan>> chosen;
    for (const Layer& layer : layers) chosen[layer.name] = choose_once(choices, layer.algorithms, layer.name);
    for (const std::string& name : choices.begin_rest())
      for (const Layer& layer : layers)
        if (layer.name == name) chosen[name] = choose_once(choices, layer.algorithms, name);
    return chosen;
  }
  Chosen<Plan> choose(Choices& choices, cuda::Algorithms<Plan>& algorithms) {
    return choose(choices, {{"layer", 1, algorithms}}).at("layer");
  }
  std::string file(const std::string& name) {
    const std::string path = ::testing::TempDir() + "choices_test-" + std::to_string(getpid()) + "/" + name;
    std::remove(path.c_str());
    return path;
  }

  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
  cuda::Owned<cuda::Stream> stream_{*device_, device_->make_stream()};
  int runs_ = 0, own_ = 0;
  std::size_t threads_ = 1;  // that compile
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
