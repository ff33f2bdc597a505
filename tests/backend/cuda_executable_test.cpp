// The CUDA executable on a made-up device, with a program so small that the host knows every loss.
#include "src/backend/cuda/cuda_executable.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/graph/passes.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench {
namespace {

using test::FakeDevice;

constexpr std::uint64_t kSeeds = 12;
constexpr int kCopyStream = 1;  // of an executable: made second
constexpr float kRate = 0.5f;
constexpr float kTable[] = {0, 10, 200, 3000};

// train: loss = x + table[id] + w, then w <- w - rate x and a count; evaluate: the same loss, and w as `correct`.
Graph tiny_graph(Entry entry) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{1}, DType::f32}), id = graph.add_input("id", {{1}, DType::i32});
  auto variable = [&](const char* name, TensorDesc desc, VariableRole role) {
    return graph.add_variable({name, desc, role, {}});
  };
  const ValueId table = variable("table", {{4, 1}, DType::f32}, VariableRole::parameter);
  const ValueId w = variable("w", {{1}, DType::f32}, VariableRole::parameter);
  const ValueId row = graph.add_node(Op::embedding, {}, {table, id}, "row")[0];
  const ValueId flat = graph.add_node(Op::reshape, ReshapeAttributes{{1}}, {row}, "flat")[0];
  const ValueId sum = graph.add_node(Op::add, {}, {x, flat}, "sum")[0];
  graph.add_output("loss", graph.add_node(Op::add, {}, {sum, w}, "loss")[0]);
  if (entry == Entry::train) {
    const ValueId rate = variable("learning_rate", {{1}, DType::f32}, VariableRole::control);
    const ValueId velocity = variable("velocity", {{1}, DType::f32}, VariableRole::optimizer);
    graph.add_node(Op::sgd, SgdAttributes{}, {rate, w, x, velocity}, "update");
    graph.add_node(Op::increment, {}, {variable("step", {{1}, DType::i32}, VariableRole::control)}, "count");
  } else {
    graph.add_output("correct", w);
  }
  return graph;
}

Program tiny_program() {
  Program program;
  for (Entry entry : {Entry::train, Entry::evaluate}) {
    Graph graph = tiny_graph(entry);
    for (const Variable& variable : graph.variables)
      if (std::none_of(program.variables.begin(), program.variables.end(),
                       [&](const Variable& known) { return known.name == variable.name; }))
        program.variables.push_back(variable);
    MemoryPlan plan = plan_memory(graph, [](const Graph&, const Node&) { return std::size_t{64}; });
    program.entries[static_cast<std::size_t>(entry)] = EntryGraph{std::move(graph), std::move(plan)};
  }
  return program;
}

// What the ops of the tiny program do, enqueued on the device. Tuning spoils whatever it may.
CudaNodeCompiler tiny_compiler(FakeDevice& device) {
  return [&device](const Graph&, const Node& node, const CudaNodeContext& context) -> CudaNode {
    const ValueMemory& v = context.values;
    const std::vector<ValueId> in = node.inputs, out = node.outputs;
    std::function<void(cuda::Stream)> enqueue;
    switch (node.op) {
      case Op::embedding:
        enqueue = [=, &v, &device](cuda::Stream stream) {
          device.enqueue(stream, [y = v.get<float>(out[0]), table = v.get<float>(in[0]), id = v.get<std::int32_t>(in[1])] {
            *y = table[*id];
          });
        };
        break;
      case Op::reshape:
        return {{}, "view"};
      case Op::add:
        enqueue = [=, &v, &device](cuda::Stream stream) {
          device.enqueue(stream,
                         [y = v.get<float>(out[0]), a = v.get<float>(in[0]), b = v.get<float>(in[1])] { *y = *a + *b; });
        };
        break;
      case Op::sgd: {
        // By way of a table, as the multi-tensor kernels do.
        float* const weights[] = {v.get<float>(in[1])};
        enqueue = [=, &v, &device, table = context.tables.upload(std::span<float* const>(weights))](cuda::Stream stream) {
          device.enqueue(stream, [=, rate = v.get<float>(in[0]), g = v.get<float>(in[2])] { *table[0] -= *rate * *g; });
        };
        break;
      }
      case Op::increment:
        enqueue = [=, &v, &device](cuda::Stream stream) {
          device.enqueue(stream, [counter = v.get<std::int32_t>(out[0])] { ++*counter; });
        };
        break;
      default:
        throw cuda::Error("not in the tiny program");
    }
    for (ValueId id : out)
      if (void* const memory = v.get(id))
        device.enqueue(context.stream, [memory] { std::memset(memory, 0xff, sizeof(float)); });
    device.enqueue(context.stream, [workspace = context.workspace] { std::memset(workspace, 0xff, 64); });
    return {enqueue, "made up"};
  };
}

struct Tiny {
  explicit Tiny(std::uint64_t seed = 0, bool captures = true)
      : device(std::make_shared<FakeDevice>(seed)),
        executable(std::make_unique<CudaExecutable>(device, tiny_program(), tiny_compiler(*device), captures)) {
    executable->write("table", kTable);
    executable->write("learning_rate", std::vector<float>{kRate});
  }

  void stage(InputSlot slot, float x, std::int32_t id) {
    std::memcpy(executable->stage(slot, 0).data(), &x, sizeof x);
    std::memcpy(executable->stage(slot, 1).data(), &id, sizeof id);
  }
  std::vector<double> losses() {
    std::vector<StepRecord> records;
    executable->drain(records);
    std::vector<double> values;
    for (const StepRecord& record : records) values.push_back(record.loss);
    return values;
  }

  std::shared_ptr<FakeDevice> device;
  std::unique_ptr<CudaExecutable> executable;
};

// The tiny program on the host.
struct Expected {
  float w = 0;
  std::vector<double> losses;

  void step(float x, std::int32_t id, bool train = true) {
    losses.push_back(x + kTable[id] + w);
    if (train) w -= kRate * x;
  }
};

// Runs steps, with up to `running` of them unfinished, each on a new batch, as from a loader.
void train(Tiny& tiny, Expected& expected, int steps, int running) {
  for (int i = 0; i < steps; ++i) {
    const InputSlot slot = i % kInputSlots;
    const auto x = static_cast<float>(1 << (i % 10));
    tiny.stage(slot, x, i % 4);
    tiny.executable->submit(slot);
    tiny.executable->run(Entry::train);
    expected.step(x, i % 4);
    tiny.executable->await(running);
  }
  tiny.executable->synchronize();
}

TEST(CudaExecutable, LossesAreThoseOfTheHostInEveryOrder) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    for (int running : {0, 1, kInputSlots - 1}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", under way " + std::to_string(running));
      Tiny tiny(seed);
      Expected expected;
      train(tiny, expected, 25, running);
      EXPECT_EQ(tiny.losses(), expected.losses);
      std::vector<float> w(1), step(1);
      tiny.executable->read("w", w);
      tiny.executable->read("step", step);
      EXPECT_EQ(w[0], expected.w);
      EXPECT_EQ(step[0], 25);
    }
}

TEST(CudaExecutable, EvaluationSharesTheWeightsAndTheRing) {
  Tiny tiny;
  Expected expected;
  for (int i = 0; i < 6; ++i) {
    tiny.stage(i % kInputSlots, static_cast<float>(i), 1);
    tiny.executable->submit(i % kInputSlots);
    tiny.executable->run(i % 3 == 2 ? Entry::evaluate : Entry::train);
    expected.step(static_cast<float>(i), 1, i % 3 != 2);
    tiny.executable->await(kInputSlots - 1);
  }
  tiny.executable->synchronize();
  std::vector<StepRecord> records;
  tiny.executable->drain(records);
  ASSERT_EQ(records.size(), 6u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].entry, i % 3 == 2 ? Entry::evaluate : Entry::train);
    EXPECT_EQ(records[i].loss, expected.losses[i]);
  }
  EXPECT_EQ(records[2].correct, -0.5 * (0 + 1));
  EXPECT_EQ(records[1].correct, 0);
}

// A batch that waits for its slot, one that a step waits for, and steps in flight.
std::vector<double> losses_with_slots_taken_early(std::uint64_t seed, std::int64_t dropped_wait,
                                                  std::int64_t* waits = nullptr) {
  Tiny tiny(seed);
  const std::int64_t before = tiny.device->counts().binding_waits;
  if (dropped_wait > 0) tiny.device->drop_wait(dropped_wait);
  for (int i = 0; i < 6; ++i) {
    tiny.stage(i % 2, static_cast<float>(1 << i), i % 4);
    tiny.executable->submit(i % 2);
    tiny.executable->run(Entry::train);
    if (i % 2 == 0) continue;
    tiny.executable->await(1);
    tiny.device->run_stream(kCopyStream);  // so that the host's side of both slots is free
  }
  tiny.executable->synchronize();
  if (waits) *waits = tiny.device->counts().binding_waits - before;
  return tiny.losses();
}

TEST(CudaExecutable, EveryWaitBetweenStreamsIsNeeded) {
  Expected expected;
  for (int i = 0; i < 6; ++i) expected.step(static_cast<float>(1 << i), i % 4);
  std::int64_t waits = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::int64_t of_seed = 0;
    EXPECT_EQ(losses_with_slots_taken_early(seed, 0, &of_seed), expected.losses) << "seed " << seed;
    waits = std::max(waits, of_seed);
  }
  ASSERT_GE(waits, 6);
  for (std::int64_t dropped = 1; dropped <= waits; ++dropped) {
    bool found = false;
    for (std::uint64_t seed = 0; seed < 20 * kSeeds && !found; ++seed)
      found = losses_with_slots_taken_early(seed, dropped) != expected.losses;
    EXPECT_TRUE(found) << "wait " << dropped << " of " << waits << " is missing and nothing shows";
  }
}

TEST(CudaExecutable, ASlotIsOverwrittenOnlyWhenItsStepIsDone) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tiny tiny(seed);
    Expected expected;
    for (int i = 0; i < 5; ++i) {  // all in one slot; the host's side is free once its copy has run
      tiny.stage(2, static_cast<float>(i + 1), i % 4);
      expected.step(static_cast<float>(i + 1), i % 4);
      tiny.executable->submit(2);
      tiny.executable->run(Entry::train);
      while (tiny.device->busy(kCopyStream)) tiny.device->run_some();
    }
    tiny.executable->synchronize();
    EXPECT_EQ(tiny.losses(), expected.losses) << "seed " << seed;
  }
}

TEST(CudaExecutable, AStepAllocatesNothingAndMakesTheHostWaitForNothing) {
  Tiny tiny;
  tiny.stage(0, 1, 0);
  const FakeDevice::Counts before = tiny.device->counts();
  const std::int64_t held = tiny.device->held();
  for (int i = 0; i < CudaExecutable::kStepsUnderWay; ++i) {
    tiny.executable->submit(0);
    tiny.executable->run(i % 2 == 0 ? Entry::train : Entry::evaluate);
  }
  const FakeDevice::Counts& after = tiny.device->counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.waits_of_host, before.waits_of_host);
  EXPECT_EQ(after.graph_launches, before.graph_launches + CudaExecutable::kStepsUnderWay);
  EXPECT_EQ(after.copies, before.copies + CudaExecutable::kStepsUnderWay);
  EXPECT_EQ(tiny.device->held(), held);
  EXPECT_EQ(tiny.executable->under_way(), CudaExecutable::kStepsUnderWay - static_cast<int>(tiny.losses().size()));
}

TEST(CudaExecutable, WithoutCaptureStepsAreEnqueuedAndGiveTheSameLosses) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tiny tiny(seed, false);
    Expected expected;
    const FakeDevice::Counts before = tiny.device->counts();
    const std::int64_t held = tiny.device->held();
    train(tiny, expected, 25, 2);
    EXPECT_EQ(tiny.losses(), expected.losses) << "seed " << seed;
    tiny.executable->profile(Entry::train, 3);
    EXPECT_EQ(tiny.device->counts().graph_launches, 0);
    EXPECT_EQ(tiny.device->counts().allocations - before.allocations, 7) << "the profile's events alone";
    EXPECT_EQ(tiny.device->held(), held);
  }
}

TEST(CudaExecutable, MoreStepsThanTheRingHoldsWaitForTheOldest) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Tiny tiny(seed);
    Expected expected;
    tiny.stage(0, 1, 2);
    tiny.executable->submit(0);
    for (int i = 0; i < 5 * CudaExecutable::kStepsUnderWay; ++i) {
      tiny.executable->run(Entry::train);
      expected.step(1, 2);
    }
    EXPECT_LE(tiny.executable->under_way(), CudaExecutable::kStepsUnderWay);
    tiny.executable->synchronize();
    EXPECT_EQ(tiny.executable->under_way(), 0);
    EXPECT_EQ(tiny.losses(), expected.losses) << "seed " << seed;
  }
}

TEST(CudaExecutable, ASlotThatIsSubmittedAgainUnchangedDoesNotTravel) {
  Tiny tiny;
  Expected expected;
  for (InputSlot slot : {0, 1}) {
    tiny.stage(slot, static_cast<float>(slot + 1), slot);
    tiny.executable->submit(slot);
  }
  const std::int64_t copies = tiny.device->counts().copies;
  for (int i = 0; i < 8; ++i) {
    tiny.executable->resubmit(i % 2);
    tiny.executable->run(Entry::train);
    expected.step(static_cast<float>(i % 2 + 1), i % 2);
  }
  tiny.executable->synchronize();
  EXPECT_EQ(tiny.device->counts().copies, copies);
  EXPECT_EQ(tiny.losses(), expected.losses);
}

TEST(CudaExecutable, StepsAreTimedFromTheEndOfTheStepBeforeOrFromRunWhereTheDeviceWasIdle) {
  Tiny tiny;
  tiny.stage(0, 1, 0);
  tiny.executable->submit(0);
  tiny.device->run_stream(kCopyStream);
  constexpr double kPause = 0.25, kStep = 6 * FakeDevice::kSecondsOfWork;  // row, sum, loss, update, count and the scalars
  const double begin = tiny.device->seconds();
  for (double pause : {0.0, kPause}) {
    tiny.device->pass(pause);  // idle, and synchronized
    tiny.executable->run(Entry::train);
    tiny.executable->run(Entry::train);
    tiny.executable->await(0);
    tiny.device->pass(kPause);  // a gap
    tiny.executable->run(Entry::train);
    tiny.executable->synchronize();
  }
  std::vector<StepRecord> records;
  tiny.executable->drain(records);
  ASSERT_EQ(records.size(), 6u);
  for (std::size_t i : {0u, 1u, 3u, 4u}) EXPECT_NEAR(records[i].device_seconds, kStep, 1e-9) << i;
  for (std::size_t i : {2u, 5u}) EXPECT_NEAR(records[i].device_seconds, kPause + kStep, 1e-9) << i;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(records[i].idle_seconds, i % 3 == 2 ? kPause : 0, 1e-9) << i;  // a gap; before the first it was not asked
    EXPECT_EQ(records[i].arrival_seconds, 0) << i;  // the batch was there, or was not submitted again
  }
  double sum = kPause;  // the idle one
  for (const StepRecord& record : records) sum += record.device_seconds;
  EXPECT_NEAR(sum, tiny.device->seconds() - begin, 1e-9);
}

TEST(CudaExecutable, AStepThatWaitsForItsBatchSaysHowLong) {
  constexpr double kCopy = FakeDevice::kSecondsOfWork;
  double arrivals = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {  // the copy may come before the step is begun, or after
    Tiny tiny(seed);
    tiny.stage(0, 1, 0);
    tiny.executable->submit(0);
    tiny.executable->run(Entry::train);
    tiny.executable->synchronize();
    std::vector<StepRecord> records;
    tiny.executable->drain(records);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].idle_seconds, 0);
    if (records[0].arrival_seconds > 0) {
      EXPECT_NEAR(records[0].arrival_seconds, kCopy, 1e-9);
    }
    EXPECT_NEAR(records[0].device_seconds, 6 * FakeDevice::kSecondsOfWork + records[0].arrival_seconds, 1e-9);
    arrivals += records[0].arrival_seconds;
  }
  EXPECT_GT(arrivals, 0);
}

TEST(CudaExecutable, CountsTheMemoryOfTheDeviceThatItTook) {
  Tiny tiny;
  const std::int64_t taken = *tiny.executable->device_bytes();
  EXPECT_EQ(taken, tiny.device->bytes_in_use());
  std::byte* const other = tiny.device->allocate(1000);
  EXPECT_EQ(*tiny.executable->device_bytes(), taken + 1000) << "the driver counts for all processes";
  tiny.device->free(other);
}

TEST(CudaExecutable, MemoryIsZeroAfterCompilingWhateverTuningLeft) {
  const auto device = std::make_shared<FakeDevice>();
  const CudaExecutable executable(device, tiny_program(), tiny_compiler(*device));
  for (const char* name : {"w", "velocity", "step"}) {
    std::vector<float> value{7};
    executable.read(name, value);
    EXPECT_EQ(value[0], 0) << name;
  }
}

TEST(CudaExecutable, WritesAndReadsPartsAndIntegersBehindStepsUnderWay) {
  Tiny tiny;
  tiny.stage(0, 8, 3);
  tiny.executable->submit(0);
  tiny.executable->run(Entry::train);
  tiny.executable->write("w", std::vector<float>{100});  // the step's update comes first
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
  EXPECT_THROW(tiny.executable->write("nobody", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->read("nobody", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->write("w", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->read("w", two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->write_part("table", 3, two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->write_part("table", -1, two), std::invalid_argument);
  EXPECT_THROW(tiny.executable->run(Entry::forward), std::logic_error);
}

TEST(CudaExecutable, ProfilesEachNodeAndGoesOnTraining) {
  Tiny tiny;
  Expected expected;
  train(tiny, expected, 3, 1);
  const std::vector<NodeTime> times = tiny.executable->profile(Entry::train, 3);
  std::vector<std::string> names;
  for (const NodeTime& time : times) names.push_back(time.name);
  EXPECT_THAT(names, testing::ElementsAre("row", "flat", "sum", "loss", "update", "count"));
  for (const NodeTime& time : times) {
    EXPECT_NEAR(time.seconds, time.op == Op::reshape ? 0 : FakeDevice::kSecondsOfWork, 1e-9) << time.name;
    EXPECT_EQ(time.implementation, time.op == Op::reshape ? "view" : "made up");
  }
  std::vector<float> w(1);
  tiny.executable->read("w", w);
  expected.w = w[0];  // the profile trains too
  train(tiny, expected, 70, 3);
  EXPECT_EQ(tiny.losses(), expected.losses);
}

TEST(CudaExecutable, TwoOnOneDeviceDoNotMeet) {
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

TEST(CudaExecutable, GivesBackEverythingWhicheverAllocationFails) {
  std::int64_t allocations = 0;
  {
    const auto device = std::make_shared<FakeDevice>();
    const CudaExecutable executable(device, tiny_program(), tiny_compiler(*device));
    allocations = device->counts().allocations;
  }
  ASSERT_GT(allocations, 100);  // two events a step of the ring, and the memory
  for (std::int64_t failing = 1; failing <= allocations; ++failing) {
    const auto device = std::make_shared<FakeDevice>();
    device->fail_allocation(failing);
    EXPECT_THROW(CudaExecutable(device, tiny_program(), tiny_compiler(*device)), OutOfMemory) << failing;
    EXPECT_EQ(device->held(), 0) << failing;
  }
}

TEST(CudaExecutable, TellsOfTooLittleMemory) {
  const auto device = std::make_shared<FakeDevice>();
  device->set_memory_bytes(100);
  EXPECT_THROW(CudaExecutable(device, tiny_program(), tiny_compiler(*device)), OutOfMemory);
  EXPECT_EQ(device->held(), 0);
}

TEST(CudaExecutable, GivesBackEverythingWhereANodeFailsWithinACapture) {
  for (int good_calls : {0, 1, 2, 3}) {  // the first is the run outside of a graph
    const auto device = std::make_shared<FakeDevice>();
    auto calls = std::make_shared<int>(0);
    const CudaNodeCompiler compile = tiny_compiler(*device);
    auto failing = [=](const Graph& graph, const Node& node, const CudaNodeContext& context) {
      CudaNode compiled = compile(graph, node, context);
      if (node.op == Op::sgd)
        compiled.enqueue = [=, enqueue = compiled.enqueue](cuda::Stream stream) {
          if ((*calls)++ == good_calls) throw cuda::Error("a launch is refused");
          enqueue(stream);
        };
      return compiled;
    };
    try {
      CudaExecutable(device, tiny_program(), failing);
      ADD_FAILURE() << "no error";
    } catch (const cuda::Error& error) {
      EXPECT_STREQ(error.what(), "a launch is refused");
    }
    EXPECT_EQ(device->held(), 0) << good_calls;
  }
}

TEST(CudaExecutable, TellsWhatTheDeviceMet) {
  Tiny tiny;
  tiny.stage(0, 1, 0);
  tiny.executable->submit(0);
  tiny.device->fail_work(4);
  tiny.executable->run(Entry::train);
  tiny.executable->run(Entry::train);
  EXPECT_THROW(tiny.executable->synchronize(), cuda::Error);
  EXPECT_THROW(tiny.executable->await(0), cuda::Error);
}

TEST(CudaExecutable, SaysWhetherALibraryDrawsTheMasks) {
  for (bool library : {false, true}) {
    const auto device = std::make_shared<FakeDevice>();
    const CudaNodeCompiler compile = tiny_compiler(*device);
    const CudaExecutable executable(device, tiny_program(),
                                    [&](const Graph& graph, const Node& node, const CudaNodeContext& context) {
                                      CudaNode compiled = compile(graph, node, context);
                                      compiled.library_dropout = library && node.op == Op::embedding;
                                      return compiled;
                                    });
    EXPECT_EQ(executable.library_dropout_masks(), library);
    EXPECT_TRUE(executable.asynchronous());
  }
}

}  // namespace
}  // namespace epochbench
