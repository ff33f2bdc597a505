// Stacks to switch between: what the threads of a CUDA block run on in tests. It knows no block and no barrier.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(EPOCHBENCH_UCONTEXT)
#define EPOCHBENCH_FIBER_BY_UCONTEXT 1
#include <ucontext.h>
#endif

namespace epochbench::test {

// One stack, with a guard page below it. resume() runs what is on it until that calls suspend(), and returns then; the first
// time it calls entry(argument), which must never return. All on one operating-system thread.
class Fiber {
 public:
  Fiber(void (*entry)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume();
  void suspend();

 private:
  static void start(Fiber* self);

  void (*entry_)(void*);
  void* argument_;
  std::byte* memory_;
#if defined(EPOCHBENCH_FIBER_BY_UCONTEXT)
  ucontext_t inside_, outside_;
#else
  void* inside_;  // stack pointers of whichever side waits
  void* outside_;
#endif
  // What AddressSanitizer is told of: its shadow stacks, and where the resumer's stack lies.
  void* fake_inside_ = nullptr;
  void* fake_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
};

}  // namespace epochbench::test
