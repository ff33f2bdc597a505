// The loader: which batches come, in which order, and that no state of its threads shows.
#include "src/data/loader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "epochbench/philox.h"
#include "support/allocations.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::BatchMemory;

constexpr std::int64_t kPixels = 4;

// Sample i of the training split shows i + 1 in every pixel, of the test split -(i + 1); the label is i.
class FakeDataset final : public Dataset {
 public:
  FakeDataset(std::int64_t train, std::int64_t test, bool synthetic = false)
      : train_(train), test_(test), synthetic_(synthetic) {}
  const std::string& name() const override { return name_; }
  bool synthetic() const override { return synthetic_; }
  std::int64_t samples(Split split) const override { return split == Split::train ? train_ : test_; }
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override {
    ++fills;
    if (on_fill) on_fill();
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    if (epoch == failing_epoch) throw DataError("sample " + std::to_string(index) + " is broken");
    float* image = reinterpret_cast<float*>(inputs[0].data()) + row * kPixels;
    std::fill_n(image, kPixels, static_cast<float>(split == Split::train ? index + 1 : -index - 1));
    reinterpret_cast<std::int32_t*>(inputs[1].data())[row] = static_cast<std::int32_t>(index);
  }
  mutable std::atomic<std::int64_t> fills{0};
  std::uint64_t failing_epoch = ~std::uint64_t{0};
  std::chrono::microseconds delay{0};
  std::function<void()> on_fill;

 private:
  std::int64_t train_, test_;
  bool synthetic_;
  std::string name_ = "fake";
};

struct Fixture {  // a data set, the memory of the slots, and the loader between them
  Fixture(std::int64_t train, std::int64_t test, const LoaderOptions& options, bool synthetic = false)
      : data(train, test, synthetic), slots(kInputSlots, BatchMemory(options.batch, kPixels)) {
    for (BatchMemory& slot : slots)
      slot.inputs = {std::as_writable_bytes(std::span(slot.images)), std::as_writable_bytes(std::span(slot.labels))};
    const auto parts = static_cast<std::size_t>(options.parts);
    loader = std::make_unique<Loader>(data, options, 2, [this, parts](InputSlot slot, int input, int part) {
      const std::span<std::byte> whole = slots[static_cast<std::size_t>(slot)].inputs[static_cast<std::size_t>(input)];
      const std::size_t bytes = whole.size() / parts;
      return whole.subspan(static_cast<std::size_t>(part) * bytes, bytes);
    });
  }
  // The labels of the next batch, whose images must agree with them; the slot is released.
  std::vector<std::int32_t> take(Split split = Split::train) {
    const BatchSource::Batch batch = loader->next();
    if (batch.samples == 0) return {};
    const BatchMemory& memory = slots[static_cast<std::size_t>(batch.slot)];
    for (std::size_t row = 0; row < memory.labels.size(); ++row) {
      const bool counts = static_cast<std::int64_t>(row) < batch.samples;
      const std::int32_t label = memory.labels[row];
      EXPECT_EQ(label == -1, !counts);
      const float expected = static_cast<float>(split == Split::train ? label + 1 : -label - 1);
      for (std::int64_t p = 0; p < kPixels; ++p)
        EXPECT_EQ(memory.images[row * kPixels + static_cast<std::size_t>(p)], counts ? expected : 0);
    }
    samples = batch.samples;
    const std::int64_t rows = std::min<std::int64_t>(batch.samples, std::ssize(memory.labels));  // of ranks: their own
    std::vector<std::int32_t> labels(memory.labels.begin(), memory.labels.begin() + rows);
    loader->release(batch.slot);
    return labels;
  }
  std::vector<std::int32_t> take_epoch() {
    std::vector<std::int32_t> all;
    for (std::int64_t i = 0; i < loader->steps_per_epoch(); ++i)
      for (std::int32_t label : take()) all.push_back(label);
    return all;
  }

  FakeDataset data;
  std::int64_t samples = 0;  // of the last batch, as the loader counts them
  std::vector<BatchMemory> slots;
  std::unique_ptr<Loader> loader;
};

// What an epoch of a shuffled training split must give, by the definition.
std::vector<std::int32_t> expected_epoch(std::size_t samples, std::size_t trained, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::uint32_t> order(samples);
  permute(order, seed, epoch);
  return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(trained)};
}

TEST(Loader, EpochsFollowEachOtherAndDropTheIncompleteBatch) {
  Fixture f(50, 0, {.batch = 8, .seed = 3});
  EXPECT_EQ(f.loader->steps_per_epoch(), 6);
  f.loader->begin_training(7);
  for (std::uint64_t epoch = 7; epoch < 12; ++epoch) EXPECT_EQ(f.take_epoch(), expected_epoch(50, 48, 3, epoch));
}

TEST(Loader, BatchesAreTheSameWhateverTheThreads) {
  for (bool prefetch : {true, false})
    for (int threads : {0, 1, 2, 3, 8}) {
      Fixture f(10, 0, {.batch = 4, .seed = 11, .threads = threads, .prefetch = prefetch});
      f.data.delay = std::chrono::microseconds(20);
      f.loader->begin_training(0);
      for (std::uint64_t epoch = 0; epoch < 20; ++epoch) ASSERT_EQ(f.take_epoch(), expected_epoch(10, 8, 11, epoch)) << threads;
    }
}

TEST(Loader, BatchesInPartsHoldTheSameRows) {
  for (int threads : {0, 3}) {
    Fixture f(20, 7, {.batch = 6, .parts = 3, .seed = 11, .threads = threads});
    f.loader->begin_training(0);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(f.take_epoch(), expected_epoch(20, 18, 11, epoch));
    f.loader->begin_evaluation();
    for (std::size_t rows : {6u, 1u, 0u}) EXPECT_EQ(f.take(Split::test).size(), rows);
  }
  EXPECT_THROW(Fixture(8, 0, {.batch = 4, .parts = 3}), std::invalid_argument);
}

TEST(Loader, GivesEachRankItsRowsOfABatch) {
  for (bool synthetic : {false, true}) {
    Fixture whole(20, 7, {.batch = 6, .seed = 11}, synthetic);
    Fixture first(20, 7, {.batch = 3, .ranks = 2, .seed = 11}, synthetic),
        second(20, 7, {.batch = 3, .rank = 1, .ranks = 2, .seed = 11}, synthetic);
    EXPECT_EQ(first.loader->steps_per_epoch(), whole.loader->steps_per_epoch());
    for (Fixture* each : {&whole, &first, &second}) each->loader->begin_training(1);
    for (int step = 0; step < 4; ++step) {
      std::vector<std::int32_t> labels = first.take();
      for (std::int32_t label : second.take()) labels.push_back(label);
      EXPECT_EQ(labels, whole.take());
      EXPECT_EQ(first.samples, 6);
    }
    if (synthetic) continue;
    first.loader->begin_evaluation();
    for (std::size_t rows : {3u, 3u, 1u, 0u}) EXPECT_EQ(first.take(Split::test).size(), rows);
  }
}

TEST(Loader, WithoutThreadsTheCallerFills) {
  std::set<std::thread::id> threads;
  Fixture f(40, 9, {.order = Order::sequential, .batch = 4, .threads = 0});
  EXPECT_FALSE(f.loader->prefetches());
  f.data.on_fill = [&] { threads.insert(std::this_thread::get_id()); };
  f.loader->begin_training(0);
  EXPECT_EQ(f.data.fills, 0);
  for (std::int32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(f.take().front(), 4 * i);
    EXPECT_EQ(f.data.fills, 4 * (i + 1));
  }
  f.loader->begin_evaluation();
  for (std::size_t rows : {4u, 4u, 1u, 0u}) EXPECT_EQ(f.take(Split::test).size(), rows);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(Loader, WithoutPrefetchingABatchIsBegunWhenItIsAskedFor) {
  for (int threads : {1, 3}) {
    Fixture f(40, 0, {.batch = 4, .threads = threads, .prefetch = false});
    EXPECT_FALSE(f.loader->prefetches());
    f.loader->begin_training(0);
    for (std::int64_t i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(f.data.fills, 4 * i);
      f.take();
    }
  }
}

TEST(Loader, ThreadsDivideABatchAmongThem) {
  constexpr int kThreads = 4;
  for (bool prefetch : {true, false}) {
    std::mutex mutex;
    std::condition_variable all_there;
    std::set<std::thread::id> threads;
    Fixture f(64, 0, {.batch = 64, .threads = kThreads, .prefetch = prefetch});
    f.data.on_fill = [&] {  // nobody's first row is done before all are at theirs
      std::unique_lock lock(mutex);
      threads.insert(std::this_thread::get_id());
      all_there.notify_all();
      all_there.wait_for(lock, std::chrono::seconds(20), [&] { return threads.size() == kThreads; });
    };
    f.loader->begin_training(0);
    const BatchSource::Batch batch = f.loader->next();
    const std::lock_guard lock(mutex);
    EXPECT_EQ(threads.size(), kThreads);
    EXPECT_EQ(batch.samples, 64);
  }
}

TEST(Loader, SequentialOrder) {
  Fixture f(7, 0, {.order = Order::sequential, .batch = 3});
  f.loader->begin_training(5);
  for (int epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(f.take_epoch(), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Loader, EvaluationGivesTheWholeTestSplitOncePadded) {
  for (std::int64_t samples : {1, 4, 9, 12, 33}) {
    Fixture f(8, samples, {.batch = 4, .threads = 2});
    for (int pass = 0; pass < 3; ++pass) {
      f.loader->begin_evaluation();
      std::int64_t seen = 0;
      for (auto labels = f.take(Split::test); !labels.empty(); labels = f.take(Split::test))
        for (std::int32_t label : labels) EXPECT_EQ(label, seen++);
      EXPECT_EQ(seen, samples);
      EXPECT_EQ(f.loader->next().samples, 0);
    }
  }
}

TEST(Loader, EvaluationOfNoTestSplitEndsAtOnce) {
  Fixture f(8, 0, {.batch = 4});
  f.loader->begin_evaluation();
  EXPECT_EQ(f.loader->next().samples, 0);
}

TEST(Loader, TrainingOnABatchOfTheWholeSplitAndOnASingleSample) {
  Fixture whole(5, 5, {.batch = 5, .threads = 3});
  whole.loader->begin_training(0);
  for (std::uint64_t epoch = 0; epoch < 30; ++epoch) ASSERT_EQ(whole.take_epoch(), expected_epoch(5, 5, 0, epoch));
  Fixture one(1, 1, {.batch = 1, .threads = 3});
  one.loader->begin_training(0);
  for (int i = 0; i < 30; ++i) ASSERT_EQ(one.take(), std::vector<std::int32_t>{0});
}

TEST(Loader, PassesMayBeginAtAnyTime) {
  Fixture f(40, 13, {.batch = 4, .seed = 2, .threads = 3});
  for (std::uint32_t round = 0; round < 400; ++round) {
    const PhiloxBlock random = philox(1, {round, 0, 0, 0});
    const std::uint64_t epoch = random[0] % 3;
    if (random[1] % 4 == 0) {
      f.loader->begin_evaluation();
      for (std::uint32_t i = 0; i < random[2] % 6; ++i) {
        const std::int32_t first = static_cast<std::int32_t>(4 * i);
        const std::vector<std::int32_t> labels = f.take(Split::test);
        ASSERT_EQ(labels.size(), i < 3 ? 4u : i == 3 ? 1u : 0u);
        if (!labels.empty()) {
          ASSERT_EQ(labels.front(), first);
        }
      }
    } else {
      f.loader->begin_training(epoch);
      const std::vector<std::int32_t> expected = expected_epoch(40, 40, 2, epoch);
      for (std::size_t i = 0; i < random[2] % 10; ++i) {
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(4 * i);
        ASSERT_EQ(f.take(), std::vector<std::int32_t>(begin, begin + 4));
      }
    }
    if (random[3] % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random[3] % 300));
  }
}

TEST(Loader, BatchesBeingFilledWhenAPassBeginsAreDropped) {
  Fixture f(40, 0, {.batch = 4, .threads = kInputSlots});
  f.data.delay = std::chrono::milliseconds(2);
  f.data.failing_epoch = 1;
  for (int round = 0; round < 5; ++round) {
    const std::int64_t before = f.data.fills;
    f.loader->begin_training(1);
    while (f.data.fills < before + Loader::kPrefetchDepth) std::this_thread::yield();
    f.loader->begin_training(2);
    const std::vector<std::int32_t> expected = expected_epoch(40, 8, 0, 2);
    EXPECT_EQ(f.take(), std::vector<std::int32_t>(expected.begin(), expected.begin() + 4));
    EXPECT_EQ(f.take(), std::vector<std::int32_t>(expected.begin() + 4, expected.end()));
  }
}

TEST(Loader, SlotsInUseAreLeftAloneWhenAPassBegins) {
  Fixture f(40, 8, {.order = Order::sequential, .batch = 4, .threads = 2});
  f.loader->begin_training(0);
  const BatchSource::Batch first = f.loader->next(), second = f.loader->next();
  f.loader->begin_evaluation();
  EXPECT_EQ(f.take(Split::test), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(f.take(Split::test), (std::vector<std::int32_t>{4, 5, 6, 7}));
  EXPECT_EQ(f.slots[static_cast<std::size_t>(first.slot)].labels, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(f.slots[static_cast<std::size_t>(second.slot)].labels, (std::vector<std::int32_t>{4, 5, 6, 7}));
  f.loader->release(second.slot);
  f.loader->release(first.slot);
}

TEST(Loader, FillsSlotsThatAreReleasedLate) {
  Fixture f(40, 0, {.order = Order::sequential, .batch = 4, .threads = 1});
  f.loader->begin_training(0);
  for (std::int32_t round = 0; round < 2; ++round) {
    std::array<InputSlot, kInputSlots> held{};
    for (InputSlot& slot : held) slot = f.loader->next().slot;
    for (InputSlot slot : held) f.loader->release(slot);
    EXPECT_EQ(f.take().front(), 20 * round + 16);
  }
}

TEST(Loader, PrefetchesAsFarAsItStates) {
  Fixture f(400, 0, {.batch = 4, .threads = 2});
  const auto settle = [&](std::int64_t fills) {
    for (int i = 0; i < 2000 && f.data.fills < fills; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return f.data.fills.load();
  };
  EXPECT_TRUE(f.loader->prefetches());
  EXPECT_EQ(settle(0), 0);
  f.loader->begin_training(0);
  EXPECT_EQ(settle(12), 12);
  const BatchSource::Batch batch = f.loader->next();
  EXPECT_EQ(settle(16), 16);
  f.loader->release(batch.slot);
  EXPECT_EQ(settle(16), 16);
}

TEST(Loader, RethrowsWhatAThreadMetAndRecovers) {
  for (int threads : {0, 1, 3}) {
    Fixture f(8, 0, {.batch = 4, .threads = threads});
    f.data.failing_epoch = 1;
    f.loader->begin_training(0);
    EXPECT_EQ(f.take_epoch().size(), 8u);
    EXPECT_THROW(f.loader->next(), DataError);
    EXPECT_THROW(f.loader->next(), DataError);
    f.loader->begin_training(2);
    EXPECT_EQ(f.take_epoch(), expected_epoch(8, 8, 0, 2));
  }
}

TEST(Loader, FewerSamplesThanABatch) {
  test::expect_data_error([] { Fixture f(7, 0, {.batch = 8}); }, {"fake", "7 training samples", "batch of 8", "--batch"});
}

TEST(Loader, MisuseIsALogicError) {
  EXPECT_THROW(Fixture(8, 0, {.batch = 0}), std::logic_error);
  EXPECT_THROW(Fixture(8, 0, {.batch = 4, .threads = -1}), std::logic_error);
  Fixture f(80, 0, {.batch = 4});
  EXPECT_THROW(f.loader->next(), std::logic_error);
  f.loader->begin_training(0);
  EXPECT_THROW(f.loader->release(0), std::logic_error);
  EXPECT_THROW(f.loader->release(kInputSlots), std::logic_error);
  for (int i = 0; i < kInputSlots; ++i) f.loader->next();
  EXPECT_THROW(f.loader->next(), std::logic_error);
  std::vector<std::byte> odd(7);
  EXPECT_THROW(Loader(f.data, {.batch = 4}, 1, [&](InputSlot, int, int) { return std::span(odd); }), std::invalid_argument);
}

TEST(Loader, EndsQuicklyInAnyState) {
  for (int round = 0; round < 200; ++round) {
    Fixture f(64, 9, {.batch = 4, .threads = round % 4, .prefetch = round % 7 > 0});
    f.data.delay = std::chrono::microseconds(round % 7);
    if (round % 5 > 0) f.loader->begin_training(0);
    if (round % 5 > 1) f.loader->next();
    if (round % 5 > 2) f.loader->begin_evaluation();
    if (round % 5 > 3) f.loader->next();
  }
}

TEST(Loader, SyntheticBatchesArePreparedOnceAndHandedRound) {
  Fixture f(1000, 0, {.batch = 8}, true);
  EXPECT_EQ(f.data.fills, kInputSlots * 8);
  EXPECT_EQ(f.loader->steps_per_epoch(), 125);
  for (int pass = 0; pass < 2; ++pass) {
    f.loader->begin_training(static_cast<std::uint64_t>(pass));
    for (std::int32_t i = 0; i < 10; ++i) {
      const BatchSource::Batch batch = f.loader->next();
      EXPECT_EQ(batch.slot, i % kInputSlots);
      EXPECT_EQ(batch.samples, 8);
      EXPECT_EQ(batch.fresh, pass == 0 && i < kInputSlots);
      const std::vector<std::int32_t>& labels = f.slots[static_cast<std::size_t>(batch.slot)].labels;
      for (std::int32_t row = 0; row < 8; ++row) EXPECT_EQ(labels[static_cast<std::size_t>(row)], 8 * (i % kInputSlots) + row);
      f.loader->release(batch.slot);
    }
  }
  EXPECT_EQ(f.data.fills, kInputSlots * 8);
  f.loader->begin_evaluation();
  EXPECT_EQ(f.loader->next().samples, 0);
}

TEST(Loader, SteadyStateNeitherAllocatesNorFaults) {
  Fixture f(4000, 0, {.batch = 16, .threads = 2});
  f.loader->begin_training(0);
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) f.loader->release(f.loader->next().slot);
  };
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
  };
  steps(600);
  const std::int64_t allocations_before = test::allocations(), faults_before = faults();
  steps(1200);  // almost five epochs
  EXPECT_EQ(test::allocations(), allocations_before);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose own bookkeeping faults
  EXPECT_LE(faults() - faults_before, 10);                           // of 1200 steps; the kernel may add some of its own
#else
  (void)faults_before;
#endif
}

}  // namespace
}  // namespace epochbench
