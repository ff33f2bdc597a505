#include <system_error>

#include "src/data/folder_hints.h"
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
    const auto has = [&](const std::filesystem::path& each) { return std::filesystem::exists(each / name, error); };
    if (has(folder)) return;
    const auto has_pickles = [&](const std::filesystem::path& each) {
      return std::filesystem::exists(each / "data_batch_1", error);
    };
    std::string lacks = "data folder " + set.source + " has no " + name;
    if (const auto below = folder_below(folder, has))
      throw DataError(lacks + ", but " + in_quotes(below->string()) + " has: name that (--data cifar10:DIR)");
    if (has_pickles(folder) || folder_below(folder, has_pickles))
      throw DataError(lacks +
                      ", but CIFAR-10's Python version, which is not read: fetch the binary one, cifar-10-binary.tar.gz");
    throw DataError(lacks + names_there(folder) +
                    ": put the files of cifar-10-batches-bin there, or name another folder (--data cifar10:DIR)");
  };
  if (split == Split::test) {
    require("test_batch.bin");
    append(set, folder / "test_batch.bin");
    return set;
  }
  const auto name_of = [](int file) { return "data_batch_" + std::to_string(file) + ".bin"; };
  int last = kTrainingFiles;
  while (last > 1 && !std::filesystem::exists(folder / name_of(last), error)) --last;
  for (int file = 1; file <= last; ++file) {
    require(name_of(file));
    append(set, folder / name_of(file));
  }
  if (last < kTrainingFiles)
    set.note = "only " + std::to_string(last) + " of CIFAR-10's " + std::to_string(kTrainingFiles) +
               " training files are there; fetch " + name_of(last + 1) + " and the following ones to train on all of it";
  return set;
}

}  // namespace epochbench
