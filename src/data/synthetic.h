// Made-up samples that cost nothing to decode: what a device does with a batch does not depend on what it shows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "epochbench/dataset.h"

namespace epochbench {

// Images N(0, 1) and labels uniform over the classes; or texts uniform over the vocabulary, masked as real ones are
// (src/data/text.h) but once and for all. From Philox by the sample's index, so that every backend, thread and machine gets
// the same. The training split has `nominal_samples`, the test split none.
std::unique_ptr<Dataset> make_synthetic(std::string name, const SampleSpec& sample, std::int64_t nominal_samples,
                                        std::uint64_t seed);

}  // namespace epochbench
