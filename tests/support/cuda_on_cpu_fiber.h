// Stacks to switch between, on which the threads of a CUDA block run in tests. Independent of blocks and barriers.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(EPOCHBENCH_UCONTEXT)
#define EPOCHBENCH_FIBER_BY_UCONTEXT 1
#include <ucontext.h>
#endif

namespace epochbench::test {

// One stack, with a guard page below it. resume() runs its code until that or a fiber to which it passes on calls suspend(),
// then returns. The first time it calls entry(argument), which must never return. All on one operating-system thread.
class Fiber {
 public:
#if defined(EPOCHBENCH_FIBER_BY_UCONTEXT)
  using Context = ucontext_t;
#else
  using Context = void*;  // the stack pointer
#endif
  struct Outside {  // where resume() was called: one for all fibers that pass on to each other
    Context context{};
    // For AddressSanitizer: its fake stack, the bounds of the stack, and whether resume() has just left it.
    void* fake = nullptr;
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    bool left = false;
  };

  Fiber(void (*entry)(void*), void* argument, Outside& outside);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume();
  void pass_to(Fiber& next);  // suspends this one, without a return to where it was resumed
  void suspend();

 private:
  static void start(Fiber* self);
  void arrive(void* fake);

  void (*entry_)(void*);
  void* argument_;
  Outside& outside_;
  std::byte* memory_;
  Context inside_;
  void* fake_inside_ = nullptr;
};

}  // namespace epochbench::test
