// The fake device.
#include "tests/support/cuda_fake_device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "epochbench/backend.h"
#include "tests/support/cuda_clock.h"
#include "tests/support/cuda_launch.h"

namespace epochbench::test {
namespace {

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
std::size_t whole_pages(std::size_t bytes) { return (bytes + page() - 1) / page() * page(); }

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "fake device: %s\n", what.c_str());
  std::abort();
}

}  // namespace

FakeDevice::FakeDevice(std::uint64_t seed, int compute_capability) : compute_capability_(compute_capability), random_(seed) {
  set_launch_hook(
      [](cuda::Stream stream, std::function<void()> kernel) { stream->device->enqueue(stream, std::move(kernel)); });
}

FakeDevice::~FakeDevice() {
  if (held_ != 0) die(std::to_string(held_) + " allocations, streams, events or graphs were not released");
}

void FakeDevice::count_allocation() {
  no_capture("an allocation");
  if (++counts_.allocations >= failing_allocation_ && failing_allocation_ > 0)
    throw OutOfMemory("fake device: no memory left, as the test requests");
}

// The block ends at a protected page, up to 256-byte alignment.
std::byte* FakeDevice::map(std::size_t bytes, Blocks& blocks, bool open) {
  const std::size_t size = whole_pages(bytes) + page();
  void* base = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) die("mmap failed");
  if (open) mprotect(base, size - page(), PROT_READ | PROT_WRITE);
  std::byte* memory = static_cast<std::byte*>(base) + (whole_pages(bytes) - bytes) / 256 * 256;
  blocks[memory] = bytes;
  ++held_;
  return memory;
}

void FakeDevice::unmap(std::byte* memory, Blocks& blocks) noexcept {
  const auto found = blocks.find(memory);
  if (found == blocks.end()) die("freed memory that was not allocated");
  const std::size_t bytes = found->second;
  munmap(memory - (whole_pages(bytes) - bytes) / 256 * 256, whole_pages(bytes) + page());
  blocks.erase(found);
  --held_;
}

std::byte* FakeDevice::allocate(std::size_t bytes) {
  count_allocation();
  const std::int64_t free = memory_bytes_ - bytes_in_use();
  if (static_cast<std::int64_t>(bytes) > free)
    throw OutOfMemory("fake device: " + std::to_string(bytes) + " bytes requested, " + std::to_string(free) + " are free");
  return map(bytes, device_blocks_, false);
}
void FakeDevice::free(std::byte* memory) noexcept {
  if (!captured_.empty()) die("memory is freed within a capture");
  unmap(memory, device_blocks_);
}
std::int64_t FakeDevice::bytes_in_use() const {
  std::int64_t used = 0;
  for (const auto& block : device_blocks_) used += static_cast<std::int64_t>(block.second);
  return used;
}
std::byte* FakeDevice::allocate_pinned(std::size_t bytes) {
  count_allocation();
  return map(bytes, pinned_blocks_, true);
}
void FakeDevice::free_pinned(std::byte* memory) noexcept { unmap(memory, pinned_blocks_); }

bool FakeDevice::within(const Blocks& blocks, const void* memory, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(memory);
  auto after = blocks.upper_bound(const_cast<std::byte*>(first));
  if (after == blocks.begin()) return false;
  --after;
  return first + bytes <= after->first + after->second;
}

void FakeDevice::check_device_memory(const void* memory, std::size_t bytes, const char* what) const {
  if (!within(device_blocks_, memory, bytes)) die(std::string(what) + ": not within a block of device memory");
}

std::size_t FakeDevice::offset_in_block(const void* memory) const {
  check_device_memory(memory, 1, "offset_in_block");
  const auto* first = static_cast<const std::byte*>(memory);
  return static_cast<std::size_t>(first - std::prev(device_blocks_.upper_bound(const_cast<std::byte*>(first)))->first);
}

void FakeDevice::open_memory(bool open) const {
  for (const auto& [memory, bytes] : device_blocks_)
    mprotect(memory - (whole_pages(bytes) - bytes) / 256 * 256, whole_pages(bytes), open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

double FakeDevice::random_weight() {
  static constexpr double kWeights[] = {1, 8, 64};  // from fair scheduling to nearly always first
  return kWeights[random_() % 3];
}

cuda::Stream FakeDevice::make_stream() {
  count_allocation();
  ++held_;
  streams_.push_back(std::make_unique<CUstream_st>(CUstream_st{{random_weight()}, this}));
  return streams_.back().get();
}
void FakeDevice::destroy(cuda::Stream stream) noexcept {
  if (!stream->queue.empty()) die("a stream with pending work is destroyed");
  --held_;
  std::erase_if(streams_, [&](const auto& owned) { return owned.get() == stream; });
}

cuda::Event FakeDevice::make_event() {
  count_allocation();
  ++held_;
  return new CUevent_st;
}
void FakeDevice::destroy(cuda::Event event) noexcept {
  --held_;
  delete event;
}

void FakeDevice::no_capture(const char* what) const {
  if (captured_.empty()) return;
  captures_validly_ = false;
  throw cuda::Error(std::string("fake device: ") + what + " within a capture");
}

void FakeDevice::enqueue(cuda::Stream stream, std::function<void()> work, double seconds) {
  if (stream->device != this) die("a stream of another device");
  FakeOperation operation{.work = std::move(work), .seconds = seconds};
  CapturedStream* const captured = lane_of(stream);
  (captured ? captured->lane : *stream).queue.push_back(std::move(operation));
}

void FakeDevice::enqueue_plan(bool& has_run, cuda::Stream stream, std::function<void()> work, double seconds) {
  if (!has_run) no_capture("the first run of a plan");
  has_run = true;
  enqueue(stream, std::move(work), seconds);
}

FakeDevice::CapturedStream* FakeDevice::lane_of(cuda::Stream stream) const {
  const auto found = std::ranges::find(captured_, stream, &CapturedStream::stream);
  return found == captured_.end() ? nullptr : const_cast<CapturedStream*>(&*found);
}

void FakeDevice::copy_to_device(void* to, const void* from, std::size_t bytes, cuda::Stream stream) {
  check_device_memory(to, bytes, "copy_to_device");
  if (within(device_blocks_, from, 1)) die("copy_to_device: from device memory");
  ++counts_.copies;
  if (within(pinned_blocks_, from, bytes)) return enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  no_capture("a copy from memory that is not pinned");
  const auto* first = static_cast<const std::byte*>(from);
  enqueue(stream,
          [to, staged = std::vector<std::byte>(first, first + bytes)] { std::memcpy(to, staged.data(), staged.size()); });
}

void FakeDevice::copy_to_host(void* to, const void* from, std::size_t bytes, cuda::Stream stream) {
  check_device_memory(from, bytes, "copy_to_host");
  if (within(device_blocks_, to, 1)) die("copy_to_host: to device memory");
  ++counts_.copies;
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  if (within(pinned_blocks_, to, bytes)) return;
  no_capture("a copy to memory that is not pinned");
  run_until([&] { return stream->queue.empty(); });
}

void FakeDevice::copy_on_device(void* to, const void* from, std::size_t bytes, cuda::Stream stream) {
  check_device_memory(to, bytes, "copy_on_device");
  check_device_memory(from, bytes, "copy_on_device");
  ++counts_.copies;
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

void FakeDevice::clear(void* memory, std::size_t bytes, cuda::Stream stream) {
  check_device_memory(memory, bytes, "clear");
  enqueue(stream, [=] { std::memset(memory, 0, bytes); });
}

void FakeDevice::record(cuda::Event event, cuda::Stream stream) {
  if (CapturedStream* const captured = lane_of(stream)) {
    CapturedEvent& known = captured_events_[event->state.get()];
    captured->lane.queue.push_back({FakeOperation::Kind::record, {}, event->state, known.version + 1});
    known = {stream, captured->lane.queue.size(), known.version + 1};
    return;
  }
  no_capture("an event of another stream");
  stream->queue.push_back({FakeOperation::Kind::record, {}, event->state, ++event->state->recorded});
}

void FakeDevice::wait(cuda::Stream stream, cuda::Event event) {
  if (const auto found = captured_events_.find(event->state.get()); found != captured_events_.end()) {
    if (!lane_of(stream)) captured_.push_back({stream, {random_weight()}});
    if (lane_of(stream) == &captured_.front()) lane_of(found->second.stream)->joined = found->second.after;
    if (++counts_.binding_waits == dropped_wait_) return;
    lane_of(stream)->lane.queue.push_back({FakeOperation::Kind::wait, {}, event->state, found->second.version});
    return;
  }
  no_capture("a wait for what is not part of it");
  if (event->state->done < event->state->recorded && ++counts_.binding_waits == dropped_wait_) return;
  stream->queue.push_back({FakeOperation::Kind::wait, {}, event->state, event->state->recorded});
}

void FakeDevice::synchronize(cuda::Stream stream) {
  no_capture("waiting for a stream");
  ++counts_.waits_of_host;
  run_until([&] { return stream->queue.empty(); });
  report_failure();
}

void FakeDevice::synchronize(cuda::Event event) {
  no_capture("waiting for an event");
  ++counts_.waits_of_host;
  run_until([&] { return event->state->done >= event->state->recorded; });
  report_failure();
}

// Time passes while the host polls: a few work items run, or none.
bool FakeDevice::done(cuda::Event event) const {
  no_capture("a question about an event");
  auto& self = const_cast<FakeDevice&>(*this);
  if (hangs_) {
    self.pass(0.1);
    return false;
  }
  std::uint64_t pieces = self.random_() % 4;
  self.run_until([&] { return pieces-- == 0; });
  return event->state->done >= event->state->recorded;
}

double FakeDevice::seconds_between(cuda::Event begin, cuda::Event end) const {
  for (cuda::Event event : {begin, end})
    if (event->state->recorded == 0 || event->state->done < event->state->recorded)
      throw cuda::Error("fake device: the time of an event that is not done");
  return end->state->seconds - begin->state->seconds;
}

void FakeDevice::begin_capture(cuda::Stream stream) {
  no_capture("another capture");
  captures_validly_ = true;
  captured_.push_back({stream, {random_weight()}});
}

cuda::GraphExec FakeDevice::end_capture(cuda::Stream stream) {
  if (captured_.empty() || captured_.front().stream != stream)
    throw cuda::Error("fake device: the stream is not being captured");
  const std::vector<CapturedStream> captured = std::exchange(captured_, {});
  captured_events_.clear();
  if (!captures_validly_) throw cuda::Error("fake device: the capture is invalid since it was given what it refuses");
  for (std::size_t i = 1; i < captured.size(); ++i)
    if (captured[i].joined != captured[i].lane.queue.size())
      throw cuda::Error("fake device: the capture ends before a stream that it forked is joined");
  ++held_;
  auto* const graph = new CUgraphExec_st;
  for (const CapturedStream& each : captured) graph->lanes->push_back(each.lane);
  return graph;
}

// A graph of one stream is one work item. Each launch has events of its own.
void FakeDevice::launch(cuda::GraphExec graph, cuda::Stream stream) {
  no_capture("a graph");
  ++counts_.graph_launches;
  if (graph->lanes->size() > 1) {
    auto lanes = std::make_shared<std::vector<FakeLane>>(*graph->lanes);
    std::map<const CUevent_st::State*, std::shared_ptr<CUevent_st::State>> events;
    for (FakeLane& lane : *lanes)
      for (FakeOperation& operation : lane.queue) {
        if (!operation.event) continue;
        auto& event = events[operation.event.get()];
        if (!event) event = std::make_shared<CUevent_st::State>();
        operation.event = event;
      }
    stream->queue.push_back({.kind = FakeOperation::Kind::graph, .lanes = std::move(lanes)});
    return;
  }
  const auto& work = graph->lanes->front().queue;
  FakeOperation step{.work =
                         [lanes = graph->lanes] {
                           for (const FakeOperation& operation : lanes->front().queue)
                             if (operation.work) operation.work();
                         },
                     .pieces = static_cast<std::int64_t>(work.size())};
  for (const FakeOperation& operation : work) step.seconds += operation.seconds;
  stream->queue.push_back(std::move(step));
}

void FakeDevice::destroy(cuda::GraphExec graph) noexcept {
  --held_;
  delete graph;
}

void FakeDevice::run_stream(int index) {
  open_memory(true);
  while (run_one(streams_.at(static_cast<std::size_t>(index)).get())) {
  }
  open_memory(false);
}

void FakeDevice::run_at_once(const std::vector<std::function<void()>>& jobs, const std::function<bool()>& goes_on,
                             std::size_t threads) {
  std::vector<double> free_at(threads, seconds_);
  for (const auto& job : jobs) {
    double& first = *std::ranges::min_element(free_at);
    seconds_ = first;
    if (!goes_on()) break;
    job();
    first = seconds_;
  }
  seconds_ = *std::ranges::max_element(free_at);
}

void FakeDevice::run_some() {
  int pieces = 1;
  run_until([&] { return pieces-- == 0; });
}

void FakeDevice::run_until(const std::function<bool()>& reached) {
  if (reached()) return;
  open_memory(true);
  do {
    if (run_one()) continue;
    const bool empty = std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->queue.empty(); });
    if (!empty) die("deadlock: every stream waits for another");
    break;
  } while (!reached());
  open_memory(false);
}

bool FakeDevice::run_one(const CUstream_st* only) {
  std::vector<double> weights;
  std::vector<std::pair<FakeLane*, CUstream_st*>> places;
  double total = 0;
  const auto add = [&](FakeLane& lane, CUstream_st& stream) {
    const bool may = !lane.queue.empty() && (lane.queue.front().kind != FakeOperation::Kind::wait ||
                                             lane.queue.front().event->done >= lane.queue.front().version);
    places.emplace_back(&lane, &stream);
    weights.push_back(may ? lane.weight : 0);
    total += weights.back();
  };
  for (const auto& stream : streams_) {
    if (only && only != stream.get()) continue;
    if (!stream->queue.empty() && stream->queue.front().kind == FakeOperation::Kind::graph)
      for (FakeLane& lane : *stream->queue.front().lanes) add(lane, *stream);
    else
      add(*stream, *stream);
  }
  if (total == 0) return false;
  std::size_t chosen = 0;
  if (weights.size() > 1) chosen = std::discrete_distribution<std::size_t>(weights.begin(), weights.end())(random_);
  const auto [lane, stream] = places[chosen];
  FakeOperation operation = std::move(lane->queue.front());
  lane->queue.pop_front();
  run(std::move(operation));
  if (lane != stream)  // of a graph, which may be done
    if (std::ranges::all_of(*stream->queue.front().lanes, [](const FakeLane& each) { return each.queue.empty(); }))
      stream->queue.pop_front();
  return true;
}

void FakeDevice::run(FakeOperation operation) {
  switch (operation.kind) {
    case FakeOperation::Kind::work:
      counts_.work += operation.pieces;
      seconds_ += operation.seconds;
      if (failing_work_ > 0 && counts_.work >= failing_work_) failed_ = true;
      set_device_nanoseconds(static_cast<std::uint64_t>(seconds_ * 1e9));
      if (!failed_ && !skips_work_) operation.work();
      break;
    case FakeOperation::Kind::record:
      operation.event->done = operation.version;
      operation.event->seconds = seconds_;
      break;
    case FakeOperation::Kind::wait:
    case FakeOperation::Kind::graph:  // its lanes run
      break;
  }
}

void FakeDevice::report_failure() const {
  if (failed_) throw cuda::Error("fake device: an illegal memory access was encountered");
}

}  // namespace epochbench::test
