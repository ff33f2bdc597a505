#include "tests/support/cuda_on_cpu_fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(fake, bottom, bytes) ((void)(fake), (void)(bottom), (void)(bytes))
#define __sanitizer_finish_switch_fiber(fake, bottom, bytes) ((void)(fake), (void)(bottom), (void)(bytes))
#endif

namespace epochbench::test {

namespace {

// A kernel needs little; a sanitizer's report, printed on this stack, needs more. ThreadSanitizer clears its shadow memory for
// every new stack.
#if defined(EPOCHBENCH_TSAN)
constexpr std::size_t kStackBytes = 64 << 10;
#else
constexpr std::size_t kStackBytes = 256 << 10;
#endif

std::size_t guard_bytes() {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

}  // namespace

#if defined(EPOCHBENCH_FIBER_BY_UCONTEXT)

static void switch_stack(ucontext_t& from, ucontext_t& to) { swapcontext(&from, &to); }

#else

// Saves the callee-saved registers on the current stack, stores its pointer in *from and switches to `to`.
// 20 times faster than swapcontext, which saves the signal mask by a system call.
extern "C" void epochbench_switch_stack(void** from, void* to);
// Where a new stack begins: calls rbx with r12 as its argument.
extern "C" void epochbench_begin_stack();
asm(R"(
.text
.p2align 4
.type epochbench_switch_stack, @function
epochbench_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size epochbench_switch_stack, .-epochbench_switch_stack
.p2align 4
.type epochbench_begin_stack, @function
epochbench_begin_stack:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size epochbench_begin_stack, .-epochbench_begin_stack
)");

// Stacks begin at different lines of a page, so that those of a warp share no set of the first-level cache.
static constexpr std::size_t kPage = 4096, kBetweenStarts = 9 * 64;

static std::size_t start_of_next() {
  static thread_local std::size_t stacks = 0;
  return stacks++ * kBetweenStarts % kPage;
}

static void switch_stack(void*& from, void* to) { epochbench_switch_stack(&from, to); }

#endif

Fiber::Fiber(void (*entry)(void*), void* argument, Outside& outside) : entry_(entry), argument_(argument), outside_(outside) {
  void* memory = mmap(nullptr, guard_bytes() + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guard_bytes(), PROT_NONE) != 0) {
    std::perror("a stack for a thread of a kernel");
    std::abort();
  }
  memory_ = static_cast<std::byte*>(memory);
#if defined(EPOCHBENCH_FIBER_BY_UCONTEXT)
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = memory_ + guard_bytes();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  // makecontext passes only ints.
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(+[](unsigned high, unsigned low) {
    start(reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(std::uint64_t{high} << 32 | low)));
  }),
              2, static_cast<unsigned>(std::uint64_t{address} >> 32), static_cast<unsigned>(address));
#else
  // What the first switch pops: r15, r14, r13, r12, rbx, rbp and the return address.
  auto* top = reinterpret_cast<std::uintptr_t*>(memory_ + guard_bytes() + kStackBytes - start_of_next());
  for (int i = 0; i < 2; ++i) *--top = 0;  // aligns the stack for a call and ends a debugger's backtrace
  *--top = reinterpret_cast<std::uintptr_t>(&epochbench_begin_stack);
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(&start);
  *--top = reinterpret_cast<std::uintptr_t>(this);
  for (int i = 0; i < 3; ++i) *--top = 0;
  inside_ = top;
#endif
}

Fiber::~Fiber() { munmap(memory_, guard_bytes() + kStackBytes); }

void Fiber::start(Fiber* self) {
  self->arrive(nullptr);
  self->entry_(self->argument_);
  std::abort();
}

// On this fiber's stack, after a switch to it.
void Fiber::arrive(void* fake) {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake, &bottom, &bytes);
  if (!std::exchange(outside_.left, false)) return;
  outside_.bottom = bottom;
  outside_.bytes = bytes;
}

void Fiber::resume() {
  __sanitizer_start_switch_fiber(&outside_.fake, memory_ + guard_bytes(), kStackBytes);
  outside_.left = true;
  switch_stack(outside_.context, inside_);
  __sanitizer_finish_switch_fiber(outside_.fake, nullptr, nullptr);
}

void Fiber::pass_to(Fiber& next) {
  __sanitizer_start_switch_fiber(&fake_inside_, next.memory_ + guard_bytes(), kStackBytes);
  switch_stack(inside_, next.inside_);
  arrive(fake_inside_);
}

void Fiber::suspend() {
  __sanitizer_start_switch_fiber(&fake_inside_, outside_.bottom, outside_.bytes);
  switch_stack(inside_, outside_.context);
  arrive(fake_inside_);
}

}  // namespace epochbench::test
