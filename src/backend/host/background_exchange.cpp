#include "src/backend/host/background_exchange.h"

#include <utility>
#include <vector>

#include <omp.h>
#include <sched.h>

#include "src/base/clock.h"

namespace epochbench {
namespace {

// If OpenMP threads are bound to CPUs, moves the calling thread off these CPUs, as a new thread inherits the affinity of its
// parent. The system restricts the mask to CPUs that the process may use.
void leave_the_places_of_openmp() {
  if (omp_get_num_places() == 0) return;
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(static_cast<std::size_t>(cpu), &others);
  const cpu_set_t all = others;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> cpus(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, cpus.data());
    for (int cpu : cpus)
      if (cpu < CPU_SETSIZE) CPU_CLR(static_cast<std::size_t>(cpu), &others);
  }
  if (sched_setaffinity(0, sizeof others, &others) != 0) sched_setaffinity(0, sizeof all, &all);  // there are no other CPUs
}

}  // namespace

BackgroundExchange::BackgroundExchange(Communicator& ranks)
    : ranks_(ranks), thread_([this](const std::stop_token& stop) { serve(stop); }) {}

BackgroundExchange::~BackgroundExchange() = default;

void BackgroundExchange::begin(const std::function<void()>& exchange) {
  {
    const std::scoped_lock lock(mutex_);
    begun_.push_back(&exchange);
  }
  changed_.notify_all();
}

void BackgroundExchange::join() {
  const double begin = steady_seconds();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return begun_.empty(); });
  ranks_.count({steady_seconds() - begin - std::exchange(exchanged_seconds_, 0), 0, 0});
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void BackgroundExchange::serve(std::stop_token stop) {
  leave_the_places_of_openmp();
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !begun_.empty(); })) {
    const std::function<void()>& exchange = *begun_.front();
    const bool runs = !error_;
    lock.unlock();
    const double before = ranks_.traffic().seconds;
    std::exception_ptr error;
    try {
      if (runs) exchange();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    exchanged_seconds_ += ranks_.traffic().seconds - before;
    if (error) error_ = error;
    begun_.pop_front();
    if (begun_.empty()) changed_.notify_all();
  }
}

}  // namespace epochbench
