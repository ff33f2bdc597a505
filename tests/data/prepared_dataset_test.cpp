// Data sets around another one, the work that decoding is made to cost, and rows done by many threads.
#include "src/data/prepared_dataset.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/clock.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::BatchMemory;

constexpr SampleSpec kLenet{28, 28, 1, 10};

std::unique_ptr<Dataset> digits() { return open_dataset("digits", kLenet, 0, 0); }

// What a batch of `indices` holds.
BatchMemory batch_of(const Dataset& data, Split split, const std::vector<std::int64_t>& indices) {
  BatchMemory memory(static_cast<std::int64_t>(indices.size()), 28 * 28);
  for (std::size_t row = 0; row < indices.size(); ++row)
    data.fill(split, indices[row], 3, static_cast<std::int64_t>(row), memory.inputs);
  return memory;
}

TEST(AllRows, DoesEachOnceAndRethrows) {
  for (std::int64_t rows : {0, 1, 7, 1000}) {
    std::vector<std::atomic<int>> done(static_cast<std::size_t>(rows));
    for_all_rows(rows, [&](std::int64_t row) { ++done[static_cast<std::size_t>(row)]; });
    EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& count) { return count == 1; })) << rows;
  }
  EXPECT_THROW(for_all_rows(10,
                            [](std::int64_t row) {
                              if (row == 9) throw DataError("row 9");
                            }),
               DataError);
}

TEST(BusyWork, IsAsManyRoundsAsTheTimeAsksFor) {
  EXPECT_EQ(BusyWork(0, 1e9).rounds(), 0);
  EXPECT_EQ(BusyWork(0.002, 5e8).rounds(), 1'000'000);
  EXPECT_THROW(BusyWork(-1, 1), std::invalid_argument);
}

// The rate is that of the best burst, so the same work later takes as long or longer; half is for a faster clock.
TEST(BusyWork, TakesCpuTime) {
  const BusyWork work(0.02, BusyWork::measured_rounds_per_second());
  const double begin = thread_cpu_seconds();
  work();
  EXPECT_GT(thread_cpu_seconds() - begin, 0.01);
}

TEST(CostlyDataset, FillsWhatTheOtherDoesAfterTheWork) {
  const CostlyDataset costly(digits(), BusyWork(0.005, BusyWork::measured_rounds_per_second()));
  EXPECT_EQ(costly.name(), "digits");
  EXPECT_EQ(costly.samples(Split::test), 359);
  EXPECT_FALSE(costly.synthetic());
  const double begin = thread_cpu_seconds();
  const BatchMemory batch = batch_of(costly, Split::train, {5, 0, 1437, 9});
  EXPECT_GT(thread_cpu_seconds() - begin, 0.01);  // of 4 * 0.005
  const BatchMemory expected = batch_of(*digits(), Split::train, {5, 0, 1437, 9});
  EXPECT_EQ(batch.images, expected.images);
  EXPECT_EQ(batch.labels, expected.labels);
}

TEST(TimedDataset, SumsWhatTrainingSamplesTook) {
  const auto times = std::make_shared<DecodingTimes>();
  auto costly = std::make_unique<CostlyDataset>(digits(), BusyWork(0.005, BusyWork::measured_rounds_per_second()));
  const TimedDataset timed(std::move(costly), times);
  const BatchMemory batch = batch_of(timed, Split::train, {5, 0, 1437, 9});
  batch_of(timed, Split::test, {5, 0});
  EXPECT_EQ(times->samples, 4);
  EXPECT_GT(times->cpu_nanoseconds, 10'000'000);  // of 4 * 0.005 s
  EXPECT_GT(times->wall_nanoseconds, 10'000'000);
  EXPECT_EQ(batch.images, batch_of(*digits(), Split::train, {5, 0, 1437, 9}).images);
}

// Counts how often it is asked.
class Counted final : public Dataset {
 public:
  explicit Counted(std::atomic<int>& fills) : fills_(fills), data_(digits()) {}
  const std::string& name() const override { return data_->name(); }
  bool synthetic() const override { return false; }
  std::int64_t samples(Split split) const override { return data_->samples(split); }
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override {
    ++fills_;
    data_->fill(split, index, epoch, row, inputs);
  }

 private:
  std::atomic<int>& fills_;
  std::unique_ptr<Dataset> data_;
};

TEST(CachedDataset, DecodesEverySampleOnceAndThenCopies) {
  std::atomic<int> fills = 0;
  const CachedDataset cached(std::make_unique<Counted>(fills), kLenet, DType::f32);
  EXPECT_EQ(fills, 1797);
  EXPECT_EQ(CachedDataset::bytes(cached, kLenet, DType::f32), 1797 * (28 * 28 * 4 + 4));
  for (Split split : {Split::train, Split::test}) {
    const std::vector<std::int64_t> indices = {cached.samples(split) - 1, 0, 17, 17};
    const BatchMemory batch = batch_of(cached, split, indices), expected = batch_of(*digits(), split, indices);
    EXPECT_EQ(batch.images, expected.images);
    EXPECT_EQ(batch.labels, expected.labels);
  }
  EXPECT_EQ(fills, 1797);
}

struct ByteRow {  // of a batch of one: 8 x 8 bytes and a label
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> label;
  bool operator==(const ByteRow&) const = default;
};
ByteRow byte_row(const Dataset& data, std::int64_t index) {
  ByteRow row{std::vector<std::uint8_t>(64), {-99}};
  data.fill(Split::test, index, 0, 0,
            std::vector{std::as_writable_bytes(std::span(row.pixels)), std::as_writable_bytes(std::span(row.label))});
  return row;
}

// Digits as they are: 8 x 8 pixels.
TEST(ByteDataset, IsKeptInAQuarterOfTheMemoryAndMadeCostlyLikeFloats) {
  constexpr SampleSpec kSmall{8, 8, 1, 10};
  const auto open = [&] { return std::make_unique<ByteDataset>(open_dataset("digits", kSmall, 0, 0)); };
  const auto bytes = open();
  EXPECT_EQ(bytes->name(), "digits");
  EXPECT_EQ(CachedDataset::bytes(*bytes, kSmall, DType::u8), 1797 * (8 * 8 + 4));
  const CachedDataset cached(open(), kSmall, DType::u8);
  const CostlyDataset costly(open(), BusyWork(0, 1));
  for (std::int64_t index : {0, 358}) {
    const ByteRow expected = byte_row(*bytes, index);
    EXPECT_GT(*std::ranges::max_element(expected.pixels), 0);
    EXPECT_TRUE(byte_row(cached, index) == expected);
    EXPECT_TRUE(byte_row(costly, index) == expected);
  }
  EXPECT_FALSE(byte_row(*bytes, 0) == byte_row(*bytes, 358));
}

TEST(CachedDataset, FillsImagesAloneWhereNoLabelsAreWanted) {
  const CachedDataset cached(digits(), kLenet, DType::f32);
  BatchMemory batch(1, 28 * 28);
  cached.fill(Split::train, 3, 0, 0, std::span(batch.inputs).first(1));
  EXPECT_EQ(batch.images, batch_of(*digits(), Split::train, {3}).images);
  EXPECT_EQ(batch.labels[0], -99);
}

TEST(CachedDataset, RefusesWhatIsDrawnAnew) {
  const SampleSpec text{0, 0, 0, 30522, 128, 20};
  EXPECT_THROW(CachedDataset(open_dataset("founding-documents", text, 0, 0), text, DType::f32), std::invalid_argument);
  EXPECT_THROW(CachedDataset(open_dataset("synthetic", kLenet, 100, 0), kLenet, DType::f32), std::invalid_argument);
}

}  // namespace
}  // namespace epochbench
