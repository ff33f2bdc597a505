// The NCCL of the emulated GPUs: ranks are processes of this machine, which exchange through shared memory. A call waits for
// the other ranks' when its work runs.
#include "kernels/cuda/libraries/collectives.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/cuda_emulated/runtime.h"

namespace epochbench::cuda {
namespace {

constexpr std::size_t kMaxElements = std::size_t{1} << 22;  // of a call

using Values = float[kMaxElements];
struct Shared {  // zero at first
  std::atomic<int> arrived, round;
  Values* values() { return reinterpret_cast<Values*>(this + 1); }  // by rank
};

void check(bool done, const char* what) {
  if (!done) throw Error(std::string("emulated NCCL: ") + what);
}

class EmulatedCollectives final : public Collectives {
 public:
  EmulatedCollectives(const CollectivesId& id, int rank, int ranks) : name_(id.data()), rank_(rank), ranks_(ranks) {
    const int file = shm_open(name_.c_str(), O_RDWR, 0600);
    check(file >= 0, "the ranks have no memory in common");
    bytes_ = sizeof(Shared) + static_cast<std::size_t>(ranks) * sizeof(Values);
    check(ftruncate(file, static_cast<off_t>(bytes_)) == 0, "too little memory");
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    check(memory != MAP_FAILED, "too little memory");
    shared_ = static_cast<Shared*>(memory);
    meet();
    if (rank_ == 0) shm_unlink(name_.c_str());
  }
  ~EmulatedCollectives() override { munmap(shared_, bytes_); }
  EmulatedCollectives(const EmulatedCollectives&) = delete;
  EmulatedCollectives& operator=(const EmulatedCollectives&) = delete;

  void all_reduce(float* values, std::size_t n, Stream stream) override {
    exchange(values, n, stream, [=, this] { add_up(values, 0, n); });
  }
  void reduce_scatter(float* values, std::size_t each, Stream stream) override {
    exchange(values, each * static_cast<std::size_t>(ranks_), stream,
             [=, this] { add_up(values, static_cast<std::size_t>(rank_) * each, each); });
  }
  void all_gather(float* values, std::size_t each, Stream stream) override {
    exchange(values, each * static_cast<std::size_t>(ranks_), stream, [=, this] {
      for (int rank = 0; rank < ranks_; ++rank) {
        const std::size_t first = static_cast<std::size_t>(rank) * each;
        std::copy_n(shared_->values()[rank] + first, each, values + first);
      }
    });
  }
  void reduce(float* values, std::size_t n, int root, Stream stream) override {
    exchange(values, n, stream, [=, this] {
      if (rank_ == root) add_up(values, 0, n);
    });
  }
  void broadcast(float* values, std::size_t n, int root, Stream stream) override {
    exchange(values, n, stream, [=, this] { std::copy_n(shared_->values()[root], n, values); });
  }
  void begin_group() override {}
  void end_group() override {}

 private:
  void exchange(float* values, std::size_t n, Stream stream, std::function<void()> take) {
    check(n <= kMaxElements, "more elements than the emulation has memory for");
    test::perform(stream, [=, this, take = std::move(take)] {
      std::copy_n(values, n, shared_->values()[rank_]);
      meet();
      take();
      meet();
    });
  }
  void add_up(float* sum, std::size_t first, std::size_t n) const {
    for (std::size_t i = first; i < first + n; ++i) {
      sum[i] = shared_->values()[0][i];
      for (int rank = 1; rank < ranks_; ++rank) sum[i] += shared_->values()[rank][i];
    }
  }
  void meet() {
    const int round = shared_->round;
    if (++shared_->arrived == ranks_) {
      shared_->arrived = 0;
      ++shared_->round;
      return;
    }
    while (shared_->round == round) sched_yield();
  }

  const std::string name_;
  const int rank_, ranks_;
  std::size_t bytes_ = 0;
  Shared* shared_ = nullptr;
};

}  // namespace

std::optional<std::string> collectives_obstacle() { return test::emulated_machine().no_nccl; }

CollectivesId make_collectives_id() {
  CollectivesId id{};
  std::snprintf(id.data(), id.size(), "/epochbench-emulated-nccl-%d", static_cast<int>(getpid()));
  const int file = shm_open(id.data(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  check(file >= 0, "no shared memory");
  close(file);
  return id;
}

std::shared_ptr<Collectives> make_collectives(const CollectivesId& id, int rank, int ranks, int) {
  return std::make_shared<EmulatedCollectives>(id, rank, ranks);
}

}  // namespace epochbench::cuda
