#include "src/data/prepared_dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/clock.h"

namespace epochbench {
namespace {

// The steps of MurmurHash3's finalizer (Appleby 2011), as a chain that a compiler cannot shorten.
void work(std::int64_t rounds) {
  std::uint64_t value = 1;
  for (std::int64_t i = 0; i < rounds; ++i) {
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 33;
  }
  asm volatile("" : : "r"(value));  // keeps the chain
}

std::array<std::size_t, 2> image_row_bytes(const SampleSpec& sample, DType images) {
  return {static_cast<std::size_t>(sample.height * sample.width * sample.channels) * size_bytes(images), sizeof(std::int32_t)};
}

}  // namespace

void for_all_rows(std::int64_t rows, const std::function<void(std::int64_t row)>& do_row) {
  if (rows < 1) return;
  const std::int64_t workers = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, rows);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  std::vector<std::jthread> threads;
  for (std::int64_t w = 0; w < workers; ++w) {
    threads.emplace_back([&do_row, w, workers, rows, &error = errors[static_cast<std::size_t>(w)]] {
      try {
        for (std::int64_t row = w * rows / workers; row < (w + 1) * rows / workers; ++row) do_row(row);
      } catch (...) {
        error = std::current_exception();
      }
    });
  }
  threads.clear();  // joins
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

double BusyWork::measured_rounds_per_second() {
  constexpr std::int64_t kRounds = 200'000;  // a third of a millisecond: long for the clock, short enough to run uninterrupted
  constexpr int kBursts = 20;
  double best = 0;
  for (int burst = 0; burst < kBursts; ++burst) {
    const double begin = thread_cpu_seconds();
    work(kRounds);
    const double seconds = thread_cpu_seconds() - begin;
    if (seconds > 0) best = std::max(best, static_cast<double>(kRounds) / seconds);
  }
  if (!(best > 0)) throw std::runtime_error("the CPU time of a thread does not advance, so no work can be calibrated");
  return best;
}

BusyWork::BusyWork(double seconds, double rounds_per_second) : rounds_(std::llround(seconds * rounds_per_second)) {
  if (!(seconds >= 0) || !(rounds_per_second >= 0))
    throw std::invalid_argument("busy work: seconds and rounds per second must be at least 0");
}

void BusyWork::operator()() const { work(rounds_); }

CostlyDataset::CostlyDataset(std::unique_ptr<Dataset> dataset, const BusyWork& work)
    : WrappedDataset(std::move(dataset)), work_(work) {}

void CostlyDataset::fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                         std::span<const std::span<std::byte>> inputs) const {
  work_();
  dataset_->fill(split, index, epoch, row, inputs);
}

void TimedDataset::fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                        std::span<const std::span<std::byte>> inputs) const {
  if (split != Split::train) return dataset_->fill(split, index, epoch, row, inputs);
  const double cpu = thread_cpu_seconds(), wall = steady_seconds();
  dataset_->fill(split, index, epoch, row, inputs);
  const auto nanoseconds = [](double seconds) { return static_cast<std::int64_t>(std::llround(seconds * 1e9)); };
  times_->cpu_nanoseconds += nanoseconds(thread_cpu_seconds() - cpu);
  times_->wall_nanoseconds += nanoseconds(steady_seconds() - wall);
  ++times_->samples;
}

std::int64_t CachedDataset::bytes(const Dataset& dataset, const SampleSpec& sample, DType images) {
  const auto [image, label] = image_row_bytes(sample, images);
  return (dataset.samples(Split::train) + dataset.samples(Split::test)) * static_cast<std::int64_t>(image + label);
}

CachedDataset::CachedDataset(std::unique_ptr<Dataset> dataset, const SampleSpec& sample, DType images)
    : dataset_(std::move(dataset)), row_bytes_(image_row_bytes(sample, images)) {
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
