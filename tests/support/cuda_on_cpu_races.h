// Annotates a kernel for ThreadSanitizer, so that it finds races between the threads of a block and between blocks: it sees
// every CUDA thread as a thread, and one access happens before another only where a GPU orders memory (an Edge). Without the
// sanitizer all of this is empty.
#pragma once

#if defined(EPOCHBENCH_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace epochbench::test {

#if defined(EPOCHBENCH_TSAN)

// The identity of a memory access. Entering and leaving order nothing. Creating one is slow: the sanitizer clears 0.5 MB.
class RaceContext {
 public:
  RaceContext() : fiber_(__tsan_create_fiber(0)) {}  // what its creator did happens before
  ~RaceContext() { __tsan_destroy_fiber(fiber_); }
  RaceContext(const RaceContext&) = delete;
  RaceContext& operator=(const RaceContext&) = delete;

  void enter() {
    outside_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber_, 1);
  }
  void leave() { __tsan_switch_to_fiber(outside_, 1); }

 private:
  void* fiber_;
  void* outside_ = nullptr;
};

class Edge {  // everything before a release happens before what follows an acquire
 public:
  void release() { __tsan_release(&address_); }
  void acquire() { __tsan_acquire(&address_); }

 private:
  char address_ = 0;
};

inline constexpr bool kFindsRaces = true;

#else

class RaceContext {
 public:
  void enter() {}
  void leave() {}
};

class Edge {
 public:
  void release() {}
  void acquire() {}
};

inline constexpr bool kFindsRaces = false;

#endif

}  // namespace epochbench::test
