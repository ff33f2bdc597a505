// Generated samples without decoding cost: the work of a device does not depend on the contents of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "epochbench/dataset.h"

namespace epochbench {

// Images N(0, 1) and labels uniform over the classes; or texts uniform over the vocabulary, masked as real ones are
// (src/data/text.h) but the same in every epoch, followed by one more token, or with a label uniform over the classes. From
// Philox with the sample's index, so that they are the same on every backend, thread and machine. The training split has
// `nominal_samples`, the test split none.
std::unique_ptr<Dataset> make_synthetic(std::string name, const SampleSpec& sample, std::int64_t nominal_samples,
                                        std::uint64_t seed);

}  // namespace epochbench
