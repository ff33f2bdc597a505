// Pictures as files, made in memory, and archives of them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <png.h>

#include "bench/images/encode_jpeg.h"

namespace epochbench::test {

using Bytes = std::vector<std::uint8_t>;
using PixelAt = std::function<std::uint8_t(int y, int x, int c)>;

inline Bytes pixels_of(int height, int width, int channels, const PixelAt& at) {
  Bytes pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) pixels.push_back(at(y, x, c));
  return pixels;
}

// A JPEG of best quality without subsampling.
inline Bytes jpeg(int height, int width, J_COLOR_SPACE colors, const PixelAt& at, bool progressive = false) {
  const int channels = colors == JCS_GRAYSCALE ? 1 : colors == JCS_RGB ? 3 : 4;
  return encode_jpeg(pixels_of(height, width, channels, at), height, width, colors, {.progressive = progressive});
}

// `format`: PNG_FORMAT_RGB, PNG_FORMAT_GRAY, PNG_FORMAT_RGBA.
inline Bytes png(int height, int width, png_uint_32 format, const PixelAt& at) {
  const Bytes pixels = pixels_of(height, width, PNG_IMAGE_SAMPLE_CHANNELS(format), at);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = format;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  Bytes file(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr) == 0)
    throw std::runtime_error("no PNG was made");
  file.resize(size);
  return file;
}

inline std::string text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

inline void pad(std::string& archive) { archive.resize((archive.size() + 511) / 512 * 512, '\0'); }

// A member of a ustar archive; 100 bytes of its name and of the target of a link at most.
inline std::string tar_member(const std::string& name, const std::string& contents, char type = '0',
                              const std::string& target = "") {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& field) { header.replace(at, field.size(), field); };
  char size[12];
  std::snprintf(size, sizeof size, "%011o", static_cast<unsigned>(contents.size()));
  put(0, name);
  put(124, size);
  put(148, std::string(8, ' '));
  header[156] = type;
  put(157, target);
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(148, std::string(digits, 7) + " ");
  std::string member = header + contents;
  pad(member);
  return member;
}

inline std::string tar(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive;
  for (const auto& [name, contents] : files) archive += tar_member(name, contents);
  return archive + std::string(1024, '\0');
}

}  // namespace epochbench::test
