// A fake NCCL for ranks that are threads, each with a fake device: what a call exchanges is exchanged when the devices of all
// ranks have come to it, in the order of the ranks. Calls of one group run in their order.
//
// As with NCCL, ranks that make their calls in different orders wait for each other forever. Here a time limit ends that: from
// then on nothing is exchanged, and failure() says who waited for what. Calls are the same if they are of the same kind on the
// same elements of the same block of device memory, which NCCL does not check: it would add up what does not belong together.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/libraries/collectives.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench::test {

class FakeRanks {
 public:
  explicit FakeRanks(int ranks, double patience_seconds = 60, double seconds_of_a_call = FakeDevice::kSecondsOfWork);
  std::shared_ptr<cuda::Collectives> of(int rank, FakeDevice& device);

  std::string failure() const;  // empty: none
  // The calls of one rank, without those that were captured and launched again.
  const std::vector<std::string>& calls(int rank) const { return calls_.at(static_cast<std::size_t>(rank)); }
  const std::set<cuda::Stream>& streams(int rank) const { return streams_.at(static_cast<std::size_t>(rank)); }

 private:
  class Rank;
  enum class Kind : std::uint8_t { all_reduce, reduce_scatter, all_gather, reduce, broadcast };
  struct Call {
    Kind kind;
    float* values;
    std::size_t n;  // elements of all
    int root;
    std::string name;  // the same on all ranks
  };
  struct Meeting {
    std::map<int, float*> values;  // by rank that has come
    bool done = false;
  };
  void meet(int rank, const Call& call);
  static void exchange(const Call& call, const std::map<int, float*>& values);

  const int ranks_;
  const double patience_seconds_, seconds_of_a_call_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Meeting>> open_;  // by name of a call
  std::map<int, std::string> waiting_;                    // by rank: for what
  std::string failure_;
  std::vector<std::vector<std::string>> calls_;
  std::vector<std::set<cuda::Stream>> streams_;
};

}  // namespace epochbench::test
