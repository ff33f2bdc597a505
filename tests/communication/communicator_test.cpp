// Ranks as threads: what they exchange, the order of their sums, and a rank that does not come.
#include <thread>

#include <gmock/gmock.h>

#include "src/base/clock.h"
#include "src/communication/bus_rate.h"
#include "src/communication/thread_ranks.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

void on_all_ranks(int ranks, const std::function<void(Communicator&)>& run) {
  ThreadRanks group(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { run(group[rank]); });
}

// Their sum depends on the order.
std::vector<float> values_of(int rank, std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = (rank % 2 == 0 ? 1e8F : -1e8F) + static_cast<float>(rank) * 3.7F + static_cast<float>(i);
  return values;
}

TEST(Communicator, SumsInTheOrderOfTheRanks) {
  for (int ranks : {1, 2, 3, 4})
    for (std::size_t n : {1, 15, 33, 1000, 5000}) {
      std::vector<float> expected = values_of(0, n);
      for (int rank = 1; rank < ranks; ++rank) {
        const std::vector<float> part = values_of(rank, n);
        for (std::size_t i = 0; i < n; ++i) expected[i] += part[i];
      }
      on_all_ranks(ranks, [&](Communicator& communicator) {
        for (int repetition = 0; repetition < 3; ++repetition) {
          std::vector<float> values = values_of(communicator.rank(), n);
          communicator.all_reduce(values);
          EXPECT_EQ(values, expected) << ranks << " ranks, " << n << " values";
        }
      });
    }
}

TEST(Communicator, ScattersSumsAndGathersThemAgain) {
  for (int ranks : {1, 2, 3, 4})
    on_all_ranks(ranks, [&](Communicator& communicator) {
      std::vector<std::vector<float>> reduced, values;
      for (std::size_t n : {1, 37, 1000, 16, 5000}) values.push_back(values_of(communicator.rank(), n));
      reduced = values;
      for (std::vector<float>& each : reduced) communicator.all_reduce(each);
      const std::vector<std::vector<float>> before = values;
      const std::vector<std::span<float>> pieces(values.begin(), values.end());
      communicator.reduce_scatter(pieces);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto [first, count] = share_of(values[i].size(), communicator.rank(), ranks);
        for (std::size_t at = 0; at < values[i].size(); ++at)
          EXPECT_EQ(values[i][at], (at >= first && at < first + count ? reduced : before)[i][at]) << i << " " << at;
      }
      communicator.all_gather(pieces);
      EXPECT_EQ(values, reduced);
      EXPECT_GT(communicator.traffic().seconds, 0);
      EXPECT_EQ(communicator.traffic().rounds, 2 * values.size() + 2);
      const double bytes = 4 * (1 + 37 + 1000 + 16 + 5000);
      EXPECT_NEAR(communicator.traffic().bus_bytes, 4 * bytes * (ranks - 1) / ranks, 1e-6);
    });
}

TEST(Communicator, TimesSumsWithNothingElseToDo) {
  std::vector<double> rates(3);
  on_all_ranks(3, [&](Communicator& communicator) {
    const double begin = steady_seconds(), before = communicator.traffic().bus_bytes;
    const double rate = all_reduce_rate(communicator, 1000, 0.02);
    const double spent = steady_seconds() - begin, sent = communicator.traffic().bus_bytes - before;
    EXPECT_GE(spent, 0.02);
    EXPECT_GT(rate, 0.1 * sent / spent);
    rates[static_cast<std::size_t>(communicator.rank())] = rate;
  });
  EXPECT_EQ(rates[0], rates[1]) << "the slowest rank decides";
  EXPECT_EQ(rates[0], rates[2]);
}

TEST(Communicator, GathersBytesOfAll) {
  on_all_ranks(3, [&](Communicator& communicator) {
    const double own = communicator.rank() + 0.5;
    std::vector<double> all(3);
    communicator.all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(&own, 1)));
    EXPECT_THAT(all, ElementsAre(0.5, 1.5, 2.5));
  });
}

TEST(Communicator, BroadcastsFromAnyRank) {
  on_all_ranks(4, [&](Communicator& communicator) {
    std::vector<int> values(3, communicator.rank());
    communicator.broadcast(std::as_writable_bytes(std::span(values)), 2);
    EXPECT_THAT(values, ElementsAre(2, 2, 2));
    communicator.barrier();
  });
}

TEST(Communicator, RefusesRowsThatAreNotThoseOfTheRanks) {
  on_all_ranks(2, [&](Communicator& communicator) {
    const std::vector<std::byte> own(4);
    std::vector<std::byte> all(9);
    EXPECT_THROW(communicator.all_gather(all, own), std::invalid_argument);
  });
}

TEST(Communicator, RefusesPiecesThatDifferBetweenRanks) {
  on_all_ranks(2, [&](Communicator& communicator) {
    std::vector<float> values(communicator.rank() == 0 ? 4 : 5);
    const std::vector<std::span<float>> pieces{values};
    EXPECT_THROW(communicator.reduce_scatter(pieces), std::invalid_argument);
  });
}

TEST(Communicator, DoesNotWaitForeverForARank) {
  ThreadRanks group(2, 0.05);
  EXPECT_THAT([&] { group[0].barrier(); }, ThrowsMessage<CommunicationError>("another rank did not take part for 0.05 s"));
}

TEST(Share, IsWholeCacheLinesOfAllValuesAndRank0HasTheMost) {
  for (std::size_t n : {0, 1, 16, 17, 100, 1024})
    for (int ranks : {1, 2, 3, 8}) {
      std::size_t end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Share share = share_of(n, rank, ranks);
        EXPECT_EQ(share.first, end);
        EXPECT_LE(share.count, share_of(n, 0, ranks).count);
        end += share.count;
        EXPECT_TRUE(end == n || end % 16 == 0);
      }
      EXPECT_EQ(end, n);
    }
}

}  // namespace
}  // namespace epochbench
