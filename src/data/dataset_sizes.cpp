#include "src/data/dataset_sizes.h"

namespace epochbench {

DatasetSize DatasetSizes::of(const std::string& spec, const SampleSpec& sample, std::int64_t nominal_samples) {
  for (const Known& known : known_)
    if (known.spec == spec && known.sample == sample && known.nominal_samples == nominal_samples) return known.size;
  constexpr std::uint64_t kAnySeed = 0;  // sizes do not depend on it
  const auto dataset = open_dataset(spec, sample, nominal_samples, kAnySeed);
  const DatasetSize size{dataset->name(), dataset->samples(Split::train), dataset->samples(Split::test), dataset->synthetic()};
  known_.push_back({spec, sample, nominal_samples, size});
  return size;
}

}  // namespace epochbench
