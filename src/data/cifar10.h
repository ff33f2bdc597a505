// CIFAR-10's binary version (https://www.cs.toronto.edu/~kriz/cifar.html).
#pragma once

#include <filesystem>

#include "src/data/image_dataset.h"

namespace epochbench {

// data_batch_1.bin and the following ones without a gap, up to 5; or test_batch.bin. A record is a label byte and 3 planes
// (red, green, blue) of 32 x 32 bytes; the channels become the last dimension. Errors: DataError for missing files, incomplete
// records and labels above 9.
ImageSet read_cifar10_split(const std::filesystem::path& folder, Split split);

}  // namespace epochbench
