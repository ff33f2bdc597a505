#include <system_error>

#include "src/data/image_dataset.h"

namespace epochbench {
namespace {

constexpr std::int64_t kEdge = 32, kChannels = 3, kClasses = 10;
constexpr std::int64_t kPlane = kEdge * kEdge, kRecord = 1 + kChannels * kPlane;
constexpr int kTrainingFiles = 5;

void append(ImageSet& set, const std::filesystem::path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  const std::unique_ptr<ByteSource> source = open_file(path);
  if (error) throw DataError("data file " + source->name() + " cannot be read: " + error.message());
  if (size == 0 || size % kRecord != 0) {
    throw DataError("data file " + source->name() + " has " + std::to_string(size) + " bytes, which is not a multiple of " +
                    std::to_string(kRecord) + " above 0: fetch cifar-10-binary.tar.gz again and unpack it");
  }
  const std::vector<std::uint8_t> bytes = read_exactly(*source, size);
  expect_end(*source);
  for (std::size_t record = 0; record < size; record += kRecord) {
    const std::uint8_t* planes = bytes.data() + record + 1;
    if (bytes[record] >= kClasses) {
      throw DataError("data file " + source->name() + " has label " + std::to_string(bytes[record]) + " in record " +
                      std::to_string(record / kRecord) + ", above 9: fetch CIFAR-10's binary version again");
    }
    set.labels.push_back(bytes[record]);
    for (std::int64_t i = 0; i < kPlane; ++i)
      for (std::int64_t c = 0; c < kChannels; ++c) set.pixels.push_back(planes[c * kPlane + i]);
  }
}

}  // namespace

ImageSet read_cifar10_split(const std::filesystem::path& folder, Split split) {
  ImageSet set{in_quotes(folder.string()), kEdge, kEdge, kChannels, {}, {}};
  std::error_code error;
  const auto require = [&](const std::string& name) {
    if (std::filesystem::exists(folder / name, error)) return;
    throw DataError("data folder " + set.source + " has no " + name +
                    ": put the files of cifar-10-batches-bin there, or name another folder (--data cifar10:DIR)");
  };
  if (split == Split::test) {
    require("test_batch.bin");
    append(set, folder / "test_batch.bin");
    return set;
  }
  require("data_batch_1.bin");
  for (int i = 1; i <= kTrainingFiles; ++i) {
    const std::filesystem::path path = folder / ("data_batch_" + std::to_string(i) + ".bin");
    if (!std::filesystem::exists(path, error)) break;
    append(set, path);
  }
  return set;
}

}  // namespace epochbench
