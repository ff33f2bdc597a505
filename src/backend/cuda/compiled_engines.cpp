// The engines that are compiled before they are timed: which ones, and on how many threads. The rest of Choices is in
// cuda_choices.cpp.
#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

#include "src/backend/cuda/cuda_choices.h"

namespace epochbench {

void run_on_threads(const Jobs& jobs, const std::function<bool()>& goes_on) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    while (goes_on()) {
      const std::size_t job = next++;
      if (job >= jobs.size()) return;
      jobs[job]();
    }
  };
  std::vector<std::thread> threads;
  const std::size_t count = std::min<std::size_t>(jobs.size(), std::max(1u, std::thread::hardware_concurrency()));
  for (std::size_t i = 1; i < count; ++i) try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads here
      break;
    }
  work();
  for (std::thread& thread : threads) thread.join();
}

// Those of the choices that this program restores.
std::vector<Choices::Wanted> Choices::stored_engines() const {
  std::vector<Wanted> wanted;
  for (const CompiledEngines& from : engines_) {
    const StoredChoice *const way = store_.find(way_problem(from.layer)), *const engine = store_.find(from.engines->problem());
    if (way && engine && way->chosen == from.tag) wanted.push_back({&from, engine->chosen});
  }
  return wanted;
}

// As many of each problem as may be timed: the first of each layer in order, then the second of each.
std::vector<Choices::Wanted> Choices::engines_to_try(const std::vector<std::string>& layers) const {
  std::map<const CompiledEngines*, std::vector<std::string>> tags;
  for (const CompiledEngines& from : engines_) {
    if (std::ranges::find(layers, from.layer) == layers.end()) continue;
    StoredChoice choice;
    choice.problem = from.engines->problem();
    if (const StoredChoice* const known = store_.find(choice.problem)) {
      if (!known->unfinished()) continue;
      choice = *known;
    }
    for (const cuda::Offer& offer : list(choice, *from.engines).offers)
      if (offer.compiles && choice.timed + static_cast<std::int64_t>(tags[&from].size()) < kMaxCompiled &&
          !store_.find(endless(by(choice.problem, offer.tag))))
        tags[&from].push_back(offer.tag);
  }
  std::vector<Wanted> wanted;
  for (std::size_t rank = 0; rank < std::size_t{kMaxCompiled}; ++rank)
    for (const std::string& layer : layers)
      for (const CompiledEngines& from : engines_)
        if (from.layer == layer && rank < tags[&from].size()) wanted.push_back({&from, tags[&from][rank]});
  return wanted;
}

void Choices::compile(const std::vector<Wanted>& wanted, const std::function<bool()>& goes_on) {
  std::map<std::pair<std::string, std::string>, std::shared_ptr<void>> compiled;
  Jobs jobs;
  for (const Wanted& each : wanted) {
    const auto [place, missing] = compiled.try_emplace({each.from->engines->problem(), each.tag});
    if (!missing) continue;  // equal problems of several layers
    std::shared_ptr<void>* const plan = &place->second;
    if (const auto compiling = each.from->engines->compiling(each.tag))
      jobs.push_back([=] {
        try {
          *plan = compiling();
        } catch (const std::exception&) {  // build() says why
        }
      });
  }
  if (!jobs.empty()) options_.run_at_once(jobs, goes_on);
  std::erase_if(compiled, [](const auto& each) { return !each.second; });
  compiled_.merge(compiled);
  // An algorithm that chooses from several problems, such as the directions of attention, needs an engine of each.
  for (const CompiledEngines& from : engines_) {
    const auto has_engine = [&](const CompiledEngines& each) {
      const auto found = compiled_.lower_bound({each.engines->problem(), ""});
      return each.layer != from.layer || (found != compiled_.end() && found->first.first == each.engines->problem());
    };
    if (std::ranges::all_of(engines_, has_engine)) compiled_[{way_problem(from.layer), from.tag}] = from.engines;
  }
}

bool Choices::is_compiled(const std::string& problem, const std::string& tag) const {
  return compiled_.contains({problem, tag});
}

// Once a layer is decided: its plan holds the engines that were chosen, and layers that wait may need others.
void Choices::release_compiled(const std::string& layer) {
  waiting_.erase(layer);
  std::set<std::string> needed;  // problems
  for (const CompiledEngines& from : engines_)
    if (waiting_.contains(from.layer)) needed.insert({way_problem(from.layer), from.engines->problem()});
  std::erase_if(compiled_, [&](const auto& each) { return !needed.contains(each.first.first); });
}

}  // namespace epochbench
