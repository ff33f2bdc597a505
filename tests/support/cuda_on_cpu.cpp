// Launches of kernels that run on the CPU, and what their threads call.
#include "tests/support/cuda_on_cpu.h"

#include <string>

#include "tests/support/cuda_on_cpu_block.h"

namespace epochbench::test {

namespace {

constexpr std::size_t kMaxSharedBytes = 48 << 10;  // per block; a kernel would have to opt in to more

thread_local constinit Multiprocessor* running = nullptr;  // runs the calling kernel

LaunchHook launch_hook;
PointerCheck pointer_check = nullptr;
int device_multiprocessors = kMultiprocessors;

std::string describe(dim3 size) { return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z); }

}  // namespace

LaunchHook set_launch_hook(LaunchHook hook) { return std::exchange(launch_hook, std::move(hook)); }

int set_multiprocessors(int count) { return std::exchange(device_multiprocessors, count); }
int multiprocessors() { return device_multiprocessors; }

PointerCheck set_pointer_check(PointerCheck check) { return std::exchange(pointer_check, check); }

void check_pointer(const void* pointer) {
  if (pointer_check != nullptr && pointer != nullptr) pointer_check(pointer);
}

void check_launch(dim3 grid, dim3 block, std::size_t shared_bytes) {
  const auto refuse = [&](const char* why) {
    throw cuda::Error("launching a kernel with " + describe(grid) + " blocks of " + describe(block) + " threads and " +
                      std::to_string(shared_bytes) + " bytes of shared memory: " + why);
  };
  constexpr unsigned kMaxThreads = Multiprocessor::kMaxThreads;
  if (block.x == 0 || block.y == 0 || block.z == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0) refuse("nothing to run");
  if (block.x > kMaxThreads || block.y > kMaxThreads || block.z > 64 || block.x * block.y * block.z > kMaxThreads)
    refuse("too many threads");
  if (grid.x > 0x7fffffffu || grid.y > 0xffffu || grid.z > 0xffffu) refuse("too many blocks");
  if (shared_bytes > kMaxSharedBytes) refuse("too much shared memory");
}

void enqueue(cuda::Stream stream, std::function<void()> work) {
  if (launch_hook)
    launch_hook(stream, std::move(work));
  else
    work();
}

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, void (*kernel)(const void*), const void* arguments) {
  running = &Multiprocessor::own();
  running->run_grid(grid, block, shared_bytes, kernel, arguments);
}

int block_barrier(BarrierOp op, int predicate, Place place) { return running->barrier(op, predicate, place); }

std::uint64_t warp_exchange(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, int width, Place place) {
  return running->warp(op, mask, value, argument, width, place);
}

void* shared_array(const void* key, std::size_t bytes) { return running->shared(key, bytes); }

void* dynamic_shared_array() {
  static const char key = 0;
  return running->shared(&key, running->dynamic_bytes());
}

}  // namespace epochbench::test
