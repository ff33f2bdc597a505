// Ranks that share a batch, as threads, on any backend: what they have learned, beside one rank that runs the batch in as many
// parts, and beside ranks that divide the optimizer.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "epochbench/communicator.h"
#include "src/communication/thread_ranks.h"
#include "tests/support/parts_of_a_batch.h"
#include "tests/support/trainer.h"

namespace epochbench::test {

struct Trained {
  std::vector<double> losses;
  std::vector<float> parameters, optimizer, statistics;
  std::map<std::string, std::vector<float>> variables;  // of parameters and optimizer
  Traffic traffic;                                      // of a rank
};

// A backend for the thread that calls it: of a rank with its communicator, or of a single one with none.
using MakeRank = std::function<std::unique_ptr<Backend>(Communicator*)>;

inline Trained trained(const Training& training, const Backend& backend, int steps) {
  Trainer trainer(training, backend);
  Trained result{trainer.losses(steps), {}, {}, {}, {}, {}};
  for (const Variable& variable : trainer.program().variables)
    if (variable.role == VariableRole::parameter || variable.role == VariableRole::optimizer)
      result.variables[variable.name] = trainer.whole(variable);
  result.parameters = trainer.state(VariableRole::parameter);
  result.optimizer = trainer.state(VariableRole::optimizer);
  result.statistics = trainer.state(VariableRole::statistic);
  return result;
}

inline std::vector<Trained> trained_by_ranks(Training training, int ranks, int steps, const MakeRank& make) {
  ThreadRanks group(ranks);
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, training, rank]() mutable {
      training.rank = rank;
      training.ranks = ranks;
      Trained& result = results[static_cast<std::size_t>(rank)];
      result = trained(training, *make(&group[rank]), steps);
      result.traffic = group[rank].traffic();
    });
  threads.clear();
  return results;
}

inline void expect_same_as_parts(const Training& training, int ranks, int steps, const MakeRank& make) {
  SCOPED_TRACE(training.model + " on " + std::to_string(ranks) + " ranks");
  const std::vector<Trained> results = trained_by_ranks(training, ranks, steps, make);
  Training in_parts = training;
  in_parts.accumulate = training.accumulate * ranks;
  in_parts.shard = Shard::none;
  const Trained expected = trained(in_parts, *make(nullptr), steps);
  constexpr double kRounding = 1e-6;
  for (int step = 0; step < steps; ++step)
    EXPECT_NEAR(results[0].losses[static_cast<std::size_t>(step)] / expected.losses[static_cast<std::size_t>(step)], 1,
                kRounding);
  EXPECT_LE(relative_difference(results[0].parameters, expected.parameters), kRounding);
  for (const Trained& rank : results) {
    EXPECT_EQ(rank.losses, results[0].losses);
    EXPECT_EQ(rank.parameters, results[0].parameters);
    if (training.shard == Shard::none) {
      EXPECT_EQ(rank.optimizer, results[0].optimizer);
    }
  }
}

// The state of the optimizer that ranks have divided among themselves, as one rank would have it. `whole`: a variable of an
// undivided run.
inline std::vector<float> joined(const std::vector<Trained>& ranks, const std::string& name, const std::vector<float>& whole) {
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
inline bool is_noise(const std::string& variable) { return variable.find(".key.bias") != std::string::npos; }

// Each element has the same sums and the same update, so nothing may differ, but for the norm of gradients that are clipped.
inline void expect_shards_train_alike(Training training, int ranks, int steps, const MakeRank& make, double tolerance = 0) {
  SCOPED_TRACE(training.model + " on " + std::to_string(ranks) + " ranks");
  const Trained whole = trained_by_ranks(training, ranks, steps, make)[0];
  training.shard = Shard::optimizer;
  const std::vector<Trained> shards = trained_by_ranks(training, ranks, steps, make);
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
    } else if (norm(values) > 0) {
      EXPECT_LE(relative_difference(all, values), 10 * tolerance) << name;
    }
  }
}

}  // namespace epochbench::test
