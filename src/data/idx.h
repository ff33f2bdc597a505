// The IDX format of MNIST (http://yann.lecun.com/exdb/mnist/): a big-endian header, then unsigned bytes.
#pragma once

#include <filesystem>

#include "src/data/byte_source.h"
#include "src/data/image_dataset.h"

namespace epochbench {

// Gray images (three dimensions: samples, rows, columns) with their labels (one dimension).
// Errors: DataError for a wrong magic number or number of dimensions, sizes that the source cannot hold, empty or missing
// images, trailing bytes, and different numbers of images and labels.
ImageSet read_idx(ByteSource& images, ByteSource& labels);

// train-images-idx3-ubyte, train-labels-idx1-ubyte (or t10k-...) of a folder, each plain or, if that is missing, with .gz.
ImageSet read_idx_split(const std::filesystem::path& folder, Split split);

}  // namespace epochbench
