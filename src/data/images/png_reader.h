// Pixels of a PNG by libpng, as they are stored: gamma, color profiles and transparency change nothing, as in Pillow.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <span>
#include <vector>

#include <png.h>

#include "src/data/images/decoder.h"

namespace epochbench {

// For use by one thread.
class PngReader {
 public:
  PngReader() = default;
  ~PngReader() { close(); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // The size that the header states. `file` must outlive read(). Errors of both: BadImage.
  ImageSize open(std::span<const std::uint8_t> file);
  // The opened file, once, into [height,width,3]: gray repeated, palettes looked up, the upper byte of 16 bits.
  void read(std::uint8_t* pixels, ImageSize size);

 private:
  static void end(png_structp png, png_const_charp reason);
  static void ignore(png_structp, png_const_charp) {}
  static void copy(png_structp png, png_bytep bytes, std::size_t count);
  bool read_header();
  bool read_rows(std::size_t stride);
  BadImage refusal() const;
  void close();

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::uint8_t> left_;  // of the file
  std::vector<png_bytep> rows_;
  std::jmp_buf back_;
  char reason_[64] = "";
};

}  // namespace epochbench
