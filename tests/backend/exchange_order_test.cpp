// When what ranks exchange begins, and has to be there.
#include "src/backend/host/exchange_order.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/made_workload.h"

namespace epochbench {
namespace {

struct Step {
  Program program;
  std::vector<Turn> order;
};

Step step_of(const std::string& model, Shard shard = Shard::none, double ema = 0) {
  WorkloadSpec workload = test::made_workload(model, 8);
  workload.ranks = 2;
  workload.shard = shard;
  workload.bucket_mib = 0.05;
  workload.optimizer.ema = ema;
  Step step{make_program(workload, *make_cpu_backend(1), {Entry::train}), {}};
  step.order = exchange_order(*step.program.entry(Entry::train), *step.program.entry(Entry::update));
  return step;
}

const Node& node_of(const Step& step, const Turn& turn) { return step.program.entry(turn.entry)->graph.nodes[turn.node]; }

std::set<std::string> exchanged(const Step& step, const Turn& turn) {
  std::set<std::string> names;
  for (ValueId id : node_of(step, turn).inputs) names.insert(step.program.entry(turn.entry)->graph.value(id).name);
  return names;
}

// Every node once, each graph's in its order, and nothing is under way at the end.
void expect_whole(const Step& step) {
  std::vector<std::size_t> part, computing, exchanging;
  bool under_way = false;
  for (const Turn& turn : step.order) {
    if (turn.kind == Turn::Kind::join) {
      EXPECT_TRUE(under_way);
      under_way = false;
      continue;
    }
    under_way = under_way || turn.kind == Turn::Kind::begin;
    EXPECT_EQ(turn.kind == Turn::Kind::begin, is_collective(node_of(step, turn).op));
    (turn.entry == Entry::train ? part : turn.kind == Turn::Kind::begin ? exchanging : computing).push_back(turn.node);
  }
  EXPECT_FALSE(under_way);
  for (const auto* nodes : {&part, &computing, &exchanging}) EXPECT_TRUE(std::ranges::is_sorted(*nodes));
  EXPECT_EQ(part.size(), step.program.entry(Entry::train)->graph.nodes.size());
  EXPECT_EQ(computing.size() + exchanging.size(), step.program.entry(Entry::update)->graph.nodes.size());
}

TEST(ExchangeOrder, BeginsABucketWhenItsLastGradientIsFinishedAndJoinsBeforeTheOptimizer) {
  const Step step = step_of("lenet5");
  expect_whole(step);
  int begun = 0, joins = 0, after_begin = 0;
  for (std::size_t i = 0; i < step.order.size(); ++i) {
    const Turn& turn = step.order[i];
    if (turn.kind == Turn::Kind::begin) {
      ++begun;
      ASSERT_EQ(step.order[i - 1].kind, Turn::Kind::run);
      const Node& before = node_of(step, step.order[i - 1]);
      ASSERT_EQ(before.op, Op::accumulate);
      const Graph& part = step.program.entry(Entry::train)->graph;
      EXPECT_TRUE(exchanged(step, turn).contains(part.value(before.inputs[1]).name));
    } else if (turn.kind == Turn::Kind::join) {
      ++joins;
      EXPECT_EQ(node_of(step, step.order[i + 1]).op, Op::adamw);
    } else if (begun > 0 && joins == 0) {
      ++after_begin;
    }
  }
  EXPECT_GE(begun, 2);
  EXPECT_EQ(joins, 1);
  EXPECT_GT(after_begin, 5);  // which the first bucket has to overlap with
}

TEST(ExchangeOrder, GathersParametersBehindTheOptimizer) {
  const Step step = step_of("lenet5", Shard::optimizer, 0.9);
  expect_whole(step);
  std::string order;
  for (const Turn& turn : step.order)
    if (turn.kind == Turn::Kind::join)
      order += "join ";
    else if (turn.entry == Entry::update)
      order += std::string(name(node_of(step, turn).op)) + " ";
  // The loss travels with the first bucket; the average of the weights reads what was gathered, and the counter does not.
  EXPECT_TRUE(order.starts_with("all_reduce reduce_scatter ")) << order;
  const std::size_t optimizer = order.find("join adamw all_gather ");
  ASSERT_NE(optimizer, std::string::npos) << order;
  EXPECT_NE(order.find("join sgd ", optimizer + 1), std::string::npos) << order;
  EXPECT_EQ(order.find("join", order.find("join sgd ", optimizer + 1) + 1), std::string::npos) << order;
}

}  // namespace
}  // namespace epochbench
