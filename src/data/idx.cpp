#include <array>
#include <system_error>

#include "src/data/folder_hints.h"
#include "src/data/image_dataset.h"

namespace epochbench {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;

[[noreturn]] void fail(const ByteSource& source, const std::string& what) {
  throw DataError("data file " + source.name() + " " + what + ": fetch it again, or name another folder");
}

// Header: two zero bytes, the element type, the number of dimensions, then each extent in 32 bits.
template <std::size_t kDimensions>
std::array<std::uint64_t, kDimensions> read_header(ByteSource& source, const char* what) {
  const std::vector<std::uint8_t> magic = read_exactly(source, 4);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != kUnsignedByte)
    fail(source, "is not an IDX file of unsigned bytes (it must begin with 00 00 08)");
  if (magic[3] != kDimensions) {
    fail(source, "has " + std::to_string(magic[3]) + " dimensions, not the " + std::to_string(kDimensions) + " of " + what);
  }
  const std::vector<std::uint8_t> bytes = read_exactly(source, 4 * kDimensions);
  std::array<std::uint64_t, kDimensions> extents{};
  std::uint64_t count = 1, total = 0;
  bool overflows = false;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    for (std::size_t b = 0; b < 4; ++b) extents[d] = extents[d] << 8 | bytes[4 * d + b];
    if (extents[d] == 0) fail(source, d == 0 ? "has no sample" : "has images of zero size");
    overflows |= __builtin_mul_overflow(count, extents[d], &count);
  }
  overflows |= __builtin_add_overflow(count, magic.size() + bytes.size(), &total);
  if (overflows || total > source.max_bytes()) {
    std::string extents_text;
    for (std::uint64_t extent : extents) extents_text += (extents_text.empty() ? "" : "x") + std::to_string(extent);
    fail(source, "is truncated or not an IDX file: its header states " + extents_text + " bytes, more than it can hold");
  }
  return extents;
}

std::string idx_name(Split split, const char* what) {
  return std::string(split == Split::train ? "train-" : "t10k-") + what + "-ubyte";
}

// The file "train-images-idx3-ubyte", or as some unpackers call it "train-images.idx3-ubyte": as it is, compressed, or in a
// folder of its own name.
std::optional<std::filesystem::path> find_idx_file(const std::filesystem::path& folder, const std::string& name) {
  std::string with_dot = name;
  with_dot[with_dot.find("-idx")] = '.';
  for (const std::string& spelling : {name, with_dot})
    for (const auto& place : {folder / spelling, folder / (spelling + ".gz"), folder / spelling / spelling}) {
      std::error_code error;
      if (std::filesystem::is_regular_file(place, error)) return place;
    }
  return std::nullopt;
}

}  // namespace

ImageSet read_idx(ByteSource& images, ByteSource& labels) {
  const auto [samples, height, width] = read_header<3>(images, "images");
  const auto [label_count] = read_header<1>(labels, "labels");
  if (samples != label_count) {
    fail(images, "has " + std::to_string(samples) + " images, but " + labels.name() + " has " + std::to_string(label_count) +
                     " labels");
  }
  ImageSet set{images.name(),
               static_cast<std::int64_t>(height),
               static_cast<std::int64_t>(width),
               1,
               read_exactly(images, samples * height * width),
               read_exactly(labels, label_count)};
  expect_end(images);
  expect_end(labels);
  return set;
}

ImageSet read_idx_split(const std::filesystem::path& folder, Split split) {
  const auto open = [&](const char* what) {
    const std::string name = idx_name(split, what);
    if (const auto found = find_idx_file(folder, name)) return open_file(*found);
    if (std::error_code error; std::filesystem::exists(folder / name, error)) return open_file(folder / name);  // says why not
    const std::string lacks = "data folder " + in_quotes(folder.string()) + " has neither " + name + " nor " + name + ".gz";
    const auto below =
        folder_below(folder, [&](const std::filesystem::path& each) { return find_idx_file(each, name).has_value(); });
    throw DataError(below ? lacks + ", but " + in_quotes(below->string()) + " has: name that (--data idx:DIR)"
                          : lacks + names_there(folder) +
                                ": put MNIST's four files there, or name another folder (--data idx:DIR)");
  };
  const auto images = open("images-idx3");
  const auto labels = open("labels-idx1");
  return read_idx(*images, *labels);
}

bool has_idx_files(const std::filesystem::path& folder) {
  return find_idx_file(folder, idx_name(Split::train, "images-idx3")).has_value();
}

std::filesystem::path folder_of(const PackagedImages& images) {
  std::error_code error;
  if (std::filesystem::is_directory(images.folder, error)) return images.folder;
  throw DataError("data " + in_quotes(images.name) + " are not on this machine (" + images.folder +
                  "): on Debian, run apt-get install " + images.package +
                  "; elsewhere name a folder with the same four files (--data idx:DIR)");
}

}  // namespace epochbench
