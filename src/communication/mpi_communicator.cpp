// Collectives over MPI. Sums are computed here because MPI chooses its own order of additions: each rank gets its share of all
// ranks' values, adds them in rank order, and sends the sum to all. This moves as many bytes as a ring.
#include "src/communication/mpi_communicator.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <sched.h>
#include <unistd.h>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/communication/ordered_sum.h"
#include "src/communication/timed.h"

namespace epochbench {
namespace {

constexpr std::size_t kPieceElements = std::size_t{1} << 20;  // summed at a time: 4 MiB stay in the caches meanwhile

int checked_int(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::invalid_argument(std::to_string(count) + " elements are more than MPI takes at once");
  return static_cast<int>(count);
}

// Calls one(piece) for each large piece, and several(pieces) for small ones that are adjacent in the list and at most
// kPieceElements together, so that each MPI call moves enough, and no more than stays in the caches.
template <class One, class Several>
void in_calls(Pieces pieces, const One& one, const Several& several) {
  for (std::size_t begin = 0; begin < pieces.size();) {
    std::size_t end = begin, elements = 0;
    while (end < pieces.size() && elements + pieces[end].size() <= kPieceElements) elements += pieces[end++].size();
    if (end > begin + 1) {
      several(pieces.subspan(begin, end - begin));
      begin = end;
    } else {
      one(pieces[begin++]);
    }
  }
}

}  // namespace

// Waits for a request: first without giving up the core, then yielding it to others that need it or, if patient, sleeping.
class MpiCommunicator::Waiting {
 public:
  explicit Waiting(double patience_seconds) : patience_seconds_(patience_seconds) {}

  void wait(MPI_Request request) {
    int done = 0;
    for (long tests = 0;; ++tests) {
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) throw CommunicationError("MPI reports an error");
      if (done) return;
      if (tests > kSpins) pause();
      if (tests % kSpins == kSpins - 1) look_at_the_clock();
    }
  }

 private:
  static constexpr long kSpins = 1000;

  bool patient() const { return patience_seconds_ == std::numeric_limits<double>::infinity(); }
  void pause() const {
    if (patient())
      usleep(50);
    else
      sched_yield();
  }
  void look_at_the_clock() {
    constexpr double kLongestTick = 0.5;  // a longer one: this rank was stopped
    const double now = steady_seconds();
    waited_ += std::min(now - looked_, kLongestTick);
    looked_ = now;
    if (waited_ > patience_seconds_)
      throw CommunicationError("hung: another rank did not take part for " + short_number(patience_seconds_) + " s");
  }

  const double patience_seconds_;
  double looked_ = steady_seconds(), waited_ = 0;
};

MpiCommunicator::MpiCommunicator(double patience_seconds) : patience_seconds_(patience_seconds) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) throw CommunicationError("this MPI takes calls of one thread only");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local);
  MPI_Comm_size(local, &local_size_);
  MPI_Comm_rank(local, &local_rank_);
  MPI_Comm_free(&local);
  for (auto* numbers : {&counts_, &places_, &own_counts_, &own_places_}) numbers->resize(static_cast<std::size_t>(size_));
  received_.resize(kPieceElements + static_cast<std::size_t>(size_) * 16);
}

MpiCommunicator::~MpiCommunicator() { MPI_Finalize(); }

void MpiCommunicator::receive_own_of_all() {
  const int own = counts_[static_cast<std::size_t>(rank_)];
  for (int rank = 0; rank < size_; ++rank) {
    own_counts_[static_cast<std::size_t>(rank)] = own;
    own_places_[static_cast<std::size_t>(rank)] = rank * own;
  }
}

void MpiCommunicator::set_shares(std::size_t values) { set_columns(values, 0, values); }

void MpiCommunicator::sum_own_share(float* sum, const float* values) {
  const auto own = static_cast<std::size_t>(own_counts_[0]);
  if (received_.size() < own * static_cast<std::size_t>(size_)) received_.resize(own * static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ialltoallv(values, counts_.data(), places_.data(), MPI_FLOAT, received_.data(), own_counts_.data(), own_places_.data(),
                 MPI_FLOAT, MPI_COMM_WORLD, &request);
  Waiting(patience_seconds_).wait(request);
  count(1, elements_of_all());
  parts_.clear();
  for (std::size_t rank = 0; rank < counts_.size(); ++rank) parts_.push_back(received_.data() + rank * own);
  ordered_sum(sum, parts_, own);
}

void MpiCommunicator::gather_shares(float* values) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts_.data(), places_.data(), MPI_FLOAT, MPI_COMM_WORLD,
                  &request);
  Waiting(patience_seconds_).wait(request);
  count(1, elements_of_all());
}

std::size_t MpiCommunicator::elements_of_all() const {
  return static_cast<std::size_t>(std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0}));
}

void MpiCommunicator::all_reduce(std::span<float> values) {
  const Timed timed(traffic_.seconds);
  for (; !values.empty(); values = values.subspan(std::min(values.size(), kPieceElements))) {
    set_shares(std::min(values.size(), kPieceElements));
    sum_own_share(values.data() + places_[static_cast<std::size_t>(rank_)], values.data());
    gather_shares(values.data());
  }
}

void MpiCommunicator::set_columns(std::size_t values, std::size_t begin, std::size_t end) {
  for (int rank = 0; rank < size_; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const auto [first, count] = share_of(values, rank, size_);
    places_[at] = checked_int(first + std::min(begin, count));
    counts_[at] = checked_int(std::min(end, count) - std::min(begin, count));
  }
  receive_own_of_all();
}

void MpiCommunicator::set_packed_shares(Pieces pieces) {
  std::size_t place = 0;
  for (int rank = 0; rank < size_; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    places_[at] = checked_int(place);
    for (const std::span<float> piece : pieces) place += share_of(piece.size(), rank, size_).count;
    counts_[at] = checked_int(place) - places_[at];
  }
  receive_own_of_all();
  if (packed_.size() < place) packed_.resize(place);
}

void MpiCommunicator::copy_shares(Pieces pieces, int rank, Way way) {
  float* packed = packed_.data() + places_[static_cast<std::size_t>(rank)];
  for (const std::span<float> piece : pieces) {
    const auto [first, count] = share_of(piece.size(), rank, size_);
    if (way == Way::into_packed)
      std::copy_n(piece.data() + first, count, packed);
    else
      std::copy_n(packed, count, piece.data() + first);
    packed += count;
  }
}

void MpiCommunicator::reduce_scatter(Pieces pieces) {
  const Timed timed(traffic_.seconds);
  const std::size_t columns = kPieceElements / static_cast<std::size_t>(size_);
  in_calls(
      pieces,
      [&](std::span<float> piece) {
        const std::size_t most = share_of(piece.size(), 0, size_).count;
        for (std::size_t begin = 0; begin < most; begin += columns) {
          set_columns(piece.size(), begin, begin + columns);
          sum_own_share(piece.data() + places_[static_cast<std::size_t>(rank_)], piece.data());
        }
      },
      [&](Pieces small) {
        set_packed_shares(small);
        for (int rank = 0; rank < size_; ++rank) copy_shares(small, rank, Way::into_packed);
        sum_own_share(packed_.data() + places_[static_cast<std::size_t>(rank_)], packed_.data());
        copy_shares(small, rank_, Way::out_of_packed);
      });
}

void MpiCommunicator::all_gather(Pieces pieces) {
  const Timed timed(traffic_.seconds);
  in_calls(
      pieces,
      [&](std::span<float> piece) {
        set_shares(piece.size());
        gather_shares(piece.data());
      },
      [&](Pieces small) {
        set_packed_shares(small);
        copy_shares(small, rank_, Way::into_packed);
        gather_shares(packed_.data());
        for (int rank = 0; rank < size_; ++rank)
          if (rank != rank_) copy_shares(small, rank, Way::out_of_packed);
      });
}

void MpiCommunicator::all_gather(std::span<std::byte> all, std::span<const std::byte> own) {
  const Timed timed(traffic_.seconds);
  require_rows(all.size(), own.size(), size_);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(own.data(), checked_int(own.size()), MPI_BYTE, all.data(), checked_int(own.size()), MPI_BYTE, MPI_COMM_WORLD,
                 &request);
  Waiting(patience_seconds_).wait(request);
  count(1, all.size() / sizeof(float));
}

void MpiCommunicator::broadcast(std::span<std::byte> values, int root, bool patient) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(values.data(), checked_int(values.size()), MPI_BYTE, root, MPI_COMM_WORLD, &request);
  Waiting(patient ? std::numeric_limits<double>::infinity() : patience_seconds_).wait(request);
}

void MpiCommunicator::broadcast(std::span<std::byte> values, int root) { broadcast(values, root, false); }

void MpiCommunicator::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  Waiting(patience_seconds_).wait(request);
}

void MpiCommunicator::send_line(const std::string& line) {
  std::string text = line;
  std::uint64_t size = text.size();
  broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, false);
  if (size > 0) broadcast(std::as_writable_bytes(std::span(text)), 0, false);
}

std::string MpiCommunicator::receive_line() {
  std::uint64_t size = 0;
  broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, true);
  std::string text(size, '\0');
  if (size > 0) broadcast(std::as_writable_bytes(std::span(text)), 0, false);
  return text;
}

}  // namespace epochbench
