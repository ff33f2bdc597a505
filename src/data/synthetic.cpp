#include "src/data/synthetic.h"

#include <algorithm>
#include <utility>

#include "epochbench/philox.h"
#include "src/data/text.h"

namespace epochbench {
namespace {

// Counter: (element / 4, sample, what, stream).
constexpr std::uint32_t kImage = 0, kLabel = 1, kText = 2;

class SyntheticDataset final : public Dataset {
 public:
  SyntheticDataset(std::string name, const SampleSpec& sample, std::int64_t samples, std::uint64_t seed)
      : name_(std::move(name)), sample_(sample), samples_(samples), seed_(seed) {}

  const std::string& name() const override { return name_; }
  bool synthetic() const override { return true; }
  std::int64_t samples(Split split) const override { return split == Split::train ? samples_ : 0; }

  void fill(Split, std::int64_t index, std::uint64_t, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override {
    if (sample_.text())
      fill_text(index, text_row(sample_, row, inputs));
    else
      fill_image(index, row, inputs);
  }

 private:
  void fill_image(std::int64_t index, std::int64_t row, std::span<const std::span<std::byte>> inputs) const {
    const std::int64_t elements = sample_.height * sample_.width * sample_.channels;
    float* image = reinterpret_cast<float*>(inputs[0].data()) + row * elements;
    for (std::int64_t i = 0; i < elements; i += 4) {
      const PhiloxBlock numbers = draw(static_cast<std::uint32_t>(i / 4), index, kImage);
      const auto [a, b] = normal_pair(numbers[0], numbers[1]);
      const auto [c, d] = normal_pair(numbers[2], numbers[3]);
      const float values[4] = {static_cast<float>(a), static_cast<float>(b), static_cast<float>(c), static_cast<float>(d)};
      std::copy_n(values, std::min<std::int64_t>(4, elements - i), image + i);
    }
    if (inputs.size() > 1) reinterpret_cast<std::int32_t*>(inputs[1].data())[row] = label_of(index, sample_.classes);
  }

  void fill_text(std::int64_t index, const TextRow& row) const {
    const std::size_t length = row.ids.size(), drawn = length + (sample_.next_token ? 1 : 0);
    for (std::size_t i = 0; i < drawn; i += 4) {
      const PhiloxBlock numbers = draw(static_cast<std::uint32_t>(i / 4), index, kText);
      for (std::size_t lane = 0; lane < 4 && i + lane < drawn; ++lane) {
        const std::size_t at = i + lane;
        const std::int32_t id = one_of(sample_.classes, numbers[lane]);
        if (at < length) row.ids[at] = id;
        if (sample_.next_token && at > 0 && at - 1 < row.labels.size()) row.labels[at - 1] = id;
      }
    }
    if (sample_.text_classes > 0 && !row.labels.empty()) row.labels[0] = label_of(index, sample_.text_classes);
    if (!row.positions.empty())
      mask(row.ids, row.positions, row.labels, kMaskId, static_cast<std::int32_t>(sample_.classes), {seed_, 0, index});
  }

  std::int32_t label_of(std::int64_t index, std::int64_t classes) const { return one_of(classes, draw(0, index, kLabel)[0]); }

  // 0 to count - 1.
  static std::int32_t one_of(std::int64_t count, std::uint32_t word) {
    return static_cast<std::int32_t>((std::uint64_t{word} * static_cast<std::uint64_t>(count)) >> 32);
  }

  PhiloxBlock draw(std::uint32_t block, std::int64_t index, std::uint32_t what) const {
    return philox(seed_, {block, static_cast<std::uint32_t>(index), what, static_cast<std::uint32_t>(RandomStream::synthetic)});
  }

  std::string name_;
  SampleSpec sample_;
  std::int64_t samples_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Dataset> make_synthetic(std::string name, const SampleSpec& sample, std::int64_t nominal_samples,
                                        std::uint64_t seed) {
  return std::make_unique<SyntheticDataset>(std::move(name), sample, nominal_samples, seed);
}

}  // namespace epochbench
