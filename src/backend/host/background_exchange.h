// A thread that exchanges data between ranks while the other threads compute.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "epochbench/communicator.h"

namespace epochbench {

// One thread calls begin() and join(). From the first begin() to the end of join(), no other thread may use the communicator.
class BackgroundExchange {
 public:
  explicit BackgroundExchange(Communicator& ranks);
  ~BackgroundExchange();  // waits for all exchanges that have begun
  BackgroundExchange(const BackgroundExchange&) = delete;
  BackgroundExchange& operator=(const BackgroundExchange&) = delete;

  // Exchanges run in the order in which they begin; `exchange` must stay valid until join().
  void begin(const std::function<void()>& exchange);
  // Waits for all exchanges that have begun. ranks.traffic() then counts the seconds of this wait, not those of the exchanges.
  // Errors: what an exchange threw; exchanges that began after it did not run.
  void join();

 private:
  void serve(std::stop_token stop);

  Communicator& ranks_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<const std::function<void()>*> begun_;  // the first is under way
  double exchanged_seconds_ = 0;                    // since the last join()
  std::exception_ptr error_;
  std::jthread thread_;  // the last member: it ends before the others
};

}  // namespace epochbench
