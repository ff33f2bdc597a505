// Decides which of several algorithms solves a problem: an algorithm of cuBLASLt, an engine of cuDNN, a library's
// epilogue or a kernel of our own after a plain product, a library's convolution or im2col and a product. All timing of
// algorithms is done here, while a program is compiled; a step never chooses.
//
// A program is decided in two passes. In the first, every problem of the program has a moment for the algorithms that build at
// once, in listed order; none that must be compiled is built if another works. In the second, the rest of the program's time
// is divided among the layers with algorithms left, by what they may gain, the largest first: what must be compiled, and what
// the moment was too short for.
//
// What must be compiled is compiled on all cores of the host, for all layers together, before it is timed: stored choices
// before the first pass, and what is left to try between the passes, the algorithms that may gain most first. Equal problems
// are decided once. Without time, the first algorithm that works is taken, unless it is far slower than other layers of the
// program for what it costs: then others are timed all the same. A choice is stored with what was tried (choice_store.h), so
// that another process times only what is left; a stored choice that does not work is made again.
//
// Building an algorithm may itself choose, as the product within im2col does. In the second pass, each algorithm may then take
// half of the time that is left, and the last one before last resorts all of it.
//
// To add an algorithm to a node, add an entry with its own tag to the list of algorithms that its compiler passes to choose(),
// and its scratch to cuda_workspace_bytes(). To give a node its first choice, do the same with a new list, and name its layer
// in cuda_layer().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

// The time for algorithms of a problem that build at once, in the first pass.
inline constexpr double kMomentSeconds = 0.05;

// The time that epochbench spends on one program. ResNet-50 has 68 kinds of convolutions in each precision, and cuDNN takes a
// second or more to compile some engines.
inline constexpr double kTuningSeconds = 20;

// So many algorithms of a problem are timed at most if the next must be compiled.
inline constexpr int kMaxCompiled = 4;

// The share of the time that is left for the second pass in which compilations may begin; the rest is for timing.
inline constexpr double kCompilingShare = 0.5;

using Jobs = std::vector<std::function<void()>>;
// Runs jobs, which do not throw, as many at once as there are cores, and returns when all that it began are done. It begins
// none once goes_on(), which several threads may call, is false.
void run_on_threads(const Jobs& jobs, const std::function<bool()>& goes_on);

struct ChoiceOptions {
  std::string file = {};                // of stored choices; empty: they end with the process
  double seconds_per_program = 0;       // for timing; 0: choices are read from the file, and none is added
  std::function<double()> clock = [] {  // in seconds
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  // Called with a message if a trial does not end; must not return. By default it ends the process, as nothing that waits for
  // the device, such as releasing its memory, would return.
  std::function<void(const std::string&)> on_hang = end_process;
  std::function<void(const Jobs& jobs, const std::function<bool()>& goes_on)> run_at_once = run_on_threads;
  [[noreturn]] static void end_process(const std::string& message);
};

// The problem of choosing among the algorithms that a node compiler lists for a layer.
inline std::string way_problem(const std::string& layer) { return "ways of " + layer; }

// The engines from which an algorithm that a node compiler lists for a layer is chosen, where they must be compiled.
struct CompiledEngines {
  std::string layer;  // cuda_layer() of the node
  std::string tag;    // the algorithm's, in way_problem(layer)
  std::shared_ptr<cuda::AlgorithmList> engines;
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
  int nodes = 1;  // that a run covers
};

class Choices {
 public:
  Choices(std::shared_ptr<cuda::Device> device, const cuda::LibraryVersions& versions, ChoiceOptions options);

  // Whether algorithms are timed.
  bool times() const { return options_.seconds_per_program > 0; }

  // What the layers of a kind (cuda_layer()) cost together, in one unit for the program, and how many nodes they are.
  struct Cost {
    double all = 0;
    int nodes = 0;
  };
  // Begins the first pass, after compiling the engines of stored choices. `compiled`: of the program's layers.
  void begin_program(const std::map<std::string, Cost>& costs, std::vector<CompiledEngines> compiled = {});
  // Begins the second pass, after compiling engines that are left to try: the layers to choose for again, the one that may gain
  // most first. Empty if nothing or no time is left.
  std::vector<std::string> begin_rest();
  void store();  // and ends the program
  // The seconds of a run of a node of the layer if an algorithm of it was chosen without time to compare it with another,
  // otherwise 0; empty if nothing is timed.
  std::optional<double> blind_seconds(const std::string& layer, const std::function<void(cuda::Stream)>& run,
                                      cuda::Stream stream);

  // Errors: cuda::Error with the reason of the first algorithm if none works, OutOfMemory if one might with more memory;
  // std::runtime_error with the first message if the device has failed, so that nothing else could be tried.
  template <typename T>
  Chosen<T> choose(const std::string& layer, cuda::Algorithms<T>& algorithms, const Trial<T>& trial) {
    Decision decision = decide(
        layer, {algorithms.problem(), algorithms, [&](const std::string& tag) { return algorithms.build(tag); },
                [&](void* plan) { trial.enqueue(*static_cast<T*>(plan), trial.stream); },
                [&](const void* plan) { return trial.least_seconds ? trial.least_seconds(*static_cast<const T*>(plan)) : 0; },
                trial.inputs, trial.stream, trial.nodes});
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
  // While an algorithm is built: whether it may still be timed. A stored choice is built without a limit, and what was compiled
  // before it is built is timed.
  bool time_is_left() const { return was_compiled_ || !end_ || options_.clock() < *end_; }

 private:
  struct AnyAlgorithms {  // of any type
    std::string problem;
    cuda::AlgorithmList& list;
    std::function<std::shared_ptr<void>(const std::string& tag)> build;
    std::function<void(void* plan)> enqueue;
    std::function<double(const void* plan)> least_seconds;
    const std::vector<Operand>& inputs;
    cuda::Stream stream;
    int nodes;
  };
  struct Decision {
    std::shared_ptr<void> plan;
    std::string how, refused;
  };
  struct Within {  // the choices that building an algorithm makes
    bool unfinished = false, blind = false;
  };
  struct Layer {
    Cost cost;
    struct Problem {
      double seconds = 0;  // of all its nodes
      bool unfinished = false, blind = false;
    };
    std::map<std::string, Problem> problems = {};  // those that were decided
    double seconds() const;
  };

  Decision decide(const std::string& layer, const AnyAlgorithms& algorithms);
  Decision decided(const std::string& layer, const AnyAlgorithms& algorithms, std::shared_ptr<void> plan,
                   const StoredChoice& choice, const Within& within);
  std::shared_ptr<void> build(const AnyAlgorithms& algorithms, const std::string& tag, std::optional<double> end, bool restores,
                              Within& within);
  std::shared_ptr<void> restore(const StoredChoice& choice, const AnyAlgorithms& algorithms, Within& within);
  static std::string by(const std::string& problem, const std::string& tag) { return problem + " by " + tag; }
  // Stored as the problem of an algorithm that does not end.
  static std::string endless(const std::string& on_trial) { return "endless: " + on_trial; }
  struct Listing {
    std::vector<cuda::Offer> offers;
    std::int64_t regular;  // offers without last resorts, those that were tried included
  };
  Listing list(StoredChoice& choice, cuda::AlgorithmList& algorithms) const;
  struct Wanted {
    const CompiledEngines* from;
    std::string tag;  // of an engine
  };
  std::vector<Wanted> stored_engines() const;
  std::vector<Wanted> engines_to_try(const std::vector<std::string>& layers) const;
  void compile(const std::vector<Wanted>& wanted, const std::function<bool()>& goes_on);
  bool is_compiled(const std::string& problem, const std::string& tag) const;
  void release_compiled(const std::string& layer);
  std::shared_ptr<void> fastest(StoredChoice& choice, std::shared_ptr<void> best, const std::string& layer,
                                const AnyAlgorithms& algorithms, double end, Within& within);
  Stopwatch stopwatch(cuda::Stream stream) {
    return {*device_, stream, [this](cuda::Event event) { await(event); }};
  }
  void await(cuda::Event event);
  void require_sound_device(const std::exception& error, cuda::Stream stream) const;
  static void require_possible(double seconds, const AnyAlgorithms& algorithms, const void* plan, const std::string& tag);
  std::vector<double> rates() const;
  double far_too_slow(const std::string& layer, int nodes) const;
  double seconds(const AnyAlgorithms& algorithms, void* plan, double to_beat, int& filled_at);

  std::shared_ptr<cuda::Device> device_;
  ChoiceOptions options_;
  ChoiceStore store_;
  double spent_ = 0;   // of the program's time, without what restoring takes
  bool rest_ = false;  // the second pass
  TuningTime time_;    // of the second pass
  std::map<std::string, Layer> layers_;
  std::set<std::string> decided_;  // problems, in this pass
  std::vector<CompiledEngines> engines_;
  std::set<std::string> waiting_;  // layers with such engines that are not decided in this pass
  // What keeps compiled algorithms until they are built, by problem and tag: engines, and the listed algorithms that need them.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<void>> compiled_;
  Within* within_ = nullptr;   // of the algorithm that is being built; null outside
  std::optional<double> end_;  // of that algorithm's time; empty outside, and for a stored choice
  bool was_compiled_ = false;  // that algorithm, ahead of its build
  bool restores_ = false;      // whether a stored choice is being built
  std::string on_trial_;       // the problem and the algorithm's tag; empty outside
  Counts counts_;
};

}  // namespace epochbench
