// Stacks to switch between, on which the threads of a CUDA block run in tests. Independent of blocks and barriers.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(EPOCHBENCH_UCONTEXT)
#define EPOCHBENCH_FIBER_BY_UCONTEXT 1
#include <ucontext.h>
#endif

namespace epochbench::test {

// One stack, with a guard page below it. resume() runs its code until that calls suspend(), then returns; the first time it
// calls entry(argument), which must never return. All on one operating-system thread.
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
  void* inside_;  // stack pointers of the side that waits
  void* outside_;
#endif
  // State for AddressSanitizer: its fake stacks and the bounds of the resumer's stack.
  void* fake_inside_ = nullptr;
  void* fake_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
};

}  // namespace epochbench::test
