#include "src/data/prepared_dataset.h"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "src/data/all_rows.h"

namespace epochbench {
namespace {

std::array<std::size_t, 2> image_row_bytes(const SampleSpec& sample) {
  return {static_cast<std::size_t>(sample.height * sample.width * sample.channels) * sizeof(float), sizeof(std::int32_t)};
}

}  // namespace

CostlyDataset::CostlyDataset(std::unique_ptr<Dataset> dataset, const BusyWork& work)
    : dataset_(std::move(dataset)), work_(work) {}

void CostlyDataset::fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                         std::span<const std::span<std::byte>> inputs) const {
  work_();
  dataset_->fill(split, index, epoch, row, inputs);
}

std::int64_t CachedDataset::bytes(const Dataset& dataset, const SampleSpec& sample) {
  const auto [image, label] = image_row_bytes(sample);
  return (dataset.samples(Split::train) + dataset.samples(Split::test)) * static_cast<std::int64_t>(image + label);
}

CachedDataset::CachedDataset(std::unique_ptr<Dataset> dataset, const SampleSpec& sample)
    : dataset_(std::move(dataset)), row_bytes_(image_row_bytes(sample)) {
  if (sample.text() || dataset_->synthetic())
    throw std::invalid_argument("data " + dataset_->name() +
                                " cannot be kept decoded: only images are the same in every epoch");
  train_ = decoded(Split::train);
  test_ = decoded(Split::test);
}

CachedDataset::Rows CachedDataset::decoded(Split split) const {
  const auto samples = static_cast<std::size_t>(dataset_->samples(split));
  Rows kept;
  std::array<std::span<std::byte>, kInputs> memory;
  for (std::size_t input = 0; input < kInputs; ++input) {
    kept[input] = std::make_unique_for_overwrite<std::byte[]>(samples * row_bytes_[input]);
    memory[input] = {kept[input].get(), samples * row_bytes_[input]};
  }
  for_all_rows(static_cast<std::int64_t>(samples), [&](std::int64_t row) { dataset_->fill(split, row, 0, row, memory); });
  return kept;
}

void CachedDataset::fill(Split split, std::int64_t index, std::uint64_t, std::int64_t row,
                         std::span<const std::span<std::byte>> inputs) const {
  const Rows& kept = rows(split);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    const std::size_t bytes = row_bytes_[input];
    std::memcpy(inputs[input].data() + static_cast<std::size_t>(row) * bytes,
                kept[input].get() + static_cast<std::size_t>(index) * bytes, bytes);
  }
}

}  // namespace epochbench
