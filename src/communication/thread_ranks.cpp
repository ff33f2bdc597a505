#include "src/communication/thread_ranks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "src/base/numbers.h"
#include "src/communication/ordered_sum.h"
#include "src/communication/timed.h"

namespace epochbench {

// Where ranks show each other their memory and wait until all have arrived.
class ThreadRanks::Meeting {
 public:
  Meeting(int size, double patience_seconds) : shown(static_cast<std::size_t>(size)), patience_seconds_(patience_seconds) {}

  int size() const { return static_cast<int>(shown.size()); }

  void wait() {
    std::unique_lock lock(mutex_);
    const long round = round_;
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++round_;
      all_arrived_.notify_all();
      return;
    }
    if (!all_arrived_.wait_for(lock, std::chrono::duration<double>(patience_seconds_), [&] { return round_ != round; }))
      throw CommunicationError("another rank did not take part for " + short_number(patience_seconds_) + " s");
  }

  std::vector<std::span<std::byte>> shown;  // by rank; a rank writes its own entry before wait() and reads the others after it

 private:
  const double patience_seconds_;
  std::mutex mutex_;
  std::condition_variable all_arrived_;
  int arrived_ = 0;
  long round_ = 0;
};

namespace {

std::size_t elements_of(Pieces pieces) {
  std::size_t sum = 0;
  for (const std::span<float> piece : pieces) sum += piece.size();
  return sum;
}

}  // namespace

class ThreadRanks::Rank final : public Communicator {
 public:
  Rank(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_.size(); }
  int local_size() const override { return size(); }
  int local_rank() const override { return rank(); }

  // Each rank sums its share over all ranks and writes it to all; no other rank touches that share meanwhile.
  void all_reduce(std::span<float> values) override {
    const Timed timed(traffic_.seconds);
    const std::vector<float*> all = show(values);
    const auto [first, own] = share_of(values.size(), rank_, size());
    std::vector<const float*> parts;
    for (const float* each : all) parts.push_back(each + first);
    ordered_sum(values.data() + first, parts, own);
    for (float* each : all)
      if (each != values.data()) std::copy_n(values.data() + first, own, each + first);
    count(2, values.size());
    meeting_.wait();
  }

  // Each rank reads only its share from the others, and writes only that share of its own memory.
  void reduce_scatter(Pieces pieces) override {
    const Timed timed(traffic_.seconds);
    const std::vector<Pieces> all = show_pieces(pieces);
    std::vector<const float*> parts(all.size());
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      const auto [first, own] = share_of(pieces[piece].size(), rank_, size());
      for (std::size_t i = 0; i < all.size(); ++i) parts[i] = all[i][piece].data() + first;
      ordered_sum(pieces[piece].data() + first, parts, own);
    }
    count(1, elements_of(pieces));
    meeting_.wait();
  }

  void all_gather(Pieces pieces) override {
    const Timed timed(traffic_.seconds);
    const std::vector<Pieces> all = show_pieces(pieces);
    for (std::size_t piece = 0; piece < pieces.size(); ++piece)
      for (int rank = 0; rank < size(); ++rank) {
        const auto [first, own] = share_of(pieces[piece].size(), rank, size());
        if (rank != rank_)
          std::copy_n(all[static_cast<std::size_t>(rank)][piece].data() + first, own, pieces[piece].data() + first);
      }
    count(1, elements_of(pieces));
    meeting_.wait();
  }

  void all_gather(std::span<std::byte> all, std::span<const std::byte> own) override {
    const Timed timed(traffic_.seconds);
    require_rows(all.size(), own.size(), size());
    show_bytes({const_cast<std::byte*>(own.data()), own.size()});  // nobody writes to it
    for (std::size_t i = 0; i < meeting_.shown.size(); ++i)
      std::memmove(all.data() + i * own.size(), meeting_.shown[i].data(), own.size());
    count(1, all.size() / sizeof(float));
    meeting_.wait();
  }

  void broadcast(std::span<std::byte> values, int root) override {
    show_bytes(values);
    if (rank_ != root) std::memcpy(values.data(), meeting_.shown.at(static_cast<std::size_t>(root)).data(), values.size());
    meeting_.wait();
  }

  void barrier() override { meeting_.wait(); }

 private:
  void show_bytes(std::span<std::byte> values) {
    meeting_.shown[static_cast<std::size_t>(rank_)] = values;
    meeting_.wait();
    for (const auto& each : meeting_.shown)
      if (each.size() != values.size()) throw std::invalid_argument("ranks exchange different numbers of elements");
  }
  std::vector<Pieces> show_pieces(const Pieces& pieces) {
    show_bytes({reinterpret_cast<std::byte*>(const_cast<std::span<float>*>(pieces.data())), pieces.size_bytes()});
    std::vector<Pieces> all;
    bool alike = true;
    for (const auto& each : meeting_.shown) {
      all.emplace_back(reinterpret_cast<const std::span<float>*>(each.data()), pieces.size());
      alike =
          alike && std::ranges::equal(all.back(), pieces, [](const auto& a, const auto& b) { return a.size() == b.size(); });
    }
    meeting_.wait();  // a rank that throws destroys its pieces, which the others have read by then
    if (!alike) throw std::invalid_argument("ranks exchange pieces of different sizes");
    return all;
  }
  std::vector<float*> show(std::span<float> values) {
    show_bytes(std::as_writable_bytes(values));
    std::vector<float*> all;
    for (const auto& each : meeting_.shown) all.push_back(reinterpret_cast<float*>(each.data()));
    return all;
  }

  Meeting& meeting_;
  const int rank_;
};

ThreadRanks::ThreadRanks(int size, double patience_seconds) : meeting_(std::make_unique<Meeting>(size, patience_seconds)) {
  for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>(*meeting_, rank));
}

ThreadRanks::~ThreadRanks() = default;

Communicator& ThreadRanks::operator[](int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }

}  // namespace epochbench
