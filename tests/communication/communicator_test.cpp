// Ranks as threads: what they exchange, the order of their sums, and a rank that does not come.
#include <thread>

#include <gmock/gmock.h>

#include "src/communication/ordered_sum.h"
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
  constexpr std::size_t kRows = 37;
  on_all_ranks(3, [&](Communicator& communicator) {
    const std::vector<float> values = values_of(communicator.rank(), 3 * kRows);
    std::vector<float> reduced = values, part(kRows), all(3 * kRows);
    communicator.all_reduce(reduced);
    communicator.reduce_scatter(part, values);
    communicator.all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(part)));
    EXPECT_EQ(all, reduced);
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
    std::vector<float> part(4), values(9);
    EXPECT_THROW(communicator.reduce_scatter(part, values), std::invalid_argument);
  });
}

TEST(Communicator, DoesNotWaitForeverForARank) {
  ThreadRanks group(2, 0.05);
  EXPECT_THAT([&] { group[0].barrier(); }, ThrowsMessage<CommunicationError>("another rank did not take part for 0.05 s"));
}

TEST(Share, IsWholeCacheLinesOfAllValues) {
  for (std::size_t n : {0, 1, 16, 17, 100, 1024})
    for (int ranks : {1, 2, 3, 8}) {
      std::size_t end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Share share = share_of(n, rank, ranks);
        EXPECT_EQ(share.first, end);
        end += share.count;
        EXPECT_TRUE(end == n || end % 16 == 0);
      }
      EXPECT_EQ(end, n);
    }
}

}  // namespace
}  // namespace epochbench
