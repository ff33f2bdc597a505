// Algorithms with given times, properties and faults, and a fixture that chooses among them on a fake device whose clock is the
// only one.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "epochbench/executable.h"
#include "src/backend/cuda/cuda_choices.h"
#include "src/backend/cuda/cuda_handles.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench::test {

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
    if (!algorithm.builds) throw cuda::Error("way " + tag + " is not for this device");
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
      if (!algorithm.builds) throw cuda::Error("way " + tag + " is not for this device");
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
    } catch (const cuda::Error&) {  // a test broke the device
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
      if (!plan.algorithm.runs) throw cuda::Error("way " + plan.tag + " does not run");
      if (plan.algorithm.fails_in_graph && device_->captures(stream))
        throw cuda::Error("way " + plan.tag + " cannot be captured");
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

inline constexpr double kEnough = 1e3;

}  // namespace epochbench::test
