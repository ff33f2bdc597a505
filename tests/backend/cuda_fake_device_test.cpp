// The fake device: which errors it catches and in which orders it runs work.
#include "tests/support/cuda_fake_device.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using test::FakeDevice;

TEST(FakeDeviceDeathTest, HostMayNotTouchDeviceMemory) {
  FakeDevice device;
  std::byte* memory = device.allocate(256);
  EXPECT_DEATH(*static_cast<volatile std::byte*>(memory) = std::byte{1}, "");
  device.free(memory);
}

TEST(FakeDeviceDeathTest, WorkMayNotGoPastABlock) {
  FakeDevice device;
  std::byte* memory = device.allocate(512);
  const cuda::Stream stream = device.make_stream();
  EXPECT_DEATH(
      {
        device.enqueue(stream, [=] { *static_cast<volatile std::byte*>(memory + 512) = std::byte{1}; });
        device.synchronize(stream);
      },
      "");
  EXPECT_DEATH(
      {
        device.enqueue(stream, [] {});
        device.destroy(stream);
      },
      "a stream with pending work is destroyed");
  EXPECT_DEATH(device.copy_to_device(memory, memory, 16, stream), "from device memory");
  std::vector<std::byte> host(16);
  EXPECT_DEATH(device.copy_to_device(host.data(), host.data(), 16, stream), "not within a block");
  device.destroy(stream);
  device.free(memory);
}

TEST(FakeDeviceDeathTest, ReportsResourcesThatWereNotReleased) {
  EXPECT_DEATH(
      {
        FakeDevice device;
        device.make_event();
      },
      "not released");
}

TEST(FakeDevice, StreamsWithoutAWaitRunInSomeOtherOrderForSomeSeed) {
  bool second_first = false, first_first = false;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    FakeDevice device(seed);
    const cuda::Stream first = device.make_stream(), second = device.make_stream();
    std::string order;
    device.enqueue(first, [&] { order += 'a'; });
    device.enqueue(second, [&] { order += 'b'; });
    device.synchronize(first);
    device.synchronize(second);
    (order == "ab" ? first_first : second_first) = true;
    device.destroy(first);
    device.destroy(second);
  }
  EXPECT_TRUE(first_first && second_first);
}

// CUDA programming guide, "Prohibited and Unhandled Operations": what a capture refuses also invalidates it.
TEST(FakeDevice, ACaptureTakesWhatIsEnqueuedAndRefusesTheRest) {
  FakeDevice device;
  const cuda::Stream stream = device.make_stream();
  const cuda::Event event = device.make_event();
  int runs = 0;
  const std::vector<std::function<void()>> refused = {[&] { device.allocate(16); }, [&] { device.synchronize(stream); },
                                                      [&] { device.done(event); },
                                                      [&] { device.wait(stream, event); }};  // for nothing that is part of it
  for (const auto& call : refused) {
    device.begin_capture(stream);
    EXPECT_THROW(call(), cuda::Error);
    EXPECT_THROW(device.end_capture(stream), cuda::Error);
  }
  device.begin_capture(stream);
  device.enqueue(stream, [&] { ++runs; });
  const cuda::GraphExec graph = device.end_capture(stream);
  device.synchronize(stream);
  EXPECT_EQ(runs, 0);
  for (int i = 0; i < 3; ++i) device.launch(graph, stream);
  device.synchronize(stream);
  EXPECT_EQ(runs, 3);
  device.destroy(graph);
  device.destroy(event);
  device.destroy(stream);
}

// CUDA programming guide, "Lazy Loading": the first run of a kernel loads it.
TEST(FakeDevice, TheFirstRunOfAPlanIsNotCaptured) {
  FakeDevice device;
  const cuda::Stream stream = device.make_stream();
  bool has_run = false;
  const auto capture = [&] {
    device.begin_capture(stream);
    device.enqueue_plan(
        has_run, stream, [] {}, 0);
  };
  EXPECT_THROW(capture(), cuda::Error);
  EXPECT_THROW(device.end_capture(stream), cuda::Error);
  device.enqueue_plan(
      has_run, stream, [] {}, 0);
  device.synchronize(stream);
  capture();
  device.destroy(device.end_capture(stream));
  device.destroy(stream);
}

// a, then c beside b, then d.
struct Forked {
  explicit Forked(std::uint64_t seed) : device(seed) {
    first = device.make_stream();
    second = device.make_stream();
    event = device.make_event();
  }
  void add(char letter, cuda::Stream stream) {
    device.enqueue(stream, [this, letter] { order += letter; });
  }
  void begin() {
    device.begin_capture(first);
    add('a', first);
    device.record(event, first);
    device.wait(second, event);
    add('b', first);
    add('c', second);
  }
  cuda::GraphExec end(bool joins) {
    device.record(event, second);
    if (joins) device.wait(first, event);
    add('d', first);
    return device.end_capture(first);
  }
  ~Forked() {
    device.destroy(event);
    device.destroy(first);
    device.destroy(second);
  }

  FakeDevice device;
  cuda::Stream first, second;
  cuda::Event event;
  std::string order;
};

TEST(FakeDevice, ACaptureTakesStreamsAlongThatWaitForItAndEachLaunchKeepsTheirWaits) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Forked forked(seed);
    forked.begin();
    const cuda::GraphExec graph = forked.end(true);
    forked.device.synchronize(forked.second);
    EXPECT_EQ(forked.order, "");
    for (int i = 0; i < 2; ++i) forked.device.launch(graph, forked.first);
    forked.device.synchronize(forked.first);
    ASSERT_EQ(forked.order.size(), 8);
    orders.insert(forked.order.substr(0, 4));
    orders.insert(forked.order.substr(4));
    forked.device.destroy(graph);
  }
  EXPECT_EQ(orders, (std::set<std::string>{"abcd", "acbd"}));
}

TEST(FakeDevice, ACaptureThatEndsBeforeAJoinIsRefused) {
  Forked forked(0);
  forked.begin();
  EXPECT_THROW(forked.end(false), cuda::Error);
}

}  // namespace
}  // namespace epochbench
