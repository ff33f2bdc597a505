// Data sets around another one: its samples at a higher cost, or decoded once and kept.
//
// Neither changes what a batch holds.
#pragma once

#include <array>
#include <memory>

#include "epochbench/dataset.h"
#include "src/data/busy_work.h"

namespace epochbench {

// Each sample costs `work` beside its own decoding, in the thread that asks for it.
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

// Both splits of images, decoded in the constructor; a sample then costs a copy.
class CachedDataset final : public Dataset {
 public:
  // What it will take. `sample` is that of the model.
  static std::int64_t bytes(const Dataset& dataset, const SampleSpec& sample);

  // Errors: std::invalid_argument for texts, whose masks are drawn anew each epoch, and for synthetic data; whatever the
  // data set throws; std::bad_alloc.
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
