// Ranks on CUDA: threads, each with a fake device and our kernels compiled for the CPU, which exchange through a fake NCCL.
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "src/backend/cuda/cuda_backend.h"
#include "src/communication/thread_ranks.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/cuda_fake_ranks.h"
#include "tests/support/made_workload.h"
#include "tests/support/rank_training.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using test::FakeRanks;
using test::MakeRank;
using test::Trained;
using test::Training;

constexpr const char* kBert = "bert-tiny:sequence=8,layers=1,units=16";
// A transformer that clips its gradients, of sizes that no number of ranks divides evenly.
constexpr const char* kTinyGpt2 = "gpt2:layers=1,units=36,heads=2,sequence=8,vocabulary=65";
constexpr double kManyBuckets = 0.02;  // MiB

// The GPUs of the ranks of a training, and one more for a single rank.
class Gpus {
 public:
  explicit Gpus(int ranks, std::uint64_t seed = 0, bool captures = true, double patience_seconds = 60,
                double seconds_of_a_call = FakeDevice::kSecondsOfWork)
      : captures_(captures), group_(std::make_shared<FakeRanks>(ranks, patience_seconds, seconds_of_a_call)) {
    for (int rank = 0; rank <= ranks; ++rank)
      devices_.push_back(std::make_shared<FakeDevice>(seed + static_cast<std::uint64_t>(rank)));
  }

  std::unique_ptr<Backend> rank(Communicator* communicator) const {
    const auto device = communicator ? devices_[static_cast<std::size_t>(communicator->rank())] : devices_.back();
    RanksMaker make_ranks;
    if (communicator)
      make_ranks = [=, group = group_]() -> CudaRanks { return {group->of(communicator->rank(), *device), communicator}; };
    return make_cuda_backend(
        device, [device] { return std::make_shared<FakeLibraries>(*device); }, {.graph_capture = captures_}, {}, make_ranks);
  }
  MakeRank maker() const {
    return [this](Communicator* communicator) { return rank(communicator); };
  }
  FakeDevice& device(int rank) const { return *devices_[static_cast<std::size_t>(rank)]; }
  const FakeRanks& group() const { return *group_; }

 private:
  bool captures_;
  std::vector<std::shared_ptr<FakeDevice>> devices_;
  std::shared_ptr<FakeRanks> group_;
};

class CudaRanks : public testing::TestWithParam<bool> {};  // whether steps are captured
INSTANTIATE_TEST_SUITE_P(Both, CudaRanks, testing::Bool(),
                         [](const auto& info) { return info.param ? "Captured" : "NodeByNode"; });

TEST_P(CudaRanks, TrainAsPartsOfABatchDo) {
  for (std::uint64_t seed : {1, 7}) {
    test::expect_same_as_parts({.model = "lenet5", .batch = 4, .data = "digits", .bucket_mib = kManyBuckets}, 2, 10,
                               Gpus(2, seed, GetParam()).maker());
    test::expect_same_as_parts({.model = kTinyGpt2, .batch = 6, .dropout = 0.3, .bucket_mib = kManyBuckets}, 3, 4,
                               Gpus(3, seed, GetParam()).maker());
  }
}

TEST_P(CudaRanks, MayRunTheirShareInParts) {
  test::expect_same_as_parts({.model = "lenet5", .batch = 8, .data = "digits", .accumulate = 2}, 2, 3,
                             Gpus(2, 3, GetParam()).maker());
}

TEST_P(CudaRanks, DivideTheOptimizerAndTrainAlike) {
  for (int ranks : {2, 3})
    test::expect_shards_train_alike({.model = "lenet5", .batch = 6, .data = "digits", .bucket_mib = kManyBuckets}, ranks, 3,
                                    Gpus(ranks, 5, GetParam()).maker());
  test::expect_shards_train_alike({.model = kTinyGpt2, .batch = 4, .dropout = 0.3}, 2, 4, Gpus(2, 6, GetParam()).maker(), 1e-6);
}

TEST(CudaRanksOfBert, TrainAsPartsOfABatchDo) {
  const Training training{.model = kBert, .batch = 4, .dropout = 0.3};
  test::expect_same_as_parts(training, 2, 3, Gpus(2).maker());
  test::expect_shards_train_alike(training, 2, 3, Gpus(2).maker());
}

// Nobody may read a copy in 16 bits of what another rank has updated.
TEST(CudaShards, TrainIn16Bits) {
  for (const char* model : {"mlp:width=48", "lenet5"})
    test::expect_shards_train_alike({.model = model, .batch = 6, .precision = Precision::bf16}, 3, 4, Gpus(3).maker());
}

TEST(CudaShards, AreForNoLossScale) {
  const Training training{.model = kTinyGpt2, .batch = 4, .precision = Precision::fp16, .ranks = 2, .shard = Shard::optimizer};
  EXPECT_THROW(test::Trainer(training, *Gpus(1).rank(nullptr)), GraphError);
}

TEST(CudaRanksScale, GradientsByTheSameFactor) {
  test::expect_same_as_parts({.model = "mlp:width=40", .batch = 4, .precision = Precision::fp16}, 2, 3, Gpus(2).maker());
}

// In steps, seconds and bytes, as a rank on a CPU.
TEST(CudaRanksTraffic, IsThatOfRanksOnACpuButForTheTime) {
  for (Shard shard : {Shard::none, Shard::optimizer}) {
    const Training training{.model = "lenet5", .batch = 4, .shard = shard, .bucket_mib = kManyBuckets};
    constexpr int kSteps = 3;
    const Traffic cpu =
        test::trained_by_ranks(training, 2, kSteps, [](Communicator* ranks) { return make_cpu_backend(1, {}, ranks); })[0]
            .traffic;
    const Traffic gpu = test::trained_by_ranks(training, 2, kSteps, Gpus(2).maker())[0].traffic;
    EXPECT_EQ(gpu.rounds, cpu.rounds);
    EXPECT_EQ(gpu.bus_bytes, cpu.bus_bytes);
  }
}

// The only bucket is complete with the last gradient, so that nothing is left to do meanwhile: the compute stream waits for the
// whole call, or not at all where its own wait comes late. The clock is the device's own.
TEST(CudaRanksTraffic, HasTheTimeThatTheComputeStreamWaits) {
  constexpr double kCall = 10, kOther = 0.1;
  constexpr int kSteps = 3;
  int waits = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Gpus gpus(2, seed, true, 60, kCall);
    const auto ranks = test::trained_by_ranks({.model = "mlp:width=40", .batch = 4}, 2, kSteps, gpus.maker());
    const double seconds = ranks[0].traffic.seconds;
    const int waited = static_cast<int>(seconds / kCall);
    EXPECT_LE(waited, kSteps);
    EXPECT_NEAR(seconds, waited * kCall, kOther);
    waits += waited;
  }
  EXPECT_GT(waits, 0);
}

TEST_P(CudaRanks, ExchangeOnOneStreamInOneOrder) {
  const Gpus gpus(2, 4, GetParam());
  test::trained_by_ranks({.model = kTinyGpt2, .batch = 4, .bucket_mib = kManyBuckets}, 2, 2, gpus.maker());
  EXPECT_EQ(gpus.group().failure(), "");
  EXPECT_GE(gpus.group().calls(0).size(), 3);
  EXPECT_EQ(gpus.group().calls(0), gpus.group().calls(1));
  for (int rank : {0, 1}) EXPECT_EQ(gpus.group().streams(rank).size(), 1);
}

// Rank 1 exchanges its first two buckets in the wrong order.
class Swapped final : public Backend {
 public:
  explicit Swapped(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  DeviceInfo device() const override { return backend_->device(); }
  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    return backend_->unsupported(graph, node);
  }
  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override {
    return backend_->workspace_bytes(graph, node);
  }
  std::size_t value_bytes(const Graph& graph, ValueId value) const override { return backend_->value_bytes(graph, value); }
  std::unique_ptr<Executable> compile(const Program& program) const override {
    Program swapped = program;
    std::vector<Node>& nodes = swapped.entries[static_cast<std::size_t>(Entry::update)]->graph.nodes;
    EXPECT_TRUE(is_collective(nodes[0].op) && is_collective(nodes[1].op));
    std::swap(nodes[0], nodes[1]);
    return backend_->compile(swapped);
  }

 private:
  std::unique_ptr<Backend> backend_;
};

TEST_P(CudaRanks, WaitForEachOtherForeverWhereOneHasAnotherOrder) {
  const Gpus gpus(2, 0, GetParam(), 0.3);
  test::trained_by_ranks({.model = "lenet5", .batch = 4, .bucket_mib = kManyBuckets}, 2, 1,
                         [&](Communicator* ranks) -> std::unique_ptr<Backend> {
                           auto backend = gpus.rank(ranks);
                           if (ranks->rank() == 1) return std::make_unique<Swapped>(std::move(backend));
                           return backend;
                         });
  EXPECT_THAT(gpus.group().failure(), testing::MatchesRegex("rank . waits in all_reduce .*; rank . waits in all_reduce .*"));
}

// Each wait of a step, left out once on one rank, shows as other numbers with some order of its streams. Before the step, or
// before it is captured for the slot that is used, it runs once to warm up, where every wait holds something back.
TEST_P(CudaRanks, NeedEveryWaitOfForkAndJoin) {
  const Training training{.model = "mlp:width=24", .batch = 4, .bucket_mib = 0.002};
  std::int64_t waits = 0;
  const auto parameters = [&](std::uint64_t seed, std::int64_t dropped) {
    const Gpus gpus(2, seed, GetParam(), 10);
    if (dropped > 0) gpus.device(1).drop_wait(dropped);
    const std::vector<Trained> ranks = test::trained_by_ranks(training, 2, 1, gpus.maker());
    const std::vector<std::string>& calls = gpus.group().calls(1);
    waits = static_cast<std::int64_t>(std::set<std::string>(calls.begin(), calls.end()).size()) + 1;  // buckets, and the join
    return ranks[1].parameters;
  };
  const std::vector<float> expected = parameters(0, 0);
  EXPECT_EQ(parameters(1, 0), expected);
  EXPECT_GE(waits, 4);
  for (std::int64_t wait = 1; wait <= waits; ++wait) {
    bool differs = false;
    for (std::uint64_t seed = 0; seed < 40 && !differs; ++seed) differs = parameters(seed, waits + wait) != expected;
    EXPECT_TRUE(differs) << "wait " << wait << " of " << waits;
  }
}

TEST(FakeRanks, RefuseACallThatIsCapturedBeforeItHasRun) {
  FakeDevice device;
  FakeRanks ranks(1);
  const auto nccl = ranks.of(0, device);
  std::byte* const memory = device.allocate(64);
  auto* const values = reinterpret_cast<float*>(memory);
  const cuda::Stream stream = device.make_stream();
  const auto capture = [&] {
    device.begin_capture(stream);
    nccl->all_reduce(values, 16, stream);
    device.destroy(device.end_capture(stream));
  };
  EXPECT_THROW(capture(), cuda::Error);
  device.destroy(device.end_capture(stream));
  nccl->all_reduce(values, 16, stream);
  device.synchronize(stream);
  capture();
  device.destroy(stream);
  device.free(memory);
}

TEST(CudaRanksBackend, NeedsACommunicator) {
  const Training training{.model = "lenet5", .batch = 4, .ranks = 2};
  EXPECT_THROW(test::Trainer(training, *Gpus(1).rank(nullptr)), std::logic_error);
}

}  // namespace
}  // namespace epochbench
