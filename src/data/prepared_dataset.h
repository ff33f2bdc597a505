// Wrappers of a data set: samples at a higher cost, or decoded once and kept.
//
// Neither changes the contents of a batch.
#pragma once

#include <array>
#include <memory>

#include "epochbench/dataset.h"
#include "src/data/busy_work.h"

namespace epochbench {

// Each sample costs `work` in addition to its decoding, in the thread that asks for it.
class CostlyDataset final : public Dataset {
 public:
  CostlyDataset(std::unique_ptr<Dataset> dataset, const BusyWork& work);

  const std::string& name() const override { return dataset_->name(); }
  bool synthetic() const override { return dataset_->synthetic(); }
  std::int64_t samples(Split split) const override { return dataset_->samples(split); }
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override;

 private:
  std::unique_ptr<Dataset> dataset_;
  BusyWork work_;
};

// Both splits of images, decoded in the constructor; reading a sample is then a copy.
class CachedDataset final : public Dataset {
 public:
  // The memory that it will take. `sample`: the model's.
  static std::int64_t bytes(const Dataset& dataset, const SampleSpec& sample);

  // Errors: std::invalid_argument for texts, whose masks are drawn again each epoch, and for synthetic data; errors of the
  // data set; std::bad_alloc.
  CachedDataset(std::unique_ptr<Dataset> dataset, const SampleSpec& sample);

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
