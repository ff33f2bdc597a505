// Wrappers of a data set that do not change its samples: they raise their cost, keep them decoded, or give images as bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "epochbench/dataset.h"

namespace epochbench {

// For work on many rows before any step runs, by one thread per available CPU.
// Calls do_row(0) ... do_row(rows - 1), each once, in several threads, and returns when all are done.
// Errors: the exception of a row, after the other threads have finished their rows.
void for_all_rows(std::int64_t rows, const std::function<void(std::int64_t row)>& do_row);

// Work that occupies a core for a stated time: it simulates decoding that costs more than that of the available data.
//
// It does not sleep, since a sleeping thread leaves its core to the steps. It is a fixed number of dependent multiplications,
// not a loop until a clock is reached: if loader and steps share a core, or its frequency drops, it takes longer, as decoding
// does. It touches no memory.
class BusyWork {
 public:
  // Rounds per second of a thread's CPU time: the best of several short bursts, some milliseconds in total.
  static double measured_rounds_per_second();

  BusyWork(double seconds, double rounds_per_second);  // both at least 0

  void operator()() const;  // thread-safe
  std::int64_t rounds() const { return rounds_; }

 private:
  std::int64_t rounds_;
};

// Another data set, whose samples a derived class reads in its own way.
class WrappedDataset : public Dataset {
 public:
  explicit WrappedDataset(std::unique_ptr<Dataset> dataset) : dataset_(std::move(dataset)) {}

  const std::string& name() const override { return dataset_->name(); }
  bool synthetic() const override { return dataset_->synthetic(); }
  std::int64_t samples(Split split) const override { return dataset_->samples(split); }

 protected:
  std::unique_ptr<Dataset> dataset_;
};

// fill() writes the images as bytes, as the other's fill_bytes() does.
class ByteDataset final : public WrappedDataset {
 public:
  using WrappedDataset::WrappedDataset;
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override {
    dataset_->fill_bytes(split, index, epoch, row, inputs);
  }
};

// Each sample costs `work` in addition to its decoding, in the thread that asks for it.
class CostlyDataset final : public WrappedDataset {
 public:
  CostlyDataset(std::unique_ptr<Dataset> dataset, const BusyWork& work);

  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override;

 private:
  BusyWork work_;
};

// What reading, decoding and changing training samples took so far, summed over the threads that did it.
struct DecodingTimes {
  std::atomic<std::int64_t> samples = 0, cpu_nanoseconds = 0, wall_nanoseconds = 0;
};

// Adds up the times of training samples, at a cost of half a microsecond per sample.
class TimedDataset final : public WrappedDataset {
 public:
  TimedDataset(std::unique_ptr<Dataset> dataset, std::shared_ptr<DecodingTimes> times)
      : WrappedDataset(std::move(dataset)), times_(std::move(times)) {}

  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override;

 private:
  std::shared_ptr<DecodingTimes> times_;
};

// Both splits of images, decoded in the constructor; reading a sample is then a copy.
class CachedDataset final : public Dataset {
 public:
  // The memory that it will take. `sample`: the model's. `images`: what the data set's fill() writes, f32 or u8.
  static std::int64_t bytes(const Dataset& dataset, const SampleSpec& sample, DType images);

  // Errors: std::invalid_argument for texts, whose masks are drawn again each epoch, and for synthetic data; errors of the
  // data set; std::bad_alloc.
  CachedDataset(std::unique_ptr<Dataset> dataset, const SampleSpec& sample, DType images);

  const std::string& name() const override { return dataset_->name(); }
  bool synthetic() const override { return false; }
  std::int64_t samples(Split split) const override { return dataset_->samples(split); }
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override;

 private:
  static constexpr std::size_t kInputs = 2;                        // images and labels
  using Rows = std::array<std::unique_ptr<std::byte[]>, kInputs>;  // [samples, row_bytes_]

  const Rows& rows(Split split) const { return split == Split::train ? train_ : test_; }
  Rows decoded(Split split) const;

  std::unique_ptr<Dataset> dataset_;
  std::array<std::size_t, kInputs> row_bytes_;
  Rows train_, test_;
};

}  // namespace epochbench
