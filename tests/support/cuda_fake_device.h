// A fake CUDA device on the host, to test what a backend does besides its kernels: what it allocates and releases, and the
// order that its streams and events establish. Work runs late and in a random order: only when something waits for it, and
// among what streams and events allow, as the seed decides, so a missing wait shows as wrong numbers.
//
// Device memory is protected (a host access crashes) except while work runs, and each block is followed by a protected page.
// Kernels compiled for the CPU arrive by their stream (launch hook of cuda_on_cpu.h). Not a model of speed: every work item
// takes kSecondsOfWork, unless who enqueues it says otherwise, of a clock that only work and pass() advance. One host thread;
// several devices may have one each, if all of them are made before.
//
// A capture takes streams that wait for one of its events along, as CUDA does; each is a lane of the graph, and lanes run in a
// random order as streams do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/backend/cuda/cuda_device.h"

struct CUevent_st {
  struct State {
    std::uint64_t recorded = 0, done = 0;  // how often record() was called, and has run
    double seconds = 0;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

namespace epochbench::test {

class FakeDevice;
struct FakeLane;
struct FakeOperation {
  enum class Kind : std::uint8_t { work, record, wait, graph };
  Kind kind = Kind::work;
  std::function<void()> work = {};
  std::shared_ptr<CUevent_st::State> event = {};
  std::uint64_t version = 0;                          // version of the event
  std::int64_t pieces = 1;                            // work items
  double seconds = 0;                                 // that it takes
  std::shared_ptr<std::vector<FakeLane>> lanes = {};  // of a graph: what is left of them
};
struct FakeLane {
  double weight;  // how likely its work runs before that of others
  std::deque<FakeOperation> queue = {};
};

}  // namespace epochbench::test

struct CUstream_st : epochbench::test::FakeLane {
  epochbench::test::FakeDevice* device;
};
struct CUgraphExec_st {
  // The first: of the stream that was captured. A launch keeps them: a graph may be destroyed before it has run.
  std::shared_ptr<std::vector<epochbench::test::FakeLane>> lanes = std::make_shared<std::vector<epochbench::test::FakeLane>>();
};

namespace epochbench::test {

class FakeDevice final : public cuda::Device {
 public:
  static constexpr double kSecondsOfWork = 1e-4;

  explicit FakeDevice(std::uint64_t seed = 0, int compute_capability = 90);
  ~FakeDevice() override;  // aborts if something was not released

  // Enqueues what a kernel or a library does; within a capture, puts it into the graph.
  void enqueue(cuda::Stream stream, std::function<void()> work, double seconds = kSecondsOfWork);
  // What a library's plan does. Errors: cuda::Error if its first run is captured, as that loads kernels and may allocate.
  void enqueue_plan(bool& has_run, cuda::Stream stream, std::function<void()> work, double seconds);

  struct Counts {
    std::int64_t allocations = 0;    // device or pinned memory, streams, events
    std::int64_t waits_of_host = 0;  // synchronize()
    std::int64_t copies = 0, work = 0, graph_launches = 0;
    std::int64_t binding_waits = 0;  // wait() for an event that was not done
    bool operator==(const Counts&) const = default;
  };
  const Counts& counts() const { return counts_; }
  std::int64_t held() const { return held_; }  // allocations, streams, events and graphs not released

  void fail_allocation(std::int64_t n) { failing_allocation_ = counts_.allocations + n; }  // the n-th from now and later ones
  void fail_work(std::int64_t n) { failing_work_ = counts_.work + n; }  // from then on every synchronize() throws
  void drop_wait(std::int64_t n) { dropped_wait_ = counts_.binding_waits + n; }
  void set_memory_bytes(std::int64_t bytes) { memory_bytes_ = bytes; }
  void set_fp32_flops_per_second(double rate) { fp32_flops_per_second_ = rate; }
  void pass(double seconds) { seconds_ += seconds; }
  // Runs jobs that pass time as so many threads would, by this clock; ChoiceOptions::run_at_once.
  void run_at_once(const std::vector<std::function<void()>>& jobs, const std::function<bool()>& goes_on, std::size_t threads);
  void skip_work() { skips_work_ = true; }   // it only takes its time from now on, so models may have their real size
  void hang(bool hangs) { hangs_ = hangs; }  // whether done() is never true; each question then takes 0.1 s
  // For the stream with this index in order of creation: whether it has work, and running all of it that may run.
  bool busy(int stream) const { return !streams_.at(static_cast<std::size_t>(stream))->queue.empty(); }
  void run_stream(int stream);
  void run_some();  // of any stream
  bool captures(cuda::Stream stream) const { return lane_of(stream) != nullptr; }
  // From the beginning of the block of device memory that it lies in.
  std::size_t offset_in_block(const void* memory) const;
  double seconds() const { return seconds_; }

  cuda::DeviceProperties properties() const override {
    return {"fake device", compute_capability_, memory_bytes_, "1.0", fp32_flops_per_second_};
  }
  std::byte* allocate(std::size_t bytes) override;
  void free(std::byte* memory) noexcept override;
  std::int64_t bytes_in_use() const override;
  std::byte* allocate_pinned(std::size_t bytes) override;
  void free_pinned(std::byte* memory) noexcept override;
  cuda::Stream make_stream() override;
  void destroy(cuda::Stream stream) noexcept override;
  cuda::Event make_event() override;
  void destroy(cuda::Event event) noexcept override;
  void copy_to_device(void* to, const void* from, std::size_t bytes, cuda::Stream stream) override;
  void copy_to_host(void* to, const void* from, std::size_t bytes, cuda::Stream stream) override;
  void copy_on_device(void* to, const void* from, std::size_t bytes, cuda::Stream stream) override;
  void clear(void* memory, std::size_t bytes, cuda::Stream stream) override;
  void record(cuda::Event event, cuda::Stream stream) override;
  void wait(cuda::Stream stream, cuda::Event event) override;
  void synchronize(cuda::Stream stream) override;
  void synchronize(cuda::Event event) override;
  bool done(cuda::Event event) const override;
  double seconds_between(cuda::Event begin, cuda::Event end) const override;
  void begin_capture(cuda::Stream stream) override;
  cuda::GraphExec end_capture(cuda::Stream stream) override;
  void launch(cuda::GraphExec graph, cuda::Stream stream) override;
  void destroy(cuda::GraphExec graph) noexcept override;

 private:
  using Blocks = std::map<std::byte*, std::size_t>;  // address to size

  std::byte* map(std::size_t bytes, Blocks& blocks, bool open);
  void unmap(std::byte* memory, Blocks& blocks) noexcept;
  void count_allocation();
  static bool within(const Blocks& blocks, const void* memory, std::size_t bytes);
  void check_device_memory(const void* memory, std::size_t bytes, const char* what) const;
  void open_memory(bool open) const;
  void no_capture(const char* what) const;
  void run_until(const std::function<bool()>& reached);
  bool run_one(const CUstream_st* only = nullptr);  // false: nothing may run
  void run(FakeOperation operation);
  struct CapturedStream {
    cuda::Stream stream;
    FakeLane lane;
    std::size_t joined = 0;  // so many of its operations come before the rest of the stream that was captured
  };
  CapturedStream* lane_of(cuda::Stream stream) const;
  double random_weight();
  void report_failure() const;

  int compute_capability_;
  std::int64_t memory_bytes_ = std::int64_t{1} << 40;
  double fp32_flops_per_second_ = 0;
  std::mt19937_64 random_;
  Blocks device_blocks_, pinned_blocks_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::vector<CapturedStream> captured_;  // by a capture under way, the stream that it began with first
  mutable bool captures_validly_ = true;  // until it is given what it refuses
  struct CapturedEvent {                  // the last record() of it
    cuda::Stream stream;
    std::size_t after;  // so many operations of its lane
    std::uint64_t version;
  };
  std::map<const CUevent_st::State*, CapturedEvent> captured_events_;
  Counts counts_;
  std::int64_t held_ = 0;
  std::int64_t failing_allocation_ = 0, failing_work_ = 0, dropped_wait_ = 0;
  bool failed_ = false, hangs_ = false, skips_work_ = false;
  double seconds_ = 0;
};

}  // namespace epochbench::test
