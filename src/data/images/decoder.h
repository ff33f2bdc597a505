// Decodes a JPEG or PNG file to pixels. The format is recognized by the first bytes, not by the name.
//
// No number in a file is trusted: a size is checked before memory is allocated for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace epochbench {

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

struct Picture {
  ImageSize size;
  const std::uint8_t* rgb = nullptr;  // [height,width,3], followed by kPictureSlack bytes that may be read
};
inline constexpr std::size_t kPictureSlack = 32;

// The rest of a sentence that begins with the file's name: "is truncated".
class BadImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "is truncated or damaged ('reason')"
BadImage damaged_image(std::string_view reason);
// "is of a kind that is not read ('reason')": whole, but not for this decoder.
BadImage unread_image(std::string_view reason);

// For use by one thread.
class ImageDecoder {
 public:
  // 8,192 x 8,192; decoded, these take 200 MB.
  static constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

  static std::optional<std::string> unavailable();  // why this build cannot decode; empty if it can
  // Errors: DataError if unavailable() has a reason.
  static std::unique_ptr<ImageDecoder> make(std::int64_t max_pixels = kMaxPixels);
  virtual ~ImageDecoder() = default;

  // The size that the header states. `file` must outlive decode(). Errors: BadImage for another format, a damaged header, and
  // more pixels than allowed.
  virtual ImageSize open(std::span<const std::uint8_t> file) = 0;
  // The opened file, once, in RGB: gray repeated, CMYK converted, alpha dropped, EXIF's rotation ignored. `shrink`: 1, 2, 4 or
  // 8; a JPEG is decoded to that part of its height and width, rounded up, a PNG in full. The pixels stay until the next call.
  // Errors: BadImage for a file that is damaged or ends too soon.
  virtual Picture decode(int shrink) = 0;
};

}  // namespace epochbench
