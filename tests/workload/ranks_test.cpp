// Ranks that share a batch, as threads: the same training as one rank that runs the batch in as many parts.
#include <array>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "epochbench/communicator.h"
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
  std::map<std::string, std::vector<float>> variables;  // of parameters and optimizer
};

Trained trained(const Training& training, const Backend& backend, int steps) {
  Trainer trainer(training, backend);
  Trained result{trainer.losses(steps), {}, {}, {}, {}};
  for (const Variable& variable : trainer.program().variables)
    if (variable.role == VariableRole::parameter || variable.role == VariableRole::optimizer)
      result.variables[variable.name] = trainer.whole(variable);
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
    if (training.shard == Shard::none) {
      EXPECT_EQ(rank.optimizer, results[0].optimizer);
    }
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

// The state of the optimizer that ranks have divided among themselves, as one rank would have it. `whole`: a variable of an
// undivided run.
std::vector<float> joined(const std::vector<Trained>& ranks, const std::string& name, const std::vector<float>& whole) {
  std::vector<float> all(whole.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<float>& own = ranks[rank].variables.at(name);
    if (own.size() == whole.size()) return own;  // not divided
    const auto [first, count] = share_of(whole.size(), static_cast<int>(rank), static_cast<int>(ranks.size()));
    std::copy_n(own.begin(), count, all.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return all;
}

// A bias of the keys moves all scores of a row alike, which softmax does not see: its gradient is rounding and nothing else,
// and AdamW makes whole steps of it.
bool is_noise(const std::string& variable) { return variable.find(".key.bias") != std::string::npos; }

// Each element has the same sums and the same update, so nothing may differ, but for the norm of gradients that are clipped.
void expect_shards_train_alike(Training training, int ranks, int steps, double tolerance = 0) {
  SCOPED_TRACE(training.model + " on " + std::to_string(ranks) + " ranks");
  const Trained whole = trained_by_ranks(training, ranks, steps)[0];
  training.shard = Shard::optimizer;
  const std::vector<Trained> shards = trained_by_ranks(training, ranks, steps);
  for (const Trained& rank : shards) {
    EXPECT_EQ(rank.losses, shards[0].losses);
    EXPECT_EQ(rank.parameters, shards[0].parameters);
    for (std::size_t step = 0; step < rank.losses.size(); ++step)
      EXPECT_NEAR(rank.losses[step] / whole.losses[step], 1, tolerance) << step;
  }
  ASSERT_EQ(shards[0].variables.size(), whole.variables.size());
  for (const auto& [name, values] : whole.variables) {
    if (tolerance > 0 && is_noise(name)) continue;
    const std::vector<float> all = joined(shards, name, values);
    if (tolerance == 0) {
      EXPECT_EQ(all, values) << name;
    } else if (test::norm(values) > 0) {
      EXPECT_LE(test::relative_difference(all, values), 10 * tolerance) << name;
    }
  }
}

TEST(Shards, TrainToTheBitAsRanksThatDivideNothing) {
  for (int ranks : {2, 4}) {
    expect_shards_train_alike({.model = "bert-tiny:sequence=16,layers=1", .batch = 8, .dropout = 0.3}, ranks, 10);
    expect_shards_train_alike({.model = "lenet5", .batch = 8, .data = "digits"}, ranks, 10);
    expect_shards_train_alike({.model = "resnet20", .batch = 4}, ranks, 10);
  }
  if (make_cpu_backend(1)->device().bf16_isa.empty()) return;
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
