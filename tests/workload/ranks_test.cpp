// Ranks that share a batch, as threads: the same training as one rank that runs the batch in as many parts.
#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "src/communication/thread_ranks.h"
#include "support/made_workload.h"
#include "support/parts_of_a_batch.h"

namespace epochbench {
namespace {

using test::Trainer;
using test::Training;

struct Trained {
  std::vector<double> losses;
  std::vector<float> parameters, optimizer, statistics;
};

Trained trained(const Training& training, const Backend& backend, int steps) {
  Trainer trainer(training, backend);
  Trained result{trainer.losses(steps), {}, {}, {}};
  result.parameters = trainer.state(VariableRole::parameter);
  result.optimizer = trainer.state(VariableRole::optimizer);
  result.statistics = trainer.state(VariableRole::statistic);
  return result;
}

std::vector<Trained> trained_by_ranks(Training training, int ranks, int steps) {
  ThreadRanks group(ranks);
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, training, rank]() mutable {
      training.rank = rank;
      training.ranks = ranks;
      results[static_cast<std::size_t>(rank)] = trained(training, *make_cpu_backend(1, {}, &group[rank]), steps);
    });
  threads.clear();
  return results;
}

void expect_same_as_parts(const Training& training, int ranks, int steps) {
  SCOPED_TRACE(training.model + " on " + std::to_string(ranks) + " ranks");
  const std::vector<Trained> results = trained_by_ranks(training, ranks, steps);
  Training in_parts = training;
  in_parts.accumulate = training.accumulate * ranks;
  const Trained expected = trained(in_parts, *make_cpu_backend(1), steps);
  constexpr double kRounding = 1e-6;
  for (int step = 0; step < steps; ++step)
    EXPECT_NEAR(results[0].losses[static_cast<std::size_t>(step)] / expected.losses[static_cast<std::size_t>(step)], 1,
                kRounding);
  EXPECT_LE(test::relative_difference(results[0].parameters, expected.parameters), kRounding);
  for (const Trained& rank : results) {
    EXPECT_EQ(rank.losses, results[0].losses);
    EXPECT_EQ(rank.parameters, results[0].parameters);
    EXPECT_EQ(rank.optimizer, results[0].optimizer);
  }
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
  EXPECT_EQ(trained_by_ranks(training, 2, 3)[0].parameters, trained(in_parts, *make_cpu_backend(1), 3).parameters);
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
