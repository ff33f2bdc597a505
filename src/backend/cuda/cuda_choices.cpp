#include "src/backend/cuda/cuda_choices.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <thread>

#include "src/backend/cuda/cuda_usability.h"
#include "src/base/errors.h"
#include "src/base/gpu_code.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr int kMaxTimed = 16;        // of a problem; heuristics list the best ones first
constexpr double kFarTooSlow = 10;   // times the median of other layers for the same cost, which is a rough bound
constexpr double kSlow = 2e-4;       // seconds; where nodes are shorter, launches count, and their cost says little
constexpr int kMaxBeyondTheEnd = 4;  // algorithms timed of a problem without time whose first is far too slow

// Sets a variable for the lifetime of this object.
template <typename T>
class Temporarily {
 public:
  Temporarily(T& variable, T value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Temporarily() { variable_ = before_; }
  Temporarily(const Temporarily&) = delete;
  Temporarily& operator=(const Temporarily&) = delete;

 private:
  T& variable_;
  T before_;
};

ChoicePlace place_of(const cuda::DeviceProperties& device, const cuda::LibraryVersions& versions) {
  return {device.name, capability_text(device.compute_capability), device.driver, versions.cublas, versions.cudnn};
}

}  // namespace

Choices::Choices(std::shared_ptr<cuda::Device> device, const cuda::LibraryVersions& versions, ChoiceOptions options)
    : device_(std::move(device)),
      options_(std::move(options)),
      store_(options_.file, place_of(device_->properties(), versions)) {}

void Choices::begin_program(const std::map<std::string, Cost>& costs) {
  std::map<std::string, double> all;
  costs_.clear();
  rates_.clear();
  for (const auto& [layer, cost] : costs) {
    all[layer] = cost.all;
    costs_[layer] = cost.one;
  }
  time_ = {options_.seconds_per_program, std::move(all)};
}

// How long a layer lasts at least if it is far too slow; infinity if nothing is known to compare it with.
double Choices::far_too_slow(const std::string& layer) const {
  const auto cost = costs_.find(layer);
  if (cost == costs_.end() || cost->second <= 0 || rates_.empty()) return std::numeric_limits<double>::infinity();
  return std::max(kSlow, kFarTooSlow * median(rates_) * cost->second);
}

void Choices::store() {
  if (options_.seconds_per_program > 0) store_.save();
}

void ChoiceOptions::end_process(const std::string& message) {
  print_error(message);
  std::_Exit(1);
}

namespace {

std::string by(const std::string& problem, const std::string& tag) { return problem + " by " + tag; }

// Stored as the problem of an algorithm that does not end.
std::string endless(const std::string& on_trial) { return "endless: " + on_trial; }

}  // namespace

void Choices::await(cuda::Event event) {
  constexpr std::chrono::microseconds kPause{20};
  const double limit = options_.clock() + kTrialSeconds;
  while (!device_->done(event)) {
    if (options_.clock() < limit) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    StoredChoice choice;
    choice.problem = endless(on_trial_);
    choice.chosen = "none";
    store_.keep(choice);
    store_.save();
    options_.on_hang(on_trial_ + " did not end within " + format_seconds(kTrialSeconds) +
                     ", and the GPU runs nothing else meanwhile; the next call does without it");
  }
  device_->synchronize(event);  // reports a failure of the device
}

void Choices::await(cuda::Stream stream) {
  const cuda::Owned<cuda::Event> end(*device_, device_->make_event());
  device_->record(end.get(), stream);
  await(end.get());
}

// After an error of an algorithm. A device that has failed runs nothing more, so further trials would hide the first message.
void Choices::require_sound_device(const cuda::Error& error, cuda::Stream stream) const {
  try {
    device_->synchronize(stream);
  } catch (const cuda::Error&) {
    throw std::runtime_error(on_trial_ + ": " + error.what());
  }
}

// The plan of a known choice; null if it does not work.
std::shared_ptr<void> Choices::restore(const StoredChoice& choice, const AnyAlgorithms& algorithms) {
  const Temporarily trial(on_trial_, by(algorithms.problem, choice.chosen));
  try {
    std::shared_ptr<void> plan = algorithms.build(choice.chosen);
    if (!choice.here) {
      algorithms.enqueue(plan.get());
      await(algorithms.stream);
      ++counts_.restored;
    }
    return plan;
  } catch (const cuda::Error& error) {  // the library changed but not its version
    require_sound_device(error, algorithms.stream);
    return nullptr;
  }
}

Choices::Decision Choices::decide(const std::string& layer, const AnyAlgorithms& algorithms) {
  const bool outermost = !end_;
  const StoredChoice* const known = store_.find(algorithms.problem);
  if (known && (known->here || !known->blind || options_.seconds_per_program <= 0))
    if (std::shared_ptr<void> plan = restore(*known, algorithms)) {
      if (outermost) time_.decided(layer, 0);
      return {std::move(plan), how_chosen(*known), known->refused};
    }

  const double begin = options_.clock();
  StoredChoice choice;
  choice.problem = algorithms.problem;
  double seconds = 0;
  std::shared_ptr<void> plan = fastest(choice, layer, algorithms, outermost ? begin + time_.share(layer) : *end_, seconds);
  if (outermost) {
    time_.decided(layer, options_.clock() - begin);
    if (const auto cost = costs_.find(layer); plan && cost != costs_.end() && cost->second > 0)
      rates_.push_back(seconds / cost->second);
  }
  if (!plan) throw cuda::Error(choice.refused.empty() ? algorithms.problem + ": no way is listed" : choice.refused);
  ++counts_.decided;
  store_.keep(choice);
  return {std::move(plan), how_chosen(*store_.find(choice.problem)), choice.refused};
}

// Errors: cuda::Error for an algorithm that is faster than its arithmetic can be: it does other arithmetic.
void Choices::require_possible(double seconds, const AnyAlgorithms& algorithms, const void* plan, const std::string& tag) {
  const double least = algorithms.least_seconds(plan);
  if (seconds < least)
    throw cuda::Error(tag + " takes " + format_seconds(seconds) + ", and its multiplications take at least " +
                      format_seconds(least) + " on this card: it does not sum directly");
}

// Fills in the choice, and how long it lasts. Null if no algorithm works: `refused` is then the error of the first.
std::shared_ptr<void> Choices::fastest(StoredChoice& choice, const std::string& layer, const AnyAlgorithms& algorithms,
                                       double end, double& best_seconds) {
  std::shared_ptr<void> best;
  best_seconds = std::numeric_limits<double>::infinity();
  const double far_too_slow = this->far_too_slow(layer);
  int filled_at = -1;
  std::vector<cuda::Offer> offers;
  try {
    offers = algorithms.offers();
  } catch (const cuda::Error& error) {
    choice.refused = error.what();
  }
  const auto regular = std::count_if(offers.begin(), offers.end(), [](const cuda::Offer& offer) { return !offer.last_resort; });
  choice.offered = static_cast<std::int64_t>(offers.size());
  double moment_end = options_.seconds_per_program > 0 ? options_.clock() + kMomentSeconds : end;
  for (const cuda::Offer& offer : offers) {
    const double now = options_.clock();
    const bool goes_on = now < (offer.compiles ? end : std::max(end, moment_end)) ||
                         (best_seconds >= far_too_slow && choice.timed < kMaxBeyondTheEnd);
    // What was not compiled for lack of time is worth another call while few others were timed.
    choice.blind |= best && !offer.last_resort && !goes_on && choice.timed < (offer.compiles ? 3 : 2);
    if (best && (offer.last_resort || !goes_on || choice.timed == kMaxTimed)) continue;
    const Temporarily trial(on_trial_, by(algorithms.problem, offer.tag));
    try {
      if (store_.find(endless(on_trial_))) throw cuda::Error(offer.tag + " did not end in an earlier call");
      std::shared_ptr<void> plan;
      {
        const auto passed_over = [](const cuda::Offer& later) { return later.last_resort; };
        const bool last = std::all_of(&offer + 1, std::as_const(offers).data() + offers.size(), passed_over);
        const Temporarily part(end_, std::optional(last ? end : now + std::max(0.0, end - now) / 2));
        plan = algorithms.build(offer.tag);
      }
      moment_end += options_.clock() - now;                                           // is for timing
      if (!best && (regular < 2 || options_.clock() >= std::max(end, moment_end))) {  // nothing to compare it with, or no time
        const double seconds = stopwatch(algorithms.stream).glance([&] { algorithms.enqueue(plan.get()); });
        require_possible(seconds, algorithms, plan.get(), offer.tag);
        best_seconds = seconds;
        best = std::move(plan);
        choice.chosen = offer.tag;
        if (regular > 1 && best_seconds >= far_too_slow) ++choice.timed;  // the others are compared with it
        continue;
      }
      const double seconds = this->seconds(algorithms, plan.get(), best_seconds, filled_at);
      ++choice.timed;
      require_possible(seconds, algorithms, plan.get(), offer.tag);
      if (seconds >= best_seconds) continue;
      best = std::move(plan);
      best_seconds = seconds;
      choice.chosen = offer.tag;
    } catch (const cuda::Error& error) {  // concerns this algorithm only
      require_sound_device(error, algorithms.stream);
      if (choice.refused.empty()) choice.refused = error.what();
    }
  }
  return best;
}

// filled_at: how many algorithms had been timed when the inputs were filled; choices within an algorithm overwrite them.
double Choices::seconds(const AnyAlgorithms& algorithms, void* plan, double to_beat, int& filled_at) {
  if (filled_at != counts_.timed)
    for (const Operand& input : algorithms.inputs) fill_random(*device_, input, algorithms.stream);
  const double seconds = stopwatch(algorithms.stream).seconds([&] { algorithms.enqueue(plan); }, to_beat);
  filled_at = ++counts_.timed;
  return seconds;
}

}  // namespace epochbench
