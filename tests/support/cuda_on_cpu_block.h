// Runs the blocks of a grid one after another: schedules the threads of a block, its barriers, warps and shared arrays. See
// cuda_on_cpu.h. It is compiled without ThreadSanitizer, which sees kernels only through cuda_on_cpu_races.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/cuda_on_cpu.h"
#include "tests/support/cuda_on_cpu_fiber.h"
#include "tests/support/cuda_on_cpu_races.h"

namespace epochbench::test {

class Multiprocessor {  // one per operating-system thread
 public:
  static constexpr int kMaxThreads = 1024;  // per block, as on every GPU

  static Multiprocessor& own();  // that of the calling thread

  void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, void (*kernel)(const void*), const void* arguments);

  // Called by the threads of a kernel.
  int barrier(BarrierOp op, int predicate, Place place);
  std::uint64_t warp(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, int width, Place place);
  void* shared(const void* key, std::size_t bytes);
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }

 private:
  static constexpr int kLanes = 32;

  struct Runner {  // the stack of a thread and the context of its memory accesses
    explicit Runner(Multiprocessor* own) : fiber(run_threads, own, own->outside_) {}
    Fiber fiber;
    RaceContext races;
  };
  struct Thread {
    WarpOp op{};  // this and the next members: the warp operation that it waits in
    int width = 0;
    unsigned mask = 0, argument = 0;
    std::uint64_t deposit = 0, result = 0;
    Place place{};  // where it waits
    uint3 index{};
    Runner* runner = nullptr;
  };
  struct Warp {  // its lanes in each state; those that the block lacks are done from the start
    unsigned fresh = 0, waiting = 0, at_barrier = 0, done = 0;
    Edge arrival, departure;
    unsigned runnable() const { return ~(waiting | at_barrier | done); }
  };
  struct SharedArray {
    const void* key;
    std::size_t bytes;
    std::byte* memory;  // with guard bands before and after
  };

  void begin_grid(dim3 grid, dim3 block);
  void run_block();
  bool run_warp(int warp);
  void shuffle(int* order, int n);
  void begin_pass();
  Thread* next_of_warp();
  Runner& prepare(Thread& thread);
  void finish(Thread& thread);
  void suspend();
  void give_up_turn(Runner& own);
  static void run_threads(void* self);
  void release_barrier();
  void complete_warp(int first, unsigned mask);
  std::uint64_t shuffled(int first, int lane) const;
  void end_shared_arrays();
  std::uint64_t random_below(std::uint64_t n);

  int index_of(const Thread& thread) const { return static_cast<int>(&thread - threads_); }
  std::string describe(const Thread& thread) const;
  std::string describe_wait(const Thread& thread) const;
  void list_waiting() const;

  Thread threads_[kMaxThreads];
  int warp_order_[kMaxThreads / kLanes] = {}, lane_order_[kLanes] = {};  // in which they run
  Warp warps_[kMaxThreads / kLanes];
  int count_ = 0, live_ = 0;
  Thread* current_ = nullptr;
  Thread* finished_ = nullptr;  // whose stack the scheduler frees
  // The warp whose turn it is, the next place in lane_order_, and whether a lane has run since that began.
  int turn_ = 0, turn_at_ = 0;
  bool turn_ran_ = false;
  Fiber::Outside outside_;

  int at_barrier_ = 0, barrier_sum_ = 0, barrier_result_ = 0;
  bool released_ = false;  // since the warps last took turns
  BarrierOp barrier_op_{};
  Place barrier_place_{};
  Edge arrival_, departure_;  // separate: a thread that leaves a barrier late must not meet one that waits in the next

  std::vector<SharedArray> shared_;
  std::size_t dynamic_bytes_ = 0;
  Edge shared_edge_;

  void (*kernel_)(const void*) = nullptr;
  const void* arguments_ = nullptr;
  Edge begin_, end_;  // of a launch
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<Runner*> idle_, parked_;
  std::uint64_t random_ = 0;
};

// Prints the error and aborts.
[[noreturn]] void abort_kernel(const std::string& what);
std::string describe(Place place);

}  // namespace epochbench::test
