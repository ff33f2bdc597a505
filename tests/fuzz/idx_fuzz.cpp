// The two files of a split in MNIST's format, as stored on disk: plain or gzip.
#include <algorithm>

#include "epochbench/dataset.h"
#include "fuzz/image_batch.h"
#include "fuzz/scratch_file.h"
#include "fuzz/targets.h"
#include "src/data/image_dataset.h"

namespace epochbench::fuzz {

void idx(std::string_view bytes) {
  if (bytes.size() < 2) return;
  static ScratchFile images, labels;
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t length = std::min(byte(0) | byte(1) << 8, bytes.size() - 2);
  images.hold(bytes.substr(2, length));
  labels.hold(bytes.substr(2 + length));
  try {
    const auto image_source = open_file(images.path()), label_source = open_file(labels.path());
    feed(read_idx(*image_source, *label_source));
  } catch (const DataError& error) {
    require_message(error.what());
  }
}

}  // namespace epochbench::fuzz
