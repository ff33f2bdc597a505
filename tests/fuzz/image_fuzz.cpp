// Image files and archives of them.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <zlib.h>

#include "epochbench/dataset.h"
#include "fuzz/scratch_file.h"
#include "fuzz/targets.h"
#include "src/data/images/image_files.h"
#include "src/data/images/preparation.h"

namespace epochbench::fuzz {
namespace {

constexpr std::int64_t kMaxPixels = 1 << 16;  // a real limit takes seconds per image

// In full, and as training asks for it.
void decode(std::string_view bytes) {
  constexpr ImageSize kTarget{5, 7};
  const std::span file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  try {
    const auto decoder = ImageDecoder::make(kMaxPixels);
    const ImageSize size = decoder->open(file);
    require(size.height > 0 && size.width > 0 && size.height * size.width <= kMaxPixels, "a size is in its limits");
    const Picture picture = decoder->decode(1);
    require(picture.size.height == size.height && picture.size.width == size.width, "a picture has the size of its header");
    std::array<std::uint8_t, kTarget.height * kTarget.width * 3> image{};
    ImagePreparation preparation(kTarget, ImageDecoder::make(kMaxPixels));
    preparation.prepare(image.data(), file, {.crop = true, .flip = true, .color = true}, {1, 2, 3});
  } catch (const BadImage& error) {
    require_message(error.what());
  } catch (const DataError& error) {  // a build without decoders
    require_message(error.what());
  }
}

void write_number(std::string& bytes, std::size_t at, std::uint32_t number) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(number >> (24 - 8 * i));
}

// With right checksums, which a mutation spoils and which would hide what is behind them. A chunk of a PNG: length, type,
// contents, checksum of the latter two.
std::string with_png_sums(std::string bytes) {
  constexpr std::size_t kSignature = 8, kFrame = 12;
  for (std::size_t at = kSignature; at + kFrame <= bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    if (length > bytes.size() - at - kFrame) break;
    const auto* type = reinterpret_cast<const Bytef*>(bytes.data() + at + 4);
    write_number(bytes, at + 8 + length, static_cast<std::uint32_t>(crc32(0, type, static_cast<uInt>(length + 4))));
    at += kFrame + length;
  }
  return bytes;
}

std::string with_tar_sums(std::string bytes) {
  constexpr std::size_t kBlock = 512, kSum = 148, kSumBytes = 8;
  for (std::size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    if (bytes.compare(at + 257, 5, "ustar") != 0) continue;
    bytes.replace(at + kSum, kSumBytes, kSumBytes, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(bytes[at + i]);
    char digits[kSumBytes];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    bytes.replace(at + kSum, kSumBytes - 1, digits, kSumBytes - 1);
  }
  return bytes;
}

void read_archive(std::string_view bytes) {
  static ScratchFile archive;
  archive.hold(bytes);
  try {
    const auto files = open_image_archive(archive.path());
    std::vector<std::uint8_t> contents;
    for (const Split split : {Split::train, Split::test})
      for (std::int64_t i = 0; i < files->samples(split); ++i) {
        require(files->label(split, i) >= 0 && files->label(split, i) < files->classes(), "a label is a class");
        require(!files->name(split, i).empty(), "every image has a name");
        files->read(contents, split, i);
        require(contents.size() <= bytes.size(), "an image lies in its archive");
      }
  } catch (const DataError& error) {
    require_message(error.what());
  }
}

}  // namespace

void jpeg(std::string_view bytes) { decode(bytes); }

void png(std::string_view bytes) {
  decode(bytes);
  decode(with_png_sums(std::string(bytes)));
}

void image_archive(std::string_view bytes) {
  read_archive(bytes);
  read_archive(with_tar_sums(std::string(bytes)));
}

}  // namespace epochbench::fuzz
