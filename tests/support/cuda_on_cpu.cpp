// Runs grids of CUDA kernels on the CPU: the turns of a block's threads, barriers, warp operations and shared arrays.
//
// Compiled without ThreadSanitizer, whose view of a kernel is made here: every thread is a fiber of its own to it, and only
// what orders memory on a GPU (barriers, __syncwarp, the begin and end of a launch) makes one access happen before another.
#include "tests/support/cuda_on_cpu.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "tests/support/cuda_on_cpu_fiber.h"

#if defined(EPOCHBENCH_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace epochbench::test {

namespace {

constexpr int kMaxThreads = 1024;                  // of a block, as on every GPU
constexpr std::size_t kMaxSharedBytes = 48 << 10;  // of a block, without asking for more
constexpr unsigned kLanes = 32;

enum class State : std::uint8_t { fresh, ready, at_barrier, in_warp, done };

struct Thread {
  State state = State::fresh;
  uint3 index{};
  Fiber* fiber = nullptr;
  Place place{};  // where it waits
  // Of what it waits for.
  WarpOp warp_op{};
  unsigned mask = 0, argument = 0;
  int width = 0;
  std::uint64_t deposit = 0, result = 0;
#if defined(EPOCHBENCH_TSAN)
  void* tsan = nullptr;
#endif
};

struct SharedArray {
  const void* key;
  std::size_t bytes;
  void* data;
};

// An address for ThreadSanitizer's happens-before edges.
struct Edge {
  char address = 0;
  void release() {
#if defined(EPOCHBENCH_TSAN)
    __tsan_release(&address);
#endif
  }
  void acquire() {
#if defined(EPOCHBENCH_TSAN)
    __tsan_acquire(&address);
#endif
  }
};

ThreadOrder thread_order = ThreadOrder::forward;
std::uint64_t order_seed = 1;
LaunchHook launch_hook;

// One of an operating-system thread.
class Machine {
 public:
  void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, void (*thread)(const void*), const void* arguments);
  int barrier(BarrierOp op, int predicate, Place place);
  std::uint64_t warp(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, int width, Place place);
  void* shared(const void* key, std::size_t bytes);
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }

 private:
  void run_block();
  void resume(Thread& thread);
  void wait(State state);
  static void run_threads(void* self);
  void release_barrier();
  void complete_warp(int first, unsigned mask);
  std::uint64_t warp_result(int first, unsigned lane) const;
  void check_warp(int first, unsigned lane);
  void end_shared();
  void shuffle(int* order, int n);
  std::string name(const Thread& thread) const;
  [[noreturn]] void fail(const std::string& what, bool waiting) const;

  Thread threads_[kMaxThreads];
  int count_ = 0, live_ = 0, at_barrier_ = 0;
  Thread* current_ = nullptr;
  BarrierOp barrier_op_{};
  Place barrier_place_{};
  int barrier_sum_ = 0, barrier_result_ = 0;
  void (*kernel_)(const void*) = nullptr;
  const void* arguments_ = nullptr;
  std::size_t dynamic_bytes_ = 0;
  std::vector<SharedArray> shared_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  int order_[kMaxThreads] = {};
  std::uint64_t random_ = 0;
  Edge arrival_, departure_, end_, shared_edge_;
  Edge warp_arrival_[kMaxThreads / kLanes], warp_departure_[kMaxThreads / kLanes];
};

Machine& machine() {
  static thread_local Machine machine;
  return machine;
}

const char* name_of(WarpOp op) {
  switch (op) {
    case WarpOp::sync:
      return "__syncwarp";
    case WarpOp::ballot:
      return "a vote";
    case WarpOp::shuffle:
      return "__shfl_sync";
    case WarpOp::shuffle_up:
      return "__shfl_up_sync";
    case WarpOp::shuffle_down:
      return "__shfl_down_sync";
    case WarpOp::shuffle_xor:
      return "__shfl_xor_sync";
  }
  return "";
}

std::string describe(Place place) { return std::string(place.file) + ":" + std::to_string(place.line); }

std::string hex(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::string Machine::name(const Thread& thread) const {
  const auto of = [](uint3 i) { return std::to_string(i.x) + "," + std::to_string(i.y) + "," + std::to_string(i.z); };
  return "thread " + of(thread.index) + " of block " + of(blockIdx);
}

void Machine::fail(const std::string& what, bool waiting) const {
  std::fprintf(stderr, "CUDA on the CPU: %s\n", what.c_str());
  for (int i = 0, shown = 0; waiting && i < count_; ++i) {
    const Thread& thread = threads_[i];
    if (thread.state != State::at_barrier && thread.state != State::in_warp) continue;
    if (++shown > 8) {
      std::fprintf(stderr, "  and more\n");
      break;
    }
    const std::string at = thread.state == State::at_barrier
                               ? std::string("a barrier")
                               : std::string(name_of(thread.warp_op)) + " of lanes " + hex(thread.mask);
    std::fprintf(stderr, "  %s waits in %s at %s\n", name(thread).c_str(), at.c_str(), describe(thread.place).c_str());
  }
  std::abort();
}

void Machine::shuffle(int* order, int n) {
  for (int i = n - 1; i > 0; --i) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's linear congruential generator
    std::swap(order[i], order[(random_ >> 33) % static_cast<unsigned>(i + 1)]);
  }
}

// What every fiber does: takes up the thread that it was resumed for, to its end, again and again.
void Machine::run_threads(void* self) {
  Machine& machine = *static_cast<Machine*>(self);
  for (;;) {
    machine.kernel_(machine.arguments_);
    Thread& thread = *machine.current_;
    thread.state = State::done;
    machine.end_.release();
    thread.fiber->suspend();
  }
}

void Machine::resume(Thread& thread) {
  if (thread.state == State::fresh) {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(run_threads, this));
      idle_.push_back(fibers_.back().get());
    }
    thread.fiber = idle_.back();
    idle_.pop_back();
#if defined(EPOCHBENCH_TSAN)
    thread.tsan = __tsan_create_fiber(0);
#endif
  }
  current_ = &thread;
  threadIdx = thread.index;
  thread.state = State::ready;
#if defined(EPOCHBENCH_TSAN)
  void* const own = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread.tsan, 1);  // 1: no edge
#endif
  thread.fiber->resume();
#if defined(EPOCHBENCH_TSAN)
  __tsan_switch_to_fiber(own, 1);
#endif
  if (thread.state != State::done) return;
  --live_;
#if defined(EPOCHBENCH_TSAN)
  // Another thread on the same stack would seem to race with this one: a stack serves once.
  __tsan_destroy_fiber(thread.tsan);
  for (auto& fiber : fibers_)
    if (fiber.get() == thread.fiber) {
      std::swap(fiber, fibers_.back());
      fibers_.pop_back();
      break;
    }
#else
  idle_.push_back(thread.fiber);
#endif
  const int first = static_cast<int>(&thread - threads_) / static_cast<int>(kLanes) * static_cast<int>(kLanes);
  for (int i = first; i < first + static_cast<int>(kLanes) && i < count_; ++i)
    if (threads_[i].state == State::in_warp) check_warp(first, static_cast<unsigned>(i - first));
  if (live_ > 0 && at_barrier_ == live_) release_barrier();
}

void Machine::wait(State state) {
  Thread& thread = *current_;
  thread.state = state;
  thread.fiber->suspend();
}

int Machine::barrier(BarrierOp op, int predicate, Place place) {
  if (at_barrier_ == 0) {
    barrier_op_ = op;
    barrier_place_ = place;
  }
  Thread& thread = *current_;
  thread.place = place;
  if (op != barrier_op_ || place.line != barrier_place_.line || std::strcmp(place.file, barrier_place_.file) != 0)
    fail(name(thread) + " meets the barrier at " + describe(place) + ", but other threads wait at another one", true);
  barrier_sum_ += predicate != 0;
  ++at_barrier_;
  arrival_.release();
  if (at_barrier_ == live_) {
    thread.state = State::at_barrier;
    release_barrier();
  } else {
    wait(State::at_barrier);
  }
  departure_.acquire();
  return barrier_result_;
}

void Machine::release_barrier() {
  for (int i = 0; i < count_; ++i)
    if (threads_[i].state == State::at_barrier) threads_[i].state = State::ready;
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
  arrival_.acquire();
  departure_.release();
}

// Aborts where the wait of this lane can never end well.
void Machine::check_warp(int first, unsigned lane) {
  const Thread& thread = threads_[first + static_cast<int>(lane)];
  const std::string who =
      name(thread) + " in " + name_of(thread.warp_op) + " of lanes " + hex(thread.mask) + " at " + describe(thread.place);
  for (unsigned other = 0; other < kLanes; ++other) {
    if ((thread.mask >> other & 1) == 0) continue;
    const int i = first + static_cast<int>(other);
    if (i >= count_) fail(who + ": the block has no lane " + std::to_string(other), false);
    const Thread& mate = threads_[i];
    if (mate.state == State::done) fail(who + ": lane " + std::to_string(other) + " has returned", false);
    if (mate.state != State::in_warp) continue;
    if (mate.warp_op != thread.warp_op || mate.mask != thread.mask || mate.width != thread.width ||
        mate.place.line != thread.place.line)
      fail(who + ": lane " + std::to_string(other) + " is in " + name_of(mate.warp_op) + " of lanes " + hex(mate.mask) +
               " at " + describe(mate.place),
           false);
  }
}

// What the lane gets, all of its mask having arrived.
std::uint64_t Machine::warp_result(int first, unsigned lane) const {
  const Thread& thread = threads_[first + static_cast<int>(lane)];
  const auto width = static_cast<unsigned>(thread.width), segment = lane & ~(width - 1);
  unsigned source = lane;
  switch (thread.warp_op) {
    case WarpOp::sync:
      return 0;
    case WarpOp::ballot: {
      std::uint64_t votes = 0;
      for (unsigned i = 0; i < kLanes; ++i)
        if ((thread.mask >> i & 1) != 0 && threads_[first + static_cast<int>(i)].deposit != 0) votes |= 1u << i;
      return votes;
    }
    case WarpOp::shuffle:
      source = segment | (thread.argument & (width - 1));
      break;
    case WarpOp::shuffle_up:
      if (lane - segment >= thread.argument) source = lane - thread.argument;
      break;
    case WarpOp::shuffle_down:
      if (lane - segment + std::uint64_t{thread.argument} < width) source = lane + thread.argument;
      break;
    case WarpOp::shuffle_xor:
      // A segment may read those before it, not those behind.
      if ((lane ^ thread.argument) < segment + width) source = lane ^ thread.argument;
      break;
  }
  if ((thread.mask >> source & 1) == 0)
    fail(name(thread) + " in " + name_of(thread.warp_op) + " of lanes " + hex(thread.mask) + " at " + describe(thread.place) +
             " reads lane " + std::to_string(source),
         false);
  return threads_[first + static_cast<int>(source)].deposit;
}

std::uint64_t Machine::warp(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, int width, Place place) {
  Thread& thread = *current_;
  const int index = static_cast<int>(current_ - threads_), first = index / static_cast<int>(kLanes) * static_cast<int>(kLanes);
  const auto lane = static_cast<unsigned>(index - first);
  thread.warp_op = op;
  thread.mask = mask;
  thread.deposit = value;
  thread.argument = argument;
  thread.width = width;
  thread.place = place;
  if ((mask >> lane & 1) == 0)
    fail(name(thread) + " in " + name_of(op) + " of lanes " + hex(mask) + " at " + describe(place) + " is not in the mask",
         false);
  if (width < 1 || width > static_cast<int>(kLanes) || (width & (width - 1)) != 0)
    fail(name(thread) + " in " + name_of(op) + " at " + describe(place) + ": width " + std::to_string(width), false);
  thread.state = State::in_warp;
  unsigned arrived = 0;
  bool disagree = false;
  for (unsigned i = 0; i < kLanes && first + static_cast<int>(i) < count_; ++i) {
    const Thread& mate = threads_[first + static_cast<int>(i)];
    if ((mask >> i & 1) == 0) continue;
    disagree |= mate.state == State::done;
    if (mate.state != State::in_warp) continue;
    arrived |= 1u << i;
    disagree |= mate.warp_op != op || mate.mask != mask || mate.width != width || mate.place.line != place.line;
  }
  if (disagree || (first + static_cast<int>(kLanes) > count_ && mask >> (count_ - first) != 0)) check_warp(first, lane);
  Edge& arrival = warp_arrival_[first / static_cast<int>(kLanes)];
  Edge& departure = warp_departure_[first / static_cast<int>(kLanes)];
  if (op == WarpOp::sync) arrival.release();  // a shuffle orders no memory
  if (arrived == mask) {
    for (unsigned i = 0; i < kLanes; ++i)
      if ((mask >> i & 1) != 0) threads_[first + static_cast<int>(i)].result = warp_result(first, i);
    for (unsigned i = 0; i < kLanes; ++i)
      if ((mask >> i & 1) != 0) threads_[first + static_cast<int>(i)].state = State::ready;
    if (op == WarpOp::sync) {
      arrival.acquire();
      departure.release();
    }
  } else {
    wait(State::in_warp);
  }
  if (op == WarpOp::sync) departure.acquire();
  return thread.result;
}

void* Machine::shared(const void* key, std::size_t bytes) {
  for (const SharedArray& array : shared_)
    if (array.key == key && array.bytes == bytes) {
      shared_edge_.acquire();
      return array.data;
    }
#if defined(EPOCHBENCH_TSAN)
  // Made by nobody's thread, so that what orders the arrays' birth orders nothing else.
  void* const own = __tsan_get_current_fiber();
  void* const maker = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(maker, 1);
#endif
  void* const data = ::operator new(bytes);
  std::memset(data, 0xff, bytes);  // a NaN in every type
  shared_edge_.release();
#if defined(EPOCHBENCH_TSAN)
  __tsan_switch_to_fiber(own, 1);
  __tsan_destroy_fiber(maker);
#endif
  shared_edge_.acquire();
  shared_.push_back({key, bytes, data});
  return data;
}

void Machine::end_shared() {
#if defined(EPOCHBENCH_TSAN)
  void* const own = __tsan_get_current_fiber();
  void* const ender = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(ender, 1);
  end_.acquire();
#endif
  for (const SharedArray& array : shared_) ::operator delete(array.data);
#if defined(EPOCHBENCH_TSAN)
  __tsan_switch_to_fiber(own, 1);
  __tsan_destroy_fiber(ender);
#endif
  shared_.clear();
}

void Machine::run_block() {
  live_ = count_;
  at_barrier_ = barrier_sum_ = 0;
  for (int i = 0; i < count_; ++i) threads_[i].state = State::fresh;
  while (live_ > 0) {
    if (thread_order == ThreadOrder::random) shuffle(order_, count_);
    bool ran = false;
    for (int k = 0; k < count_; ++k) {
      Thread& thread = threads_[order_[k]];
      if (thread.state != State::fresh && thread.state != State::ready) continue;
      resume(thread);
      ran = true;
    }
    if (!ran && live_ > 0) fail("nobody can go on", true);
  }
  end_shared();
}

void Machine::run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, void (*thread)(const void*), const void* arguments) {
  kernel_ = thread;
  arguments_ = arguments;
  dynamic_bytes_ = shared_bytes;
  blockDim = block;
  gridDim = grid;
  count_ = static_cast<int>(block.x * block.y * block.z);
  random_ = order_seed;
  for (int i = 0; i < count_; ++i) {
    const auto u = static_cast<unsigned>(i);
    threads_[i].index = {u % block.x, u / block.x % block.y, u / (block.x * block.y)};
    order_[i] = thread_order == ThreadOrder::reverse ? count_ - 1 - i : i;
  }
  const std::int64_t blocks = static_cast<std::int64_t>(grid.x) * grid.y * grid.z;
  // In random order a stride that shares no divisor with their number.
  std::int64_t stride = 1, at = 0;
  if (thread_order == ThreadOrder::random) {
    const auto divisor = [](std::int64_t a, std::int64_t b) {
      while (b != 0) a = std::exchange(b, a % b);
      return a;
    };
    stride = static_cast<std::int64_t>(order_seed % 97) + blocks / 3;
    while (divisor(stride, blocks) != 1) ++stride;
  } else if (thread_order == ThreadOrder::reverse) {
    stride = at = blocks - 1;
  }
  for (std::int64_t i = 0; i < blocks; ++i, at = (at + stride) % blocks) {
    blockIdx = {static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
                static_cast<unsigned>(at / grid.x / grid.y)};
    run_block();
  }
  end_.acquire();
}

std::string describe(dim3 size) { return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z); }

}  // namespace

void set_thread_order(ThreadOrder order, std::uint64_t seed) {
  thread_order = order;
  order_seed = seed;
}

LaunchHook set_launch_hook(LaunchHook hook) { return std::exchange(launch_hook, std::move(hook)); }

int block_barrier(BarrierOp op, int predicate, Place place) { return machine().barrier(op, predicate, place); }

std::uint64_t warp_exchange(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, int width, Place place) {
  return machine().warp(op, mask, value, argument, width, place);
}

void* shared_array(const void* key, std::size_t bytes) { return machine().shared(key, bytes); }

void* dynamic_shared_array() {
  static char key;
  return machine().shared(&key, machine().dynamic_bytes());
}

void check_launch(dim3 grid, dim3 block, std::size_t shared_bytes) {
  const auto refuse = [&](const char* why) {
    throw cuda::Error("launching a kernel with a grid of " + describe(grid) + " blocks of " + describe(block) +
                      " threads and " + std::to_string(shared_bytes) + " bytes of shared memory: " + why);
  };
  if (block.x == 0 || block.y == 0 || block.z == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0) refuse("nothing to run");
  if (block.x > kMaxThreads || block.y > kMaxThreads || block.z > 64 ||
      std::uint64_t{block.x} * block.y * block.z > kMaxThreads)
    refuse("too many threads");
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) refuse("too many blocks");
  if (shared_bytes > kMaxSharedBytes) refuse("too much shared memory");
}

void enqueue(cuda::Stream stream, std::function<void()> work) {
  if (launch_hook)
    launch_hook(stream, std::move(work));
  else
    work();
}

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, void (*thread)(const void*), const void* arguments) {
  machine().run_grid(grid, block, shared_bytes, thread, arguments);
}

}  // namespace epochbench::test

namespace epochbench::cuda {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Error(std::string(what) + ": error " + std::to_string(static_cast<int>(status)));
}

}  // namespace epochbench::cuda
