#include "src/communication/thread_ranks.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/communication/ordered_sum.h"

namespace epochbench {

// Where all ranks show each other their memory, and wait until each has arrived.
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

  std::vector<std::span<std::byte>> shown;  // by rank; a rank writes its own before wait(), and reads the others' after it

 private:
  const double patience_seconds_;
  std::mutex mutex_;
  std::condition_variable all_arrived_;
  int arrived_ = 0;
  long round_ = 0;
};

class ThreadRanks::Rank final : public Communicator {
 public:
  Rank(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_.size(); }
  int local_size() const override { return size(); }

  // Each rank sums its share of all, and writes it to all; nobody else touches that share meanwhile.
  void all_reduce(std::span<float> values) override {
    const double begin = steady_seconds();
    const std::vector<float*> all = show(values);
    const auto [first, count] = share_of(values.size(), rank_, size());
    std::vector<const float*> parts;
    for (const float* each : all) parts.push_back(each + first);
    ordered_sum(values.data() + first, parts, count);
    for (float* each : all)
      if (each != values.data()) std::copy_n(values.data() + first, count, each + first);
    meeting_.wait();
    seconds_ += steady_seconds() - begin;
  }

  void reduce_scatter(std::span<float> part, std::span<const float> values) override {
    require_rows(values.size(), part.size(), size());
    std::vector<const float*> parts;
    for (const float* each : show({const_cast<float*>(values.data()), values.size()}))  // nobody writes to it
      parts.push_back(each + static_cast<std::size_t>(rank_) * part.size());
    ordered_sum(part.data(), parts, part.size());
    meeting_.wait();
  }

  void all_gather(std::span<std::byte> all, std::span<const std::byte> own) override {
    require_rows(all.size(), own.size(), size());
    show_bytes({const_cast<std::byte*>(own.data()), own.size()});  // nobody writes to it
    for (std::size_t i = 0; i < meeting_.shown.size(); ++i)
      std::memmove(all.data() + i * own.size(), meeting_.shown[i].data(), own.size());
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
