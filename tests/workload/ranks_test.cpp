// Ranks that share a batch, as threads: the same training as one rank that runs the batch in as many parts.
#include <set>

#include <gtest/gtest.h>

#include "support/made_workload.h"
#include "support/rank_training.h"

namespace epochbench {
namespace {

using test::Trained;
using test::Trainer;
using test::Training;

std::unique_ptr<Backend> on_cpu(Communicator* communicator) { return make_cpu_backend(1, {}, communicator); }

std::vector<Trained> trained_by_ranks(const Training& training, int ranks, int steps) {
  return test::trained_by_ranks(training, ranks, steps, on_cpu);
}
void expect_same_as_parts(const Training& training, int ranks, int steps) {
  test::expect_same_as_parts(training, ranks, steps, on_cpu);
}
void expect_shards_train_alike(const Training& training, int ranks, int steps, double tolerance = 0) {
  test::expect_shards_train_alike(training, ranks, steps, on_cpu, tolerance);
}

TEST(Ranks, TrainAsPartsOfABatchDo) {
  for (int ranks : {2, 4}) {
    expect_same_as_parts({.model = "bert-tiny:sequence=16,layers=1", .batch = 8, .dropout = 0.3}, ranks, 4);
    expect_same_as_parts({.model = "lenet5", .batch = 8, .data = "digits"}, ranks, 10);
    expect_same_as_parts({.model = "resnet20", .batch = 4}, ranks, 3);
  }
}

TEST(Ranks, MayRunTheirShareInParts) {
  expect_same_as_parts({.model = "lenet5", .batch = 8, .data = "digits", .accumulate = 2}, 2, 3);
}

// The order of the ranks is that of parts, and a factor of 1/2 is exact, so nothing is rounded otherwise.
TEST(Ranks, EqualPartsToTheBitWhereTheOrderIsTheSame) {
  const Training training{.model = "lenet5", .batch = 8, .data = "digits"};
  Training in_parts = training;
  in_parts.accumulate = 2;
  EXPECT_EQ(trained_by_ranks(training, 2, 3)[0].parameters, test::trained(in_parts, *make_cpu_backend(1), 3).parameters);
}

TEST(Shards, TrainToTheBitAsRanksThatDivideNothing) {
  for (int ranks : {2, 4}) {
    expect_shards_train_alike({.model = "bert-tiny:sequence=16,layers=1", .batch = 8, .dropout = 0.3}, ranks, 10);
    expect_shards_train_alike({.model = "lenet5", .batch = 8, .data = "digits"}, ranks, 10);
    expect_shards_train_alike({.model = "resnet20", .batch = 4}, ranks, 10);
  }
  expect_shards_train_alike({.model = "mlp:width=48", .batch = 6, .precision = Precision::bf16}, 3, 5);
}

TEST(Shards, TrainAsPartsOfABatchDo) {
  for (int ranks : {2, 4})
    for (const char* model : {"bert-tiny:sequence=16,layers=1", "lenet5", "resnet20"})
      expect_same_as_parts({.model = model, .batch = 8, .shard = Shard::optimizer}, ranks, 10);
}

// Squares of shares are added in another order.
TEST(Shards, ClipTheNormOfTheWholeGradient) {
  const char* gpt2 = "gpt2:layers=1,units=32,heads=2,sequence=8,vocabulary=64";
  const Training training{.model = gpt2, .batch = 8, .dropout = 0};
  const auto cpu = make_cpu_backend(1);
  const Program program = Trainer(training, *cpu).program();
  ASSERT_NE(std::ranges::find(program.entry(Entry::train)->graph.nodes, Op::clip_factor, &Node::op),
            program.entry(Entry::train)->graph.nodes.end());
  for (int ranks : {2, 4}) expect_shards_train_alike(training, ranks, 5, 1e-6);
}

TEST(Shards, KeepAveragesOfTheParametersWhole) {
  expect_shards_train_alike({.model = "lenet5", .batch = 8, .data = "digits", .ema = 0.9}, 2, 4);
}

TEST(Shards, TakeAShareOfTheMemoryOfTheOptimizer) {
  const auto cpu = make_cpu_backend(1);
  WorkloadSpec workload = test::made_workload("resnet50", 8);
  workload.ranks = 4;
  const ProgramMemory whole = memory(make_program(workload, *cpu, {Entry::train}));
  workload.shard = Shard::optimizer;
  const ProgramMemory shard = memory(make_program(workload, *cpu, {Entry::train}));
  EXPECT_NEAR(static_cast<double>(shard.optimizer) / static_cast<double>(whole.optimizer), 0.25, 0.005);
  EXPECT_EQ(shard.gradients, whole.gradients);
  EXPECT_EQ(shard.parameters, whole.parameters);
  EXPECT_EQ(shard.activations, whole.activations);
}

// Sums are exchanged in the buckets of the ranks that divide nothing; the loss is of all.
TEST(Shards, ExchangeEachGradientAndEachParameterOnce) {
  const auto cpu = make_cpu_backend(1);
  WorkloadSpec workload = test::made_workload("resnet50", 8);
  workload.ranks = 4;
  workload.shard = Shard::optimizer;
  const Program program = make_program(workload, *cpu, {Entry::train});
  const Graph& update = program.entry(Entry::update)->graph;
  std::vector<std::string> order;
  std::set<std::string> summed, gathered;
  for (const Node& node : update.nodes) {
    if (order.empty() || order.back() != name(node.op)) order.emplace_back(name(node.op));
    for (ValueId id : node.inputs)
      if (node.op != Op::all_reduce && is_collective(node.op)) {
        EXPECT_TRUE((node.op == Op::reduce_scatter ? summed : gathered).insert(update.value(id).name).second);
      }
    if (node.op == Op::all_reduce) {
      ASSERT_EQ(node.inputs.size(), 1);
      EXPECT_EQ(update.value(node.inputs[0]).name, "loss.sum");
    }
  }
  EXPECT_EQ(order, (std::vector<std::string>{"all_reduce", "reduce_scatter", "sgd", "all_gather", "increment"}));
  EXPECT_EQ(summed.size(), 161);
  EXPECT_EQ(gathered.size(), 161);
}

std::unique_ptr<Backend> on_cpu_with_thread(Communicator* communicator) {
  return make_cpu_backend(1, {.exchange_thread = true}, communicator);
}

// Each sum has the same order, and each node the same operands; a step joins before it needs what was exchanged.
TEST(Ranks, TrainToTheBitTheSameWhereAThreadExchanges) {
  const char* gpt2 = "gpt2:layers=1,units=32,heads=2,sequence=8,vocabulary=64";  // clips gradients
  for (const Training& training :
       {Training{.model = "lenet5", .batch = 8, .data = "digits", .accumulate = 2}, Training{.model = "resnet20", .batch = 4},
        Training{.model = gpt2, .batch = 8, .dropout = 0.1},
        Training{.model = gpt2, .batch = 8, .dropout = 0.1, .shard = Shard::optimizer},
        Training{.model = "lenet5", .batch = 8, .data = "digits", .shard = Shard::optimizer, .ema = 0.9}}) {
    SCOPED_TRACE(training.model);
    const std::vector<Trained> usual = trained_by_ranks(training, 2, 4);
    const std::vector<Trained> threaded = test::trained_by_ranks(training, 2, 4, on_cpu_with_thread);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(threaded[rank].losses, usual[rank].losses);
      EXPECT_EQ(threaded[rank].variables, usual[rank].variables);
      EXPECT_EQ(threaded[rank].statistics, usual[rank].statistics);
      EXPECT_EQ(threaded[rank].traffic.rounds, usual[rank].traffic.rounds);
      EXPECT_EQ(threaded[rank].traffic.bus_bytes, usual[rank].traffic.bus_bytes);
    }
  }
}

TEST(Ranks, HaveRunningStatisticsOfTheirOwn) {
  const std::vector<Trained> results = trained_by_ranks({.model = "resnet20", .batch = 4}, 2, 1);
  EXPECT_NE(results[0].statistics, results[1].statistics);
}

TEST(Ranks, SumInBucketsInTheOrderInWhichGradientsAreFinished) {
  const auto cpu = make_cpu_backend(1);
  WorkloadSpec workload = test::made_workload("resnet50", 4);
  workload.ranks = 2;
  const Program program = make_program(workload, *cpu, {Entry::train});
  std::vector<std::string> finished, summed;
  const Graph& part = program.entry(Entry::train)->graph;
  for (const Node& node : part.nodes)
    if (node.op == Op::accumulate) finished.push_back(part.value(node.inputs[1]).name);
  const Graph& update = program.entry(Entry::update)->graph;
  std::int64_t buckets = 0;
  for (const Node& node : update.nodes) {
    if (node.op != Op::all_reduce) break;
    ++buckets;
    EXPECT_EQ(flops(update, node), 0);
    double sums = 0;
    for (ValueId id : node.inputs) {
      summed.push_back(update.value(id).name);
      sums += static_cast<double>(update.desc(id).bytes());
    }
    EXPECT_EQ(bytes(update, node), 2 * sums);  // read and written
  }
  EXPECT_EQ(summed, finished);
  EXPECT_GT(buckets, 10);
  EXPECT_EQ(part.value(part.output("loss")).name, summed.front());
  // From the last layer to the first.
  EXPECT_LT(std::ranges::find(summed, "fc.weight.gradient.sum"), std::ranges::find(summed, "conv1.weight.gradient.sum"));
}

TEST(Ranks, AreTheSameWorkAsParts) {
  for (const char* model : {"lenet5", "resnet20"}) {
    WorkloadSpec ranks = test::made_workload(model, 8), parts = ranks;
    ranks.ranks = 2;
    parts.accumulate = 2;
    EXPECT_EQ(count(ranks).fingerprint, count(parts).fingerprint) << model;
  }
}

TEST(Ranks, NeedACommunicator) {
  const auto cpu = make_cpu_backend(1);
  WorkloadSpec workload = test::made_workload("lenet5", 8);
  workload.ranks = 2;
  EXPECT_THROW(cpu->compile(make_program(workload, *cpu, {Entry::train})), std::logic_error);
  EXPECT_THROW(make_program(workload, *make_reference_backend(), {Entry::train}), GraphError);
}

}  // namespace
}  // namespace epochbench
