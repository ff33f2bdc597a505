// The CUDA executable on a fake device besides its steps: memory, variables, profiles, several executables, errors.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cuda_tiny_executable.h"

namespace epochbench {
namespace {

using test::Expected;
using test::FakeDevice;
using test::kRate;
using test::kSeeds;
using test::Tiny;
using test::tiny_compiler;
using test::tiny_program;

TEST(CudaExecutable, CountsTheDeviceMemoryItUses) {
  Tiny tiny;
  const std::int64_t taken = *tiny.executable->device_bytes();
  EXPECT_EQ(taken, tiny.device->bytes_in_use());
  std::byte* const other = tiny.device->allocate(1000);
  EXPECT_EQ(*tiny.executable->device_bytes(), taken + 1000) << "the driver counts for all processes";
  tiny.device->free(other);
}

TEST(CudaExecutable, MemoryIsZeroAfterCompiling) {
  const auto device = std::make_shared<FakeDevice>();
  const CudaExecutable executable(device, tiny_program(), tiny_compiler(*device));
  for (const char* name : {"w", "velocity", "step"}) {
    std::vector<float> value{7};
    executable.read(name, value);
    EXPECT_EQ(value[0], 0) << name;
  }
}

TEST(CudaExecutable, WritesAndReadsAfterStepsInFlight) {
  Tiny tiny;
  tiny.stage(0, 8, 3);
  tiny.executable->submit(0);
  tiny.executable->run(Entry::train);
  tiny.executable->write("w", std::vector<float>{100});  // the update of the step comes first
  tiny.executable->write_part("table", 1, std::vector<float>{-1, -2});
  tiny.executable->write("step", std::vector<float>{41});
  tiny.executable->run(Entry::train);
  std::vector<float> w(1), step(1), table(4);
  tiny.executable->read("w", w);
  tiny.executable->read("step", step);
  tiny.executable->read("table", table);
  EXPECT_EQ(w[0], 100 - kRate * 8);
  EXPECT_EQ(step[0], 42);
  EXPECT_THAT(table, testing::ElementsAre(0, -1, -2, 3000));
  EXPECT_EQ(tiny.losses(), (std::vector<double>{3008, 3108}));
}

TEST(CudaExecutable, RefusesUnknownVariablesAndOtherSizes) {
  Tiny tiny;
  std::vector<float> two(2);
  EXPECT_THROW(tiny.executable->write("unknown", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->read("unknown", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->write("w", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->read("w", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->write_part("table", 3, two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->write_part("table", -1, two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->run(Entry::forward), std::logic_error);
}

TEST(CudaExecutable, ProfilesEachNodeAndContinuesTraining) {
  Tiny tiny;
  Expected expected;
  train(tiny, expected, 3, 1);
  const std::vector<NodeTime> times = tiny.executable->profile(Entry::train, 3);
  std::vector<std::string> names;
  for (const NodeTime& time : times) names.push_back(time.name);
  EXPECT_THAT(names, testing::ElementsAre("row", "flat", "sum", "loss", "update", "count"));
  for (const NodeTime& time : times) {
    EXPECT_NEAR(time.seconds, time.op == Op::reshape ? 0 : FakeDevice::kSecondsOfWork, 1e-9) << time.name;
    EXPECT_EQ(time.implementation, time.op == Op::reshape ? "view" : "fake");
  }
  std::vector<float> w(1);
  tiny.executable->read("w", w);
  expected.w = w[0];  // the profile trains too
  train(tiny, expected, 70, 3);
  EXPECT_EQ(tiny.losses(), expected.losses);
}

TEST(CudaExecutable, TwoOnOneDeviceAreIndependent) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tiny first(seed);
    CudaExecutable second(first.device, tiny_program(), tiny_compiler(*first.device));
    second.write("learning_rate", std::vector<float>{2});
    Expected expected;
    double w = 0;
    std::vector<double> second_losses;
    for (int i = 0; i < 8; ++i) {
      first.stage(i % kInputSlots, static_cast<float>(i), 1);
      const float x = 3;
      std::memcpy(second.stage(0, 0).data(), &x, sizeof x);
      first.executable->submit(i % kInputSlots);
      second.submit(0);
      first.executable->run(Entry::train);
      second.run(Entry::train);
      expected.step(static_cast<float>(i), 1);
      second_losses.push_back(3 + w);
      w -= 2 * 3;
      first.executable->await(2);
    }
    first.executable->synchronize();
    second.synchronize();
    EXPECT_EQ(first.losses(), expected.losses);
    std::vector<StepRecord> records;
    second.drain(records);
    ASSERT_EQ(records.size(), second_losses.size());
    for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].loss, second_losses[i]);
  }
}

TEST(CudaExecutable, ReleasesEverythingWhicheverAllocationFails) {
  std::int64_t allocations = 0;
  {
    const auto device = std::make_shared<FakeDevice>();
    const CudaExecutable executable(device, tiny_program(), tiny_compiler(*device));
    allocations = device->counts().allocations;
  }
  ASSERT_GT(allocations, 100);  // two events per step of the ring, and the memory
  for (std::int64_t failing = 1; failing <= allocations; ++failing) {
    const auto device = std::make_shared<FakeDevice>();
    device->fail_allocation(failing);
    EXPECT_THROW(CudaExecutable(device, tiny_program(), tiny_compiler(*device)), OutOfMemory) << failing;
    EXPECT_EQ(device->held(), 0) << failing;
  }
}

TEST(CudaExecutable, ReportsTooLittleMemory) {
  const auto device = std::make_shared<FakeDevice>();
  device->set_memory_bytes(100);
  EXPECT_THROW(CudaExecutable(device, tiny_program(), tiny_compiler(*device)), OutOfMemory);
  EXPECT_EQ(device->held(), 0);
}

TEST(CudaExecutable, ReleasesEverythingWhenANodeFailsWithinACapture) {
  for (int good_calls : {0, 1, 2, 3}) {  // the first is the run outside a graph
    const auto device = std::make_shared<FakeDevice>();
    auto calls = std::make_shared<int>(0);
    const test::CompileTinyNode compile = test::tiny_node_compiler(*device);
    auto failing = [=](const Node& node, const CudaNodeContext& context) {
      CudaNode compiled = compile(node, context);
      if (node.op == Op::sgd)
        compiled.enqueue = [=, enqueue = compiled.enqueue](cuda::Stream stream) {
          if ((*calls)++ == good_calls) throw cuda::Error("launch failed");
          enqueue(stream);
        };
      return compiled;
    };
    try {
      CudaExecutable(device, tiny_program(), test::each_node(failing));
      ADD_FAILURE() << "no error";
    } catch (const cuda::Error& error) {
      EXPECT_STREQ(error.what(), "launch failed");
    }
    EXPECT_EQ(device->held(), 0) << good_calls;
  }
}

TEST(CudaExecutable, ReportsDeviceErrors) {
  Tiny tiny;
  tiny.stage(0, 1, 0);
  tiny.executable->submit(0);
  tiny.device->fail_work(4);
  tiny.executable->run(Entry::train);
  tiny.executable->run(Entry::train);
  EXPECT_THROW(tiny.executable->synchronize(), cuda::Error);
  EXPECT_THROW(tiny.executable->await(0), cuda::Error);
}

TEST(CudaExecutable, ReportsWhetherALibraryDrawsTheMasks) {
  for (bool library : {false, true}) {
    const auto device = std::make_shared<FakeDevice>();
    const test::CompileTinyNode compile = test::tiny_node_compiler(*device);
    const CudaExecutable executable(device, tiny_program(),
                                    test::each_node([&](const Node& node, const CudaNodeContext& context) {
                                      CudaNode compiled = compile(node, context);
                                      compiled.library_dropout = library && node.op == Op::embedding;
                                      return compiled;
                                    }));
    EXPECT_EQ(executable.library_dropout_masks(), library);
    EXPECT_TRUE(executable.asynchronous());
  }
}

}  // namespace
}  // namespace epochbench
