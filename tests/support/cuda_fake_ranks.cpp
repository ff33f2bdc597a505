#include "tests/support/cuda_fake_ranks.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace epochbench::test {

class FakeRanks::Rank final : public cuda::Collectives {
 public:
  Rank(FakeRanks& all, int rank, FakeDevice& device) : all_(all), rank_(rank), device_(device) {}

  void all_reduce(float* values, std::size_t n, cuda::Stream stream) override { call(Kind::all_reduce, values, n, 0, stream); }
  void reduce_scatter(float* values, std::size_t each, cuda::Stream stream) override {
    call(Kind::reduce_scatter, values, each * ranks(), 0, stream);
  }
  void all_gather(float* values, std::size_t each, cuda::Stream stream) override {
    call(Kind::all_gather, values, each * ranks(), 0, stream);
  }
  void reduce(float* values, std::size_t n, int root, cuda::Stream stream) override {
    call(Kind::reduce, values, n, root, stream);
  }
  void broadcast(float* values, std::size_t n, int root, cuda::Stream stream) override {
    call(Kind::broadcast, values, n, root, stream);
  }
  void begin_group() override { ++depth_; }
  void end_group() override {
    if (--depth_ > 0 || group_.empty()) return;
    device_.enqueue(
        stream_,
        [&all = all_, rank = rank_, group = std::exchange(group_, {})] {
          for (const Call& each : group) all.meet(rank, each);
        },
        all_.seconds_of_a_call_);
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(all_.ranks_); }

  void call(Kind kind, float* values, std::size_t n, int root, cuda::Stream stream) {
    static constexpr const char* kNames[] = {"all_reduce", "reduce_scatter", "all_gather", "reduce", "broadcast"};
    const std::string name = std::string(kNames[static_cast<std::size_t>(kind)]) + " of " + std::to_string(n) + " at " +
                             std::to_string(device_.offset_in_block(values)) + " root " + std::to_string(root);
    const auto rank = static_cast<std::size_t>(rank_);
    if (!device_.captures(stream))
      all_.calls_[rank].push_back(name);
    else if (std::ranges::find(all_.calls_[rank], name) == all_.calls_[rank].end())
      throw cuda::Error("fake NCCL: " + name + " is captured before it has run once");
    all_.streams_[rank].insert(stream);
    stream_ = stream;
    begin_group();
    group_.push_back({kind, values, n, root, name});
    end_group();
  }

  FakeRanks& all_;
  const int rank_;
  FakeDevice& device_;
  int depth_ = 0;
  cuda::Stream stream_ = nullptr;
  std::vector<Call> group_;
};

FakeRanks::FakeRanks(int ranks, double patience_seconds, double seconds_of_a_call)
    : ranks_(ranks),
      patience_seconds_(patience_seconds),
      seconds_of_a_call_(seconds_of_a_call),
      calls_(static_cast<std::size_t>(ranks)),
      streams_(static_cast<std::size_t>(ranks)) {}

std::shared_ptr<cuda::Collectives> FakeRanks::of(int rank, FakeDevice& device) {
  return std::make_shared<Rank>(*this, rank, device);
}

std::string FakeRanks::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void FakeRanks::meet(int rank, const Call& call) {
  std::unique_lock lock(mutex_);
  if (!failure_.empty()) return;
  auto& open = open_[call.name];
  if (!open) open = std::make_shared<Meeting>();
  const std::shared_ptr<Meeting> meeting = open;
  meeting->values[rank] = call.values;
  if (static_cast<int>(meeting->values.size()) == ranks_) {
    exchange(call, meeting->values);  // the memory of all is open: each is in the work that exchanges
    meeting->done = true;
    open_.erase(call.name);
    changed_.notify_all();
    return;
  }
  waiting_[rank] = call.name;
  const auto over = [&] { return meeting->done || !failure_.empty(); };
  if (!changed_.wait_for(lock, std::chrono::duration<double>(patience_seconds_), over)) {
    for (const auto& [who, what] : waiting_)
      failure_ += (failure_.empty() ? "rank " : "; rank ") + std::to_string(who) + " waits in " + what;
    changed_.notify_all();
  }
  waiting_.erase(rank);
}

void FakeRanks::exchange(const Call& call, const std::map<int, float*>& values) {
  const std::size_t each = call.n / values.size();
  const auto sum = [&](std::size_t i) {
    float total = 0;
    for (const auto& [rank, memory] : values) total = rank == 0 ? memory[i] : total + memory[i];
    return total;
  };
  switch (call.kind) {
    case Kind::all_reduce:
      for (std::size_t i = 0; i < call.n; ++i) {
        const float total = sum(i);
        for (const auto& [rank, memory] : values) memory[i] = total;
      }
      break;
    case Kind::reduce_scatter:
      for (std::size_t i = 0; i < call.n; ++i) values.at(static_cast<int>(i / each))[i] = sum(i);
      break;
    case Kind::all_gather:
      for (const auto& [owner, from] : values)
        for (const auto& [rank, to] : values)
          if (rank != owner)
            std::copy_n(from + static_cast<std::size_t>(owner) * each, each, to + static_cast<std::size_t>(owner) * each);
      break;
    case Kind::reduce:
      for (std::size_t i = 0; i < call.n; ++i) values.at(call.root)[i] = sum(i);
      break;
    case Kind::broadcast:
      for (const auto& [rank, to] : values)
        if (rank != call.root) std::copy_n(values.at(call.root), call.n, to);
      break;
  }
}

}  // namespace epochbench::test
