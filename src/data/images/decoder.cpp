// JPEG by libjpeg-turbo, PNG by libpng.
#include "src/data/images/decoder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "src/base/file_kind.h"
#include "src/base/numbers.h"
#include "src/data/byte_source.h"
#include "src/data/images/jpeg_reader.h"
#include "src/data/images/png_reader.h"

namespace epochbench {
namespace {

constexpr std::array<std::uint8_t, 3> kJpegStart{0xff, 0xd8, 0xff};
constexpr std::array<std::uint8_t, 8> kPngStart{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
// A JPEG encoder spends at least two bits on a block of 8x8 pixels, so no real file comes near.
constexpr std::int64_t kMaxPixelsPerJpegByte = 1024;

bool starts_with(std::span<const std::uint8_t> file, std::span<const std::uint8_t> start) {
  return file.size() >= start.size() && std::equal(start.begin(), start.end(), file.begin());
}

std::string first_bytes(std::span<const std::uint8_t> file) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : file.first(std::min<std::size_t>(4, file.size())))
    text += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

// "is a WebP picture, not JPEG or PNG"
std::string not_a_picture(std::span<const std::uint8_t> file) {
  const auto begin = file.first(std::min(kFileKindBytes, file.size()));
  const FileKind kind = file_kind({reinterpret_cast<const char*>(begin.data()), begin.size()});
  if (kind.name.empty()) return "is neither JPEG nor PNG (it begins with" + first_bytes(file) + ")";
  return "is " + std::string(kind.name) + ", not JPEG or PNG" + (kind.remedy.empty() ? "" : "; " + std::string(kind.remedy));
}

std::string shown(ImageSize size) { return std::to_string(size.width) + "x" + std::to_string(size.height) + " pixels"; }

class Decoder final : public ImageDecoder {
 public:
  explicit Decoder(std::int64_t max_pixels) : max_pixels_(max_pixels) {}

  ImageSize open(std::span<const std::uint8_t> file) override {
    is_jpeg_ = starts_with(file, kJpegStart);
    if (file.empty()) throw BadImage("is empty");
    if (!is_jpeg_ && !starts_with(file, kPngStart)) throw BadImage(not_a_picture(file));
    size_ = is_jpeg_ ? jpeg_.open(file) : png_.open(file);
    if (size_.height > max_pixels_ / size_.width)
      throw BadImage("states " + shown(size_) + ", more than the " + format_count(max_pixels_) + " that are decoded");
    if (is_jpeg_ && size_.height * size_.width / kMaxPixelsPerJpegByte > static_cast<std::int64_t>(file.size()))
      throw BadImage("states " + shown(size_) + " in " + format_count(static_cast<std::int64_t>(file.size())) +
                     " bytes, which can hold fewer");
    return size_;
  }

  Picture decode(int shrink) override {
    if (!is_jpeg_) {
      png_.read(room(size_, 3), size_);
      return {size_, pixels_.data()};
    }
    const ImageSize size{(size_.height + shrink - 1) / shrink, (size_.width + shrink - 1) / shrink};
    std::uint8_t* pixels = room(size, jpeg_.cmyk() ? 4 : 3);
    jpeg_.read(pixels, size, shrink);
    if (jpeg_.cmyk()) to_rgb_from_cmyk(pixels, size.height * size.width);
    return {size, pixels};
  }

 private:
  // Adobe stores the inks inverted, 255 for none, as nearly every CMYK file does.
  static void to_rgb_from_cmyk(std::uint8_t* pixels, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const int black = pixels[4 * i + 3];
      for (std::int64_t c = 0; c < 3; ++c)
        pixels[3 * i + c] = static_cast<std::uint8_t>((pixels[4 * i + c] * black + 127) / 255);
    }
  }

  std::uint8_t* room(ImageSize size, std::int64_t channels) {
    const auto bytes = static_cast<std::size_t>(size.height * size.width * channels) + kPictureSlack;
    if (pixels_.size() < bytes) pixels_.resize(bytes);
    return pixels_.data();
  }

  const std::int64_t max_pixels_;
  JpegReader jpeg_;
  PngReader png_;
  bool is_jpeg_ = false;
  ImageSize size_;
  std::vector<std::uint8_t> pixels_;  // grows to the largest picture so far
};

}  // namespace

BadImage damaged_image(std::string_view reason) { return BadImage("is truncated or damaged (" + in_quotes(reason) + ")"); }

BadImage unread_image(std::string_view reason) { return BadImage("is of a kind that is not read (" + in_quotes(reason) + ")"); }

std::optional<std::string> ImageDecoder::unavailable() { return std::nullopt; }

std::unique_ptr<ImageDecoder> ImageDecoder::make(std::int64_t max_pixels) { return std::make_unique<Decoder>(max_pixels); }

}  // namespace epochbench
