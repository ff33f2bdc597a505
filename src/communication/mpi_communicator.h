// Ranks as processes that MPI connects (Open MPI 4.1 or MPICH). No other file uses MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "epochbench/communicator.h"

namespace epochbench {

// The program's only connection to the other ranks: it initializes MPI and finalizes it. Calls come from one thread at a time.
class MpiCommunicator final : public Communicator {
 public:
  // A rank that waits longer than this for others gets a CommunicationError; time in which it is itself stopped does not count.
  explicit MpiCommunicator(double patience_seconds);
  ~MpiCommunicator() override;  // after an error, processes exit without it
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }
  int local_rank() const override { return local_rank_; }
  void all_reduce(std::span<float> values) override;
  void reduce_scatter(Pieces pieces) override;
  void all_gather(Pieces pieces) override;
  void all_gather(std::span<std::byte> all, std::span<const std::byte> own) override;
  void broadcast(std::span<std::byte> values, int root) override;
  void barrier() override;

  // Sends a line from rank 0 to all others, which wait for it as long as it takes, and sleep meanwhile.
  void send_line(const std::string& line);
  std::string receive_line();

 private:
  class Waiting;
  // values: the whole; `sum` [share of this rank] becomes the sum over the ranks. counts_ and places_ describe the shares.
  void sum_own_share(float* sum, const float* values);
  void gather_shares(float* values);  // of all ranks, in place
  void set_shares(std::size_t values);
  std::size_t elements_of_all() const;  // sum of counts_
  void receive_own_of_all();            // from each rank, this rank's number of elements in counts_
  // For one piece: columns `begin` to `end` of each rank's share, as far as the share reaches.
  void set_columns(std::size_t values, std::size_t begin, std::size_t end);
  // For several pieces in packed_, ordered by rank: the shares of one rank are contiguous.
  void set_packed_shares(Pieces pieces);
  enum class Way : std::uint8_t { into_packed, out_of_packed };
  void copy_shares(Pieces pieces, int rank, Way way);
  void broadcast(std::span<std::byte> values, int root, bool patient);

  const double patience_seconds_;
  int rank_ = 0, size_ = 1, local_size_ = 1, local_rank_ = 0;
  std::vector<int> counts_, places_, own_counts_, own_places_;  // by rank, in elements
  std::vector<float> received_;                                 // this rank's share, from all ranks
  std::vector<const float*> parts_;
  std::vector<float> packed_;
};

}  // namespace epochbench
