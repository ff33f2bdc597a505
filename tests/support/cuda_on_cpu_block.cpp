// Thread scheduling, barriers and shared arrays. Warps are in cuda_on_cpu_warp.cpp.
#include "tests/support/cuda_on_cpu_block.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace epochbench::test {

namespace {

// Around a shared array, where AddressSanitizer does not check it.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kBand = 0;
#else
constexpr std::size_t kBand = 64;
#endif
constexpr int kPattern = 0xff;  // every byte of it: a NaN in every floating-point type

int ceil_div(int a, int b) { return (a + b - 1) / b; }

ThreadOrder thread_order = ThreadOrder::forward;
std::uint64_t order_seed = 1;

}  // namespace

void set_thread_order(ThreadOrder order, std::uint64_t seed) {
  thread_order = order;
  order_seed = seed;
}

Multiprocessor& Multiprocessor::own() {
  static thread_local Multiprocessor multiprocessor;
  return multiprocessor;
}

void abort_kernel(const std::string& what) {
  std::fprintf(stderr, "CUDA on the CPU: %s\n", what.c_str());
  std::abort();
}

std::string describe(Place place) { return std::string(place.file) + ":" + std::to_string(place.line); }

std::string Multiprocessor::describe(const Thread& thread) const {
  const auto of = [](uint3 i) { return std::to_string(i.x) + "," + std::to_string(i.y) + "," + std::to_string(i.z); };
  return "thread " + of(thread.index) + " of block " + of(blockIdx);
}

void Multiprocessor::list_waiting() const {
  constexpr int kShown = 8;
  int waiting = 0;
  for (int i = 0; i < count_; ++i) {
    const Thread& thread = threads_[i];
    const Warp& warp = warps_[i / kLanes];
    const bool in_warp = (warp.waiting >> i % kLanes & 1) != 0, at_barrier = (warp.at_barrier >> i % kLanes & 1) != 0;
    if (!in_warp && !at_barrier) continue;
    if (++waiting > kShown) continue;
    const std::string wait = in_warp ? describe_wait(thread) : "a barrier at " + test::describe(thread.place);
    std::fprintf(stderr, "  %s waits in %s\n", describe(thread).c_str(), wait.c_str());
  }
  if (waiting > kShown) std::fprintf(stderr, "  and %d more\n", waiting - kShown);
}

// ---- Scheduling ----

std::uint64_t Multiprocessor::random_below(std::uint64_t n) {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's linear congruential generator
  return (random_ >> 32) * n >> 32;                                 // n < 2^32
}

// The loop of every fiber: runs the thread that it was resumed for to its end, then the next one.
void Multiprocessor::run_threads(void* self) {
  auto& processor = *static_cast<Multiprocessor*>(self);
  for (;;) {
    processor.begin_.acquire();
    processor.kernel_(processor.arguments_);
    processor.end_.release();
    Runner& own = *processor.current_->runner;
    own.races.leave();
    if (kFindsRaces) {
      processor.finished_ = processor.current_;
      own.fiber.suspend();
    } else {
      processor.finish(*processor.current_);
      processor.give_up_turn(own);
    }
  }
}

// Waits until the thread is runnable and has its turn again.
void Multiprocessor::suspend() {
  Runner& own = *current_->runner;
  own.races.leave();
  give_up_turn(own);
}

// Runs the next thread of the warp, or the scheduler, until `own` is resumed: at once for a new thread that begins on its
// stack.
inline void Multiprocessor::give_up_turn(Runner& own) {
  Thread* const next = next_of_warp();
  if (next == nullptr) {
    own.fiber.suspend();
    return;
  }
  Runner& runner = prepare(*next);
  runner.races.enter();
  if (&runner != &own) own.fiber.pass_to(runner.fiber);
}

// Makes it the current thread, which its runner will run.
inline Multiprocessor::Runner& Multiprocessor::prepare(Thread& thread) {
  Warp& warp = warps_[turn_];
  const unsigned own = 1u << (index_of(thread) - turn_ * kLanes);
  if ((warp.fresh & own) != 0) {
    warp.fresh &= ~own;
    if (idle_.empty()) {
      runners_.push_back(std::make_unique<Runner>(this));
      idle_.push_back(runners_.back().get());
    }
    thread.runner = idle_.back();
    idle_.pop_back();
  }
  current_ = &thread;
  threadIdx = thread.index;
  return *thread.runner;
}

void Multiprocessor::finish(Thread& thread) {
  // Two threads of a launch that share a stack or a context would be ordered, or race, only because of that.
  constexpr std::size_t kMaxParked = 1024;  // half a megabyte each
  if (!kFindsRaces)
    idle_.push_back(thread.runner);
  else if (parked_.size() < kMaxParked)
    parked_.push_back(thread.runner);
  else
    std::erase_if(runners_, [&](const auto& runner) { return runner.get() == thread.runner; });
  --live_;
  const int index = index_of(thread), first = index / kLanes * kLanes;
  Warp& warp = warps_[index / kLanes];
  warp.done |= 1u << index % kLanes;
  for (int lane = 0; warp.waiting != 0 && lane < kLanes; ++lane)
    if ((warp.waiting >> lane & 1) != 0 && (threads_[first + lane].mask & warp.done) != 0)
      abort_kernel(describe(thread) + " returns, but " + describe(threads_[first + lane]) + " waits for it in " +
                   describe_wait(threads_[first + lane]));
  if (live_ > 0 && at_barrier_ == live_) {
    RaceContext last;
    last.enter();
    release_barrier();
    last.leave();
  }
}

// Whether a thread ran or could have. A warp runs as far as it can before the next one, so that accesses without a barrier
// between them are far apart in time; in random order only sometimes. After a barrier all warps may run again.
bool Multiprocessor::run_warp(int warp) {
  if (thread_order == ThreadOrder::random && random_below(4) == 0) return true;
  turn_ = warp;
  begin_pass();
  bool ran = false;
  while (Thread* const next = next_of_warp()) {
    ran = true;
    Runner& runner = prepare(*next);
    runner.races.enter();
    runner.fiber.resume();
    if (finished_ == nullptr) break;  // no thread has the next turn
    finish(*std::exchange(finished_, nullptr));
  }
  return ran;
}

void Multiprocessor::begin_pass() {
  if (thread_order == ThreadOrder::random) shuffle(lane_order_, kLanes);
  turn_at_ = 0;
  turn_ran_ = false;
}

// The thread that runs next; null where the turn of the warp is over. Passes over the lanes until none can run.
inline Multiprocessor::Thread* Multiprocessor::next_of_warp() {
  for (;;) {
    if (released_) return nullptr;
    const unsigned runnable = warps_[turn_].runnable();
    while (runnable != 0 && turn_at_ < kLanes) {
      const int lane = lane_order_[turn_at_++];
      if ((runnable >> lane & 1) == 0) continue;
      turn_ran_ = true;
      return &threads_[turn_ * kLanes + lane];
    }
    if (!turn_ran_ || (thread_order == ThreadOrder::random && random_below(2) == 0)) return nullptr;
    begin_pass();
  }
}

void Multiprocessor::shuffle(int* order, int n) {
  for (int i = n - 1; i > 0; --i) std::swap(order[i], order[random_below(static_cast<std::uint64_t>(i) + 1)]);
}

void Multiprocessor::run_block() {
  live_ = count_;
  for (int i = 0; i * kLanes < count_; ++i) {
    const int lanes = std::min(kLanes, count_ - i * kLanes);
    warps_[i].waiting = warps_[i].at_barrier = 0;
    warps_[i].done = lanes == kLanes ? 0 : ~0u << lanes;
    warps_[i].fresh = ~warps_[i].done;
  }
  while (live_ > 0) {
    if (thread_order == ThreadOrder::random) shuffle(warp_order_, ceil_div(count_, kLanes));
    bool stuck = true;
    released_ = false;
    for (int i = 0; i * kLanes < count_ && !released_; ++i)
      if (run_warp(warp_order_[i])) stuck = false;
    if (stuck) {
      list_waiting();
      abort_kernel("deadlock: none of these threads can continue");
    }
  }
  end_shared_arrays();
}

void Multiprocessor::begin_grid(dim3 grid, dim3 block) {
  gridDim = grid;
  blockDim = block;
  count_ = static_cast<int>(block.x * block.y * block.z);
  random_ = order_seed;
  for (int i = 0; i < count_; ++i) {
    const auto linear = static_cast<unsigned>(i);
    threads_[i].index = {linear % block.x, linear / block.x % block.y, linear / (block.x * block.y)};
  }
  const bool reverse = thread_order == ThreadOrder::reverse;
  const int warps = ceil_div(count_, kLanes);
  for (int i = 0; i < warps; ++i) warp_order_[i] = reverse ? warps - 1 - i : i;
  for (int i = 0; i < kLanes; ++i) lane_order_[i] = reverse ? kLanes - 1 - i : i;
}

void Multiprocessor::run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, void (*kernel)(const void*),
                              const void* arguments) {
  kernel_ = kernel;
  arguments_ = arguments;
  dynamic_bytes_ = shared_bytes;
  begin_grid(grid, block);
  const std::int64_t blocks = std::int64_t{grid.x} * grid.y * grid.z;
  begin_.release();
  // Every block once: in order, or by a stride that is coprime to the number of blocks.
  std::int64_t at = 0, step = 1;
  if (thread_order == ThreadOrder::reverse) {
    at = step = blocks - 1;
  } else if (thread_order == ThreadOrder::random) {
    at = static_cast<std::int64_t>(random_below(static_cast<std::uint64_t>(blocks)));
    step = 1 + static_cast<std::int64_t>(random_below(static_cast<std::uint64_t>(blocks)));
    while (std::gcd(step, blocks) != 1) ++step;
  }
  for (std::int64_t i = 0; i < blocks; ++i, at = (at + step) % blocks) {
    blockIdx = {static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
                static_cast<unsigned>(at / grid.x / grid.y)};
    run_block();
  }
  end_.acquire();
  idle_.insert(idle_.end(), parked_.begin(), parked_.end());
  parked_.clear();
}

// ---- Barriers ----

int Multiprocessor::barrier(BarrierOp op, int predicate, Place place) {
  if (at_barrier_ == 0) {
    barrier_op_ = op;
    barrier_place_ = place;
  }
  Thread& thread = *current_;
  thread.place.assign(place);
  if (op != barrier_op_ || place != barrier_place_) {
    list_waiting();
    abort_kernel("the barrier diverges: " + describe(thread) + " is at " + test::describe(place) + ", others wait at " +
                 test::describe(barrier_place_));
  }
  barrier_sum_ += predicate != 0;
  ++at_barrier_;
  arrival_.release();
  if (at_barrier_ == live_)
    release_barrier();
  else
    warps_[turn_].at_barrier |= 1u << (index_of(thread) - turn_ * kLanes);
  suspend();
  departure_.acquire();
  return barrier_result_;
}

void Multiprocessor::release_barrier() {
  for (int i = 0; i * kLanes < count_; ++i) warps_[i].at_barrier = 0;
  switch (barrier_op_) {
    case BarrierOp::sync:
    case BarrierOp::count:
      barrier_result_ = barrier_sum_;
      break;
    case BarrierOp::all:
      barrier_result_ = barrier_sum_ == at_barrier_;
      break;
    case BarrierOp::any:
      barrier_result_ = barrier_sum_ > 0;
      break;
  }
  at_barrier_ = barrier_sum_ = 0;
  released_ = true;
  arrival_.acquire();
  departure_.release();
}

// ---- Shared arrays ----

void* Multiprocessor::shared(const void* key, std::size_t bytes) {
  for (const SharedArray& array : shared_)
    if (array.key == key) {
      shared_edge_.acquire();
      return array.memory + kBand;
    }
  // In the context of the launch, so that creating an array orders nothing else.
  current_->runner->races.leave();
  auto* const memory = static_cast<std::byte*>(::operator new(bytes + 2 * kBand));
  std::memset(memory, kPattern, bytes + 2 * kBand);
  shared_edge_.release();
  current_->runner->races.enter();
  shared_edge_.acquire();
  shared_.push_back({key, bytes, memory});
  return memory + kBand;
}

void Multiprocessor::end_shared_arrays() {
  if (shared_.empty()) return;
  RaceContext ender;  // after everything in this block, but not before the next block
  ender.enter();
  end_.acquire();
  for (const SharedArray& array : shared_) {
    for (std::size_t i = 0; i < kBand; ++i)
      if (array.memory[i] != std::byte{kPattern} || array.memory[kBand + array.bytes + i] != std::byte{kPattern})
        abort_kernel("a shared array of " + std::to_string(array.bytes) + " bytes was overrun");
    ::operator delete(array.memory);
  }
  ender.leave();
  shared_.clear();
}

}  // namespace epochbench::test
