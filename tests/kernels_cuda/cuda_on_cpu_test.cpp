// The machine on which CUDA kernels run in tests: indexes, barriers, warps, shared memory, thread orders, launches, and its
// reports; and the 16-bit formats of cuda_kernel_sweep.h against CUDA's own conversions.
#include "tests/support/cuda_on_cpu.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench {
namespace {

using cuda::launch;
using test::for_each_order;
using test::kNoStream;
using test::ThreadOrder;

constexpr unsigned kAll = 0xffffffffu;

unsigned linear_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// ---- Indexes, orders and launches ----

void count_visits(int* visits) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  ++visits[block * blockDim.x * blockDim.y * blockDim.z + linear_thread()];
}

TEST(CudaOnCpu, RunsEveryThreadOfEveryBlockOnce) {
  for_each_order("", [] {
    for (const dim3 grid : {dim3(1), dim3(7), dim3(2, 3, 4)})
      for (const dim3 block : {dim3(1), dim3(33), dim3(4, 5, 6), dim3(1024)}) {
        std::vector<int> visits(std::size_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z);
        launch(count_visits, grid, block, 0, kNoStream, visits.data());
        EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), static_cast<std::ptrdiff_t>(visits.size()));
      }
  });
}

void log_threads(std::vector<unsigned>* log) {
  log->push_back(blockIdx.x * 64 + threadIdx.x);
  __syncthreads();
  log->push_back(blockIdx.x * 64 + threadIdx.x);
}

TEST(CudaOnCpu, OrdersDifferAndRepeat) {
  const auto order_of = [](ThreadOrder order, std::uint64_t seed) {
    std::vector<unsigned> log;
    test::set_thread_order(order, seed);
    launch(log_threads, dim3(3), dim3(64), 0, kNoStream, &log);
    test::set_thread_order(ThreadOrder::forward);
    return log;
  };
  const std::vector<unsigned> forward = order_of(ThreadOrder::forward, 1), reverse = order_of(ThreadOrder::reverse, 1);
  EXPECT_EQ(forward.front(), 0u);
  EXPECT_EQ(forward.back(), 191u);
  EXPECT_TRUE(std::equal(forward.begin(), forward.end(), reverse.rbegin(), reverse.rend()));
  const std::vector<unsigned> random = order_of(ThreadOrder::random, 1);
  EXPECT_EQ(random, order_of(ThreadOrder::random, 1));
  EXPECT_NE(random, order_of(ThreadOrder::random, 2));
  EXPECT_EQ(std::set<unsigned>(random.begin(), random.end()).size(), 192u);
}

void nothing() {}
void write_value(int* to, int value) { *to = value; }

TEST(CudaOnCpu, RefusesWhatAGpuRefuses) {
  const auto launched = [](dim3 grid, dim3 block, std::size_t shared_bytes) {
    launch(nothing, grid, block, shared_bytes, kNoStream);
  };
  EXPECT_NO_THROW(launched(dim3(1), dim3(1024), 48 << 10));
  EXPECT_THROW(launched(dim3(1), dim3(1025), 0), cuda::Error);
  EXPECT_THROW(launched(dim3(1), dim3(32, 33), 0), cuda::Error);
  EXPECT_THROW(launched(dim3(1), dim3(1, 1, 65), 0), cuda::Error);
  EXPECT_THROW(launched(dim3(1), dim3(0), 0), cuda::Error);
  EXPECT_THROW(launched(dim3(0), dim3(1), 0), cuda::Error);
  EXPECT_THROW(launched(dim3(1, 65536), dim3(1), 0), cuda::Error);
  EXPECT_THROW(launched(dim3(1), dim3(1), (48 << 10) + 1), cuda::Error);
}

TEST(CudaOnCpu, AHookGetsLaunchesWithTheirArguments) {
  std::vector<std::function<void()>> queue;
  const test::LaunchHook before = test::set_launch_hook([&](cuda::Stream stream, std::function<void()> work) {
    EXPECT_EQ(stream, kNoStream);
    queue.push_back(std::move(work));
  });
  EXPECT_FALSE(before);
  int result = 0;
  {
    int value = 5;
    launch(write_value, dim3(1), dim3(1), 0, kNoStream, &result, value);
    value = 6;
    launch(write_value, dim3(1), dim3(1), 0, kNoStream, &result, value);
  }
  test::set_launch_hook(nullptr);
  EXPECT_EQ(result, 0);
  for (int again : {0, 1}) {  // a captured graph runs them many times
    queue[0]();
    EXPECT_EQ(result, 5) << again;
    queue[1]();
    EXPECT_EQ(result, 6) << again;
  }
}

TEST(CudaOnCpu, ACheckGetsThePointersOfALaunch) {
  static std::vector<const void*> seen;
  seen.clear();
  const test::PointerCheck before = test::set_pointer_check([](const void* pointer) { seen.push_back(pointer); });
  test::DeviceBuffer<int> there(3);
  int here = 0;
  launch(write_value, dim3(1), dim3(1), 0, kNoStream, there.data() + 2, 4);
  launch(write_value, dim3(1), dim3(1), 0, kNoStream, &here, 4);
  test::set_pointer_check(before);
  EXPECT_EQ(seen, (std::vector<const void*>{there.data() + 2, &here}));
  EXPECT_TRUE(test::DeviceMemory::holds(seen[0]));
  EXPECT_FALSE(test::DeviceMemory::holds(seen[1]));
}

// ---- Barriers and shared memory ----

void reverse_block(int* values) {
  SHARED_ARRAY(int, held, 256);
  held[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}

TEST(CudaOnCpu, BarriersSeparateWritesFromReads) {
  for_each_order("", [] {
    std::vector<int> values(256);
    for (int i = 0; i < 256; ++i) values[static_cast<std::size_t>(i)] = i;
    launch(reverse_block, dim3(1), dim3(256), 0, kNoStream, values.data());
    for (int i = 0; i < 256; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 255 - i);
  });
}

void ask_all(int* results) {
  if (threadIdx.x >= 90) return;  // threads that have returned no longer count
  const int x = static_cast<int>(threadIdx.x);
  results[0] = __syncthreads_count(x % 3 == 0);
  results[1] = __syncthreads_and(x < 90);
  results[2] = __syncthreads_and(x < 89);
  results[3] = __syncthreads_or(x == 89);
  results[4] = __syncthreads_or(x == 95);
}

TEST(CudaOnCpu, BarriersCount) {
  for_each_order("", [] {
    std::vector<int> results(5, -1);
    launch(ask_all, dim3(1), dim3(100), 0, kNoStream, results.data());
    EXPECT_EQ(results, (std::vector<int>{30, 1, 0, 1, 0}));
  });
}

void look_at_shared(int* problems) {
  SHARED_ARRAY(float, of_floats, 10);
  SHARED_ARRAY(__nv_bfloat16, of_bf16, 10);
  SHARED_ARRAY(__half, of_f16, 10);
  DYNAMIC_SHARED(double, of_doubles);
  if (!std::isnan(of_floats[9]) || !std::isnan(__bfloat162float(of_bf16[9]))) ++*problems;
  if (!std::isnan(__half2float(of_f16[9])) || !std::isnan(of_doubles[9])) ++*problems;
  of_floats[9] = 1;  // the next block must not see it
  of_doubles[9] = 1;
}

TEST(CudaOnCpu, SharedArraysAreFullOfNanInEveryBlock) {
  int problems = 0;
  launch(look_at_shared, dim3(3), dim3(1), 10 * sizeof(double), kNoStream, &problems);
  EXPECT_EQ(problems, 0);
}

// ---- Warps ----

struct Shuffled {
  int to, up, down, across;
};
void shuffle_all(Shuffled* results, int argument, int width) {
  const int own = static_cast<int>(threadIdx.x) + 100;
  results[threadIdx.x] = {
      __shfl_sync(kAll, own, argument, width), __shfl_up_sync(kAll, own, static_cast<unsigned>(argument), width),
      __shfl_down_sync(kAll, own, static_cast<unsigned>(argument), width), __shfl_xor_sync(kAll, own, argument, width)};
}

TEST(CudaOnCpu, ShufflesGiveWhatTheProgrammingGuideSays) {
  for_each_order("", [] {
    for (int width : {1, 2, 4, 8, 16, 32})
      for (int argument : {0, 1, 2, 5, 16, 31}) {
        Shuffled results[64];
        launch(shuffle_all, dim3(1), dim3(64), 0, kNoStream, results, argument, width);
        for (int i = 0; i < 64; ++i) {
          const int lane = i % 32, in_segment = lane % width, warp = 100 + i - lane, segment = warp + lane - in_segment;
          EXPECT_EQ(results[i].to, segment + argument % width);
          EXPECT_EQ(results[i].up, in_segment >= argument ? 100 + i - argument : 100 + i);
          EXPECT_EQ(results[i].down, in_segment + argument < width ? 100 + i + argument : 100 + i);
          const int other = lane ^ argument;
          EXPECT_EQ(results[i].across, other / width <= lane / width ? warp + other : 100 + i);
        }
      }
  });
}

void shuffle_types(int* problems) {
  const auto lane = static_cast<int>(threadIdx.x);
  if (__shfl_sync(kAll, lane + 0.5, 3) != 3.5) ++*problems;
  if (__shfl_sync(kAll, static_cast<float>(lane), 31) != 31.0f) ++*problems;
  if (__shfl_sync(kAll, static_cast<long long>(lane) << 40, 2) != 2ll << 40) ++*problems;
  if (__half2float(__shfl_sync(kAll, __float2half_rn(static_cast<float>(lane)), 7)) != 7) ++*problems;
}

TEST(CudaOnCpu, ShufflesCarryEveryType) {
  int problems = 0;
  launch(shuffle_types, dim3(1), dim3(32), 0, kNoStream, &problems);
  EXPECT_EQ(problems, 0);
}

// The halves of a warp diverge and finish separately.
void vote_in_halves(unsigned* results) {
  const bool low = threadIdx.x < 16;
  const unsigned mask = low ? 0xffffu : 0xffff0000u;
  if (low) {
    results[threadIdx.x] = __ballot_sync(mask, threadIdx.x % 2);
    results[threadIdx.x] += __all_sync(mask, threadIdx.x < 16) ? 0u : 0x80000000u;
  } else {
    results[threadIdx.x] = __any_sync(mask, threadIdx.x == 20) ? __ballot_sync(mask, threadIdx.x >= 30) : 7u;
  }
  __syncwarp();
}

TEST(CudaOnCpu, PartsOfAWarpVoteSeparately) {
  for_each_order("", [] {
    unsigned results[32];
    launch(vote_in_halves, dim3(1), dim3(32), 0, kNoStream, results);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(results[i], i < 16 ? 0xaaaau : 0xc0000000u) << i;
  });
}

void add_up(float* sum, int* count, unsigned* most, unsigned long long* bits) {
  atomicAdd(sum, 0.5f);
  atomicAdd(count, 1);
  atomicMax(most, threadIdx.x * 7 % 64);
  atomicOr(bits, 1ull << threadIdx.x);
}

TEST(CudaOnCpu, AtomicsAddUp) {
  float sum = 0;
  int count = 0;
  unsigned most = 0;
  unsigned long long bits = 0;
  launch(add_up, dim3(5), dim3(64), 0, kNoStream, &sum, &count, &most, &bits);
  EXPECT_EQ(sum, 160);
  EXPECT_EQ(count, 320);
  EXPECT_EQ(most, 63u);
  EXPECT_EQ(bits, ~0ull);
}

TEST(CudaOnCpu, EachOperatingSystemThreadHasItsOwnMachine) {
  std::vector<std::vector<int>> values(2, std::vector<int>(256, 1));
  std::vector<std::thread> threads;
  for (std::vector<int>& of_thread : values)
    threads.emplace_back([&] {
      for (int i = 0; i < 256; ++i) of_thread[static_cast<std::size_t>(i)] = i;
      for (int i = 0; i < 11; ++i) launch(reverse_block, dim3(1), dim3(256), 0, kNoStream, of_thread.data());
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int>& of_thread : values) EXPECT_EQ(of_thread[0], 255);
}

// ---- Reports ----

void diverge() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}
void wait_forever() {
  if (threadIdx.x == 3)
    __syncthreads();
  else if (threadIdx.x < 32)
    __syncwarp();
}
void leave_a_warp() {
  if (threadIdx.x != 5) __syncwarp();
}
void name_others() { __ballot_sync(0xfeu, 1); }
void name_a_missing_lane() { __ballot_sync(kAll, 1); }
void disagree() {
  if (threadIdx.x % 2 == 0)
    __shfl_xor_sync(kAll, 1, 1);
  else
    __shfl_xor_sync(kAll, 1, 1, 16);
}
void read_outside() { __shfl_sync(0xffffu, 1, 20); }
void ask_for_an_odd_width() { __shfl_sync(kAll, 1, 0, 12); }
void overrun() {
  SHARED_ARRAY(float, values, 10);
  values[10 + threadIdx.x] = 1;
}
int overflow(int depth) {
  volatile char frame[4096] = {};
  return depth == 0 ? frame[0] : overflow(depth - 1) + frame[1];
}
void overflow_the_stack() { overflow(1000); }

void run(void (*kernel)(), unsigned threads) {
  for (ThreadOrder order : {ThreadOrder::forward, ThreadOrder::reverse, ThreadOrder::random}) {
    test::set_thread_order(order);
    launch(kernel, dim3(1), dim3(threads), 0, kNoStream);
  }
}

TEST(CudaOnCpuDeathTest, ReportsBarriersThatDiverge) {
  EXPECT_DEATH(run(diverge, 64), "the barrier diverges: thread .* is at .*cuda_on_cpu_test.cpp:[0-9]+, others wait at");
}

TEST(CudaOnCpuDeathTest, ReportsThreadsThatWaitForever) {
  EXPECT_DEATH(run(wait_forever, 33), "thread 3,0,0 of block 0,0,0 waits in a barrier at .*cuda_on_cpu_test.cpp");
  EXPECT_DEATH(run(wait_forever, 33), "thread 0,0,0 of block 0,0,0 waits in __syncwarp of width 32 and mask 0xffffffff");
  EXPECT_DEATH(run(wait_forever, 33), "none of these threads can continue");
}

TEST(CudaOnCpuDeathTest, ReportsMissingLanes) {
  EXPECT_DEATH(run(leave_a_warp, 32), "thread 5,0,0 of block 0,0,0 returns, but thread|lanes that have returned");
  EXPECT_DEATH(run(name_others, 1), "thread 0,0,0 of block 0,0,0 is not in the mask of a vote");
  EXPECT_DEATH(run(name_a_missing_lane, 40), "lanes that have returned or never were");
}

TEST(CudaOnCpuDeathTest, ReportsInvalidShuffles) {
  EXPECT_DEATH(run(disagree, 32), "lanes disagree: .* of width 16");
  EXPECT_DEATH(run(read_outside, 16), "reads lane 20, which is not in the mask");
  EXPECT_DEATH(run(ask_for_an_odd_width, 32), "impossible width");
}

TEST(CudaOnCpuDeathTest, ReportsOverruns) {
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(run(overrun, 1), "heap-buffer-overflow");
#else
  EXPECT_DEATH(run(overrun, 1), "a shared array of 40 bytes was overrun");
#endif
  EXPECT_DEATH(run(overflow_the_stack, 1), "");  // caught by its guard page
}

// ---- The 16-bit formats ----

// Every number of either format, the midpoints between neighbors, and values just beside those.
TEST(CudaKernelSweep, RoundsAsCudaDoes) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float of_bf16 = __bfloat162float(std::bit_cast<__nv_bfloat16>(pattern));
    const float of_f16 = __half2float(std::bit_cast<__half>(pattern));
    const float ours_bf16 = test::from_bits(pattern, Element::bf16), ours_f16 = test::from_bits(pattern, Element::f16);
    ASSERT_TRUE(of_bf16 == ours_bf16 || (std::isnan(of_bf16) && std::isnan(ours_bf16))) << bits;
    ASSERT_TRUE(of_f16 == ours_f16 || (std::isnan(of_f16) && std::isnan(ours_f16))) << bits;
    if (std::isnan(of_bf16) || std::isnan(of_f16)) continue;
    for (float base : {of_bf16, of_f16})
      for (std::int32_t beside : {0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001}) {
        const float value = std::bit_cast<float>(std::bit_cast<std::int32_t>(base) + beside);
        if (std::isnan(value)) continue;
        ASSERT_EQ(test::to_bits(value, Element::bf16), std::bit_cast<std::uint16_t>(__float2bfloat16_rn(value))) << value;
        ASSERT_EQ(test::to_bits(value, Element::f16), std::bit_cast<std::uint16_t>(__float2half_rn(value))) << value;
      }
  }
  EXPECT_TRUE(std::isnan(test::rounded(NAN, Element::bf16)));
  EXPECT_TRUE(std::isnan(test::rounded(NAN, Element::f16)));
}

TEST(CudaKernelSweep, TensorsRoundAndGuard) {
  test::for_each_element("", [](Element element) {
    const test::GuardedBuffer<float> values = test::random_floats(33, 1);
    test::Tensor tensor(values, element);
    const test::GuardedBuffer<float> held = tensor.floats();
    for (std::int64_t i = 0; i < 33; ++i) EXPECT_EQ(held[i], test::rounded(values[i], element));
    EXPECT_TRUE(tensor.guards_intact());
    tensor.poison();
    for (float value : tensor.floats()) EXPECT_TRUE(std::isnan(value));
  });
}

}  // namespace
}  // namespace epochbench
