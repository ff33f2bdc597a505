#include "src/backend/cuda/cuda_choices.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <limits>
#include <stdexcept>
#include <thread>

#include "epochbench/executable.h"
#include "src/backend/cuda/cuda_usability.h"
#include "src/base/errors.h"
#include "src/base/gpu_code.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr int kMaxTimed = 16;        // of a problem; heuristics list the best ones first
constexpr double kFarTooSlow = 10;   // times the median of other layers for the same cost, which is a rough bound
constexpr double kSlow = 2.5e-4;     // seconds; where nodes are shorter, launches count, and their cost says little
constexpr int kMaxBeyondTheEnd = 4;  // algorithms timed of a problem without time whose first is far too slow
constexpr double kMinRate = 0.5;     // times the smallest time per cost of the program's layers: no algorithm is faster

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

bool contains(const std::vector<std::string>& tags, const std::string& tag) {
  return std::ranges::find(tags, tag) != tags.end();
}

ChoicePlace place_of(const cuda::DeviceProperties& device, const cuda::LibraryVersions& versions) {
  return {device.name, capability_text(device.compute_capability), device.driver, versions.cublas, versions.cudnn};
}

}  // namespace

Choices::Choices(std::shared_ptr<cuda::Device> device, const cuda::LibraryVersions& versions, ChoiceOptions options)
    : device_(std::move(device)),
      options_(std::move(options)),
      store_(options_.file, place_of(device_->properties(), versions)) {}

void Choices::begin_program(const std::map<std::string, Cost>& costs, std::vector<CompiledEngines> compiled) {
  layers_.clear();
  for (const auto& [layer, cost] : costs) layers_[layer].cost = cost;
  decided_.clear();
  rest_ = false;
  spent_ = 0;
  compiled_.clear();
  engines_ = std::move(compiled);
  waiting_.clear();
  for (const CompiledEngines& from : engines_) waiting_.insert(from.layer);
  compile(stored_engines(), [] { return true; });
}

std::vector<std::string> Choices::begin_rest() {
  const double left = options_.seconds_per_program - spent_;
  const std::vector<double> rates = this->rates();
  if (left <= 0 || rates.empty()) return {};
  const double least_rate = kMinRate * *std::ranges::min_element(rates);
  std::map<std::string, double> gains;
  std::vector<std::string> order;
  for (const auto& [layer, state] : layers_) {
    const auto unfinished = [](const auto& problem) { return problem.second.unfinished; };
    if (state.cost.all <= 0 || std::ranges::none_of(state.problems, unfinished)) continue;
    gains[layer] = state.seconds() - least_rate * state.cost.all;
    order.push_back(layer);
  }
  std::ranges::stable_sort(order, std::greater(), [&](const std::string& layer) { return gains.at(layer); });
  decided_.clear();
  rest_ = true;
  waiting_ = {order.begin(), order.end()};
  const double begin = options_.clock();
  compile(engines_to_try(order), [&] { return options_.clock() - begin < kCompilingShare * left; });
  const double compiling = options_.clock() - begin;
  spent_ += compiling;
  time_ = {left - compiling, std::move(gains)};
  return order;
}

double Choices::Layer::seconds() const {
  double sum = 0;
  for (const auto& [text, problem] : problems) sum += problem.seconds;
  return sum;
}

// Seconds per cost of the layers that were decided.
std::vector<double> Choices::rates() const {
  std::vector<double> rates;
  for (const auto& [layer, state] : layers_)
    if (const double seconds = state.seconds(); state.cost.all > 0 && seconds > 0) rates.push_back(seconds / state.cost.all);
  return rates;
}

// How long a run of so many nodes of a layer lasts at least if it is far too slow; infinity if nothing is known to compare it
// with.
double Choices::far_too_slow(const std::string& layer, int nodes) const {
  const auto state = layers_.find(layer);
  const std::vector<double> rates = this->rates();
  if (state == layers_.end() || state->second.cost.all <= 0 || rates.empty()) return std::numeric_limits<double>::infinity();
  const Cost& cost = state->second.cost;
  return std::max(kSlow, kFarTooSlow * median(rates) * cost.all * nodes / cost.nodes);
}

std::optional<double> Choices::blind_seconds(const std::string& layer, const std::function<void(cuda::Stream)>& run,
                                             cuda::Stream stream) {
  if (!times()) return std::nullopt;
  const auto blind = [](const auto& problem) { return problem.second.blind; };
  if (std::ranges::none_of(layers_[layer].problems, blind)) return 0;
  const Temporarily trial(on_trial_, layer);
  return stopwatch(stream).glance([&] { run(stream); });
}

void Choices::store() {
  engines_.clear();
  compiled_.clear();
  if (times()) store_.save();
}

void ChoiceOptions::end_process(const std::string& message) {
  print_error(message);
  std::_Exit(1);
}

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
void Choices::require_sound_device(const std::exception& error, cuda::Stream stream) const {
  try {
    device_->synchronize(stream);
  } catch (const cuda::Error&) {
    throw std::runtime_error(on_trial_ + ": " + error.what());
  }
}

std::shared_ptr<void> Choices::build(const AnyAlgorithms& algorithms, const std::string& tag, std::optional<double> end,
                                     bool restores, Within& within) {
  const Temporarily outer(within_, &within);
  const Temporarily part(end_, end);
  const Temporarily stored(restores_, restores);
  return algorithms.build(tag);
}

// The plan of a known choice; null if it does not work.
std::shared_ptr<void> Choices::restore(const StoredChoice& choice, const AnyAlgorithms& algorithms, Within& within) {
  const Temporarily trial(on_trial_, by(algorithms.problem, choice.chosen));
  try {
    std::shared_ptr<void> plan = build(algorithms, choice.chosen, std::nullopt, true, within);
    if (!choice.here) {
      algorithms.enqueue(plan.get());
      await(algorithms.stream);
      ++counts_.restored;
    }
    return plan;
  } catch (const cuda::Error& error) {  // the library changed but not its version
    require_sound_device(error, algorithms.stream);
  } catch (const OutOfMemory& error) {  // the device has less free memory than when it was chosen
    require_sound_device(error, algorithms.stream);
  }
  return nullptr;
}

Choices::Decision Choices::decide(const std::string& layer, const AnyAlgorithms& algorithms) {
  Within within;
  StoredChoice choice;
  choice.problem = algorithms.problem;
  std::shared_ptr<void> plan;
  const StoredChoice* const known = store_.find(algorithms.problem);
  if (known) {
    plan = restore(*known, algorithms, within);
    const bool goes_on = known->unfinished() && times() && !restores_ && !decided_.contains(algorithms.problem);
    if (plan && !goes_on) return decided(layer, algorithms, std::move(plan), *known, within);
    if (plan) choice = *known;
  }
  const double begin = options_.clock();
  const double share = rest_ && !within_ ? time_.share(layer) : 0;
  plan = fastest(choice, std::move(plan), layer, algorithms, end_.value_or(begin + share), within);
  if (!within_) {
    const double seconds = options_.clock() - begin;
    spent_ += seconds;
    if (rest_) time_.decided(layer, seconds);
  }
  if (!plan) throw cuda::Error(choice.refused.empty() ? algorithms.problem + ": no way is listed" : choice.refused);
  if (!restores_) decided_.insert(algorithms.problem);
  if (known && choice == *known) return decided(layer, algorithms, std::move(plan), *known, within);  // nothing was tried
  ++counts_.decided;
  store_.keep(choice);
  return decided(layer, algorithms, std::move(plan), *store_.find(algorithms.problem), within);
}

Choices::Decision Choices::decided(const std::string& layer, const AnyAlgorithms& algorithms, std::shared_ptr<void> plan,
                                   const StoredChoice& choice, const Within& within) {
  const bool blind = choice.blind() || within.blind;
  if (within_) {
    within_->unfinished |= choice.unfinished();
    within_->blind |= blind;
  } else {
    release_compiled(layer);
    Layer& state = layers_[layer];
    state.problems[algorithms.problem] = {choice.seconds * state.cost.nodes / algorithms.nodes, choice.unfinished(), blind};
  }
  return {std::move(plan), how_chosen(choice), choice.refused};
}

// Errors: cuda::Error for an algorithm that is faster than its arithmetic can be: it does other arithmetic.
void Choices::require_possible(double seconds, const AnyAlgorithms& algorithms, const void* plan, const std::string& tag) {
  const double least = algorithms.least_seconds(plan);
  if (seconds < least)
    throw cuda::Error(tag + " takes " + format_seconds(seconds) + ", and its multiplications take at least " +
                      format_seconds(least) + " on this card: it does not sum directly");
}

// What is left to try, in order: in the first pass what builds at once, in the second what must be compiled first.
Choices::Listing Choices::list(StoredChoice& choice, cuda::AlgorithmList& algorithms) const {
  std::vector<cuda::Offer> offers;
  try {
    offers = algorithms.offers();
    choice.left_out = algorithms.left_out();
  } catch (const cuda::Error& error) {
    if (choice.refused.empty()) choice.refused = error.what();
  }
  choice.offered = static_cast<std::int64_t>(offers.size());
  const auto regular = std::ranges::count(offers, false, &cuda::Offer::last_resort);
  std::erase_if(
      offers, [&](const cuda::Offer& offer) { return contains(choice.tried, offer.tag) && !contains(choice.open, offer.tag); });
  if (times())
    std::ranges::stable_sort(offers, {},
                             [&](const cuda::Offer& offer) { return std::pair(offer.last_resort, offer.compiles != rest_); });
  return {std::move(offers), regular};
}

// Goes on with a choice whose plan is `best`, or makes one. Null if no algorithm works: `refused` is then the error of the
// first. Errors: OutOfMemory if none works and one might with more memory.
std::shared_ptr<void> Choices::fastest(StoredChoice& choice, std::shared_ptr<void> best, const std::string& layer,
                                       const AnyAlgorithms& algorithms, double end, Within& within) {
  double best_seconds = best ? choice.seconds : std::numeric_limits<double>::infinity();
  bool compares = !best;  // whether best_seconds was measured in this call
  bool unfinished = false;
  std::exception_ptr no_memory;
  const double far_too_slow = this->far_too_slow(layer, algorithms.nodes);
  int filled_at = -1;
  const auto [offers, regular] = list(choice, algorithms.list);
  const auto at_once = [&](const cuda::Offer& offer) { return !offer.compiles || is_compiled(algorithms.problem, offer.tag); };
  const bool compiled = std::ranges::any_of(offers, [&](const cuda::Offer& offer) { return offer.compiles && at_once(offer); });
  double moment_end = times() && (!rest_ || !best || compiled) ? options_.clock() + kMomentSeconds : end;
  for (const cuda::Offer& offer : offers) {
    const bool again = contains(choice.tried, offer.tag);
    const double now = options_.clock();
    const bool goes_on = now < (at_once(offer) ? std::max(end, moment_end) : end) ||
                         (best_seconds >= far_too_slow && choice.timed < kMaxBeyondTheEnd && !(offer.compiles && times()));
    if (best && (offer.last_resort || (!again && choice.timed >= (offer.compiles ? kMaxCompiled : kMaxTimed)))) continue;
    if (best && !goes_on) {
      unfinished = true;
      continue;
    }
    const Temporarily trial(on_trial_, by(algorithms.problem, offer.tag));
    if (!again) choice.tried.push_back(offer.tag);
    std::erase(choice.open, offer.tag);
    try {
      if (store_.find(endless(on_trial_))) throw cuda::Error(offer.tag + " did not end in an earlier call");
      Within inside;
      const bool last =
          std::all_of(&offer + 1, offers.data() + offers.size(), [](const cuda::Offer& o) { return o.last_resort; });
      const Temporarily compiled_before(was_compiled_, offer.compiles && at_once(offer));
      std::shared_ptr<void> plan = build(algorithms, offer.tag, last ? end : now + std::max(0.0, end - now) / 2, false, inside);
      if (inside.unfinished) choice.open.push_back(offer.tag);
      moment_end += options_.clock() - now;                                           // is for timing
      if (!best && (regular < 2 || options_.clock() >= std::max(end, moment_end))) {  // nothing to compare it with, or no time
        const double seconds = stopwatch(algorithms.stream).glance([&] { algorithms.enqueue(plan.get()); });
        require_possible(seconds, algorithms, plan.get(), offer.tag);
        best_seconds = seconds;
        best = std::move(plan);
        choice.chosen = offer.tag;
        within = inside;
        if (regular > 1 && best_seconds >= far_too_slow) ++choice.timed;  // the others are compared with it
        continue;
      }
      if (!compares) {
        best_seconds = this->seconds(algorithms, best.get(), std::numeric_limits<double>::infinity(), filled_at);
        choice.timed = std::max<std::int64_t>(choice.timed, 1);
        compares = true;
      }
      const double seconds = this->seconds(algorithms, plan.get(), best_seconds, filled_at);
      if (!again) ++choice.timed;
      require_possible(seconds, algorithms, plan.get(), offer.tag);
      if (seconds >= best_seconds) continue;
      best = std::move(plan);
      best_seconds = seconds;
      choice.chosen = offer.tag;
      within = inside;
    } catch (const cuda::Error& error) {  // concerns this algorithm only
      require_sound_device(error, algorithms.stream);
      if (choice.refused.empty()) choice.refused = error.what();
    } catch (const OutOfMemory& error) {  // another process may have room for it
      require_sound_device(error, algorithms.stream);
      if (choice.refused.empty()) choice.refused = error.what();
      no_memory = std::current_exception();
      std::erase(choice.tried, offer.tag);
      unfinished = true;
    }
  }
  if (!best && no_memory) std::rethrow_exception(no_memory);
  choice.seconds = best ? best_seconds : 0;
  if (!unfinished && choice.open.empty()) choice.tried.clear();
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
