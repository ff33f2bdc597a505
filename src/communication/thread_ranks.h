// Ranks as threads of one process, which exchange by reading each other's memory; a group of one is a single rank. For tests;
// for processes see mpi_communicator.h.
#pragma once

#include <memory>
#include <vector>

#include "epochbench/communicator.h"

namespace epochbench {

class ThreadRanks {
 public:
  // A rank that waits longer than this for another one gets a CommunicationError.
  explicit ThreadRanks(int size, double patience_seconds = 60);
  ~ThreadRanks();
  Communicator& operator[](int rank);  // for one thread at a time

 private:
  class Meeting;
  class Rank;
  std::unique_ptr<Meeting> meeting_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace epochbench
