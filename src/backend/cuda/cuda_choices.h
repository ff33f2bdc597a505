// Decides which of several algorithms solves a problem: an algorithm of cuBLASLt, an engine of cuDNN, a library's
// epilogue or a kernel of our own after a plain product, a library's convolution or im2col and a product. All timing of
// algorithms is done here, while a program is compiled; a step never chooses.
//
// The algorithms of a problem are timed on the device in listed order until the layer's share of the program's time is used up
// (tuning_time.h), and for a moment even after that: what is compiled already is timed for all layers. Equal problems are
// decided once. Without time, the first algorithm that works is taken, unless it is far slower than other layers of the program
// for what it costs: then others are timed all the same. A choice is stored (choice_store.h), so that another process times
// nothing but what was chosen blindly; a stored choice that does not work is made again.
//
// Building an algorithm may itself choose, as the product within im2col does. Each algorithm may then take half of the time
// that is left, and the last one before last resorts all of it, so the most promising one gets the most.
//
// To add an algorithm to a node, add an entry with its own tag to the list of algorithms that its compiler passes to choose(),
// and its scratch to cuda_workspace_bytes(). To give a node its first choice, do the same with a new list, and name its layer
// in cuda_layer().
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/libraries/libraries.h"
#include "src/backend/cuda/choice_store.h"
#include "src/backend/cuda/cuda_stopwatch.h"
#include "src/backend/cuda/tuning_time.h"

namespace epochbench {

// How long a trial may take: a call of an algorithm takes less than a second.
inline constexpr double kTrialSeconds = 5;

// The time for algorithms of a problem that build at once, whatever was spent before.
inline constexpr double kMomentSeconds = 0.05;

// The time that epochbench spends on one program. ResNet-50 has 68 kinds of convolutions in each precision, and cuDNN takes a
// second or more to compile some engines.
inline constexpr double kTuningSeconds = 20;

struct ChoiceOptions {
  std::string file = {};                // of stored choices; empty: they end with the process
  double seconds_per_program = 0;       // for timing; 0: choices are read from the file, and none is added
  std::function<double()> clock = [] {  // in seconds
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  // Called with a message if a trial does not end; must not return. By default it ends the process, as nothing that waits for
  // the device, such as releasing its memory, would return.
  std::function<void(const std::string&)> on_hang = end_process;
  [[noreturn]] static void end_process(const std::string& message);
};

// Algorithms that a node compiler lists. Build: std::shared_ptr<T>(); throws cuda::Error.
template <typename T>
class Listed final : public cuda::Algorithms<T> {
 public:
  struct Algorithm {
    std::string tag;
    std::function<std::shared_ptr<T>()> build;
    bool last_resort = false;
    bool compiles = false;
  };
  Listed(std::string problem, std::vector<Algorithm> algorithms)
      : problem_(std::move(problem)), algorithms_(std::move(algorithms)) {}

  std::string problem() const override { return problem_; }
  std::vector<cuda::Offer> offers() override {
    std::vector<cuda::Offer> offers;
    for (const Algorithm& algorithm : algorithms_) offers.push_back({algorithm.tag, algorithm.last_resort, algorithm.compiles});
    return offers;
  }
  std::shared_ptr<T> build(const std::string& tag) override {
    for (const Algorithm& algorithm : algorithms_)
      if (algorithm.tag == tag) try {
          return algorithm.build();
        } catch (const cuda::Error& error) {
          throw cuda::Error(tag + ": " + error.what());
        }
    throw cuda::Error(problem_ + ": no way is called " + tag);
  }

 private:
  std::string problem_;
  std::vector<Algorithm> algorithms_;
};

template <typename T>
struct Chosen {
  std::shared_ptr<T> plan;
  std::string how;      // for results, appended to the name of an implementation: " [fastest of 9]"
  std::string refused;  // why the first algorithm that failed does not work: "cuDNN: it offers no engine"
};

// What algorithms of a problem are timed on.
template <typename T>
struct Trial {
  std::function<void(T&, cuda::Stream)> enqueue;
  std::vector<Operand> inputs;  // what it reads; overwritten with random numbers
  cuda::Stream stream;
  // How long an algorithm takes at least if it does the arithmetic that it is meant to. A faster one is refused. Empty: 0.
  std::function<double(const T&)> least_seconds = {};
};

class Choices {
 public:
  Choices(std::shared_ptr<cuda::Device> device, const cuda::LibraryVersions& versions, ChoiceOptions options);

  // costs: of the program's layers (cuda_layer()), in one unit. all: of the layers of a kind together; one: of one of them.
  struct Cost {
    double all = 0, one = 0;
  };
  void begin_program(const std::map<std::string, Cost>& costs);
  void store();

  // Errors: cuda::Error with the reason of the first algorithm if none works; std::runtime_error with the first message if the
  // device has failed, so that nothing else could be tried.
  template <typename T>
  Chosen<T> choose(const std::string& layer, cuda::Algorithms<T>& algorithms, const Trial<T>& trial) {
    Decision decision = decide(
        layer, {algorithms.problem(), [&] { return algorithms.offers(); },
                [&](const std::string& tag) { return algorithms.build(tag); },
                [&](void* plan) { trial.enqueue(*static_cast<T*>(plan), trial.stream); },
                [&](const void* plan) { return trial.least_seconds ? trial.least_seconds(*static_cast<const T*>(plan)) : 0; },
                trial.inputs, trial.stream});
    return {std::static_pointer_cast<T>(decision.plan), std::move(decision.how), std::move(decision.refused)};
  }

  struct Counts {
    int timed = 0;     // algorithms
    int decided = 0;   // problems, by this process
    int restored = 0;  // stored choices that were used
    bool operator==(const Counts&) const = default;
  };
  const Counts& counts() const { return counts_; }

  cuda::Device& device() const { return *device_; }
  // Returns once everything on the stream is done. An algorithm on trial that takes longer than kTrialSeconds is stored as one
  // that does not end, so that no later process tries it, and on_hang is called.
  void await(cuda::Stream stream);
  // While an algorithm is built: whether it may still be timed. A stored choice is built without a limit.
  bool time_is_left() const { return !end_ || options_.clock() < *end_; }

 private:
  struct AnyAlgorithms {  // of any type
    std::string problem;
    std::function<std::vector<cuda::Offer>()> offers;
    std::function<std::shared_ptr<void>(const std::string& tag)> build;
    std::function<void(void* plan)> enqueue;
    std::function<double(const void* plan)> least_seconds;
    const std::vector<Operand>& inputs;
    cuda::Stream stream;
  };
  struct Decision {
    std::shared_ptr<void> plan;
    std::string how, refused;
  };
  Decision decide(const std::string& layer, const AnyAlgorithms& algorithms);
  std::shared_ptr<void> restore(const StoredChoice& choice, const AnyAlgorithms& algorithms);
  std::shared_ptr<void> fastest(StoredChoice& choice, const std::string& layer, const AnyAlgorithms& algorithms, double end,
                                double& seconds);
  Stopwatch stopwatch(cuda::Stream stream) {
    return {*device_, stream, [this](cuda::Event event) { await(event); }};
  }
  void await(cuda::Event event);
  void require_sound_device(const cuda::Error& error, cuda::Stream stream) const;
  static void require_possible(double seconds, const AnyAlgorithms& algorithms, const void* plan, const std::string& tag);
  double far_too_slow(const std::string& layer) const;
  double seconds(const AnyAlgorithms& algorithms, void* plan, double to_beat, int& filled_at);

  std::shared_ptr<cuda::Device> device_;
  ChoiceOptions options_;
  ChoiceStore store_;
  TuningTime time_;
  std::map<std::string, double> costs_;  // of one layer of each kind
  std::vector<double> rates_;            // seconds per cost of the layers that were decided
  std::optional<double> end_;            // of the algorithm that is being built; empty outside
  std::string on_trial_;                 // the problem and the algorithm's tag; empty outside
  Counts counts_;
};

}  // namespace epochbench
