// JPEG by libjpeg-turbo (the TurboJPEG API), PNG by libpng (its simplified API).
#include "src/data/images/decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include <png.h>
#include <turbojpeg.h>

#include "src/base/numbers.h"
#include "src/data/byte_source.h"

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

std::string shown(ImageSize size) { return std::to_string(size.width) + "x" + std::to_string(size.height) + " pixels"; }

class Decoder final : public ImageDecoder {
 public:
  explicit Decoder(std::int64_t max_pixels) : max_pixels_(max_pixels), jpeg_(tjInitDecompress()) {
    if (!jpeg_) throw std::bad_alloc();
  }
  ~Decoder() override {
    png_image_free(&png_);
    tjDestroy(jpeg_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  ImageSize open(std::span<const std::uint8_t> file) override {
    file_ = file;
    png_image_free(&png_);
    is_jpeg_ = starts_with(file, kJpegStart);
    if (file.empty()) throw BadImage("is empty");
    if (is_jpeg_)
      open_jpeg();
    else if (starts_with(file, kPngStart))
      open_png();
    else
      throw BadImage("is neither JPEG nor PNG (it begins with" + first_bytes(file) + ")");
    if (size_.height > max_pixels_ / size_.width)
      throw BadImage("states " + shown(size_) + ", more than the " + format_count(max_pixels_) + " that are decoded");
    if (is_jpeg_ && size_.height * size_.width / kMaxPixelsPerJpegByte > static_cast<std::int64_t>(file.size()))
      throw BadImage("states " + shown(size_) + " in " + format_count(static_cast<std::int64_t>(file.size())) +
                     " bytes, which can hold fewer");
    return size_;
  }

  Picture decode(int shrink) override { return is_jpeg_ ? decode_jpeg(shrink) : decode_png(); }

 private:
  void open_jpeg() {
    int width = 0, height = 0, sampling = 0;
    const bool failed = tjDecompressHeader3(jpeg_, file_.data(), file_.size(), &width, &height, &sampling, &color_space_) != 0;
    if ((failed && tjGetErrorCode(jpeg_) != TJERR_WARNING) || width < 1 || height < 1) throw damaged(tjGetErrorStr2(jpeg_));
    size_ = {height, width};
  }

  void open_png() {
    png_ = {};
    png_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&png_, file_.data(), file_.size()) == 0) throw damaged(png_.message);
    size_ = {png_.height, png_.width};
  }

  Picture decode_jpeg(int shrink) {
    const tjscalingfactor factor{1, shrink};
    const int width = TJSCALED(static_cast<int>(size_.width), factor),
              height = TJSCALED(static_cast<int>(size_.height), factor);
    const bool four = color_space_ == TJCS_CMYK || color_space_ == TJCS_YCCK;
    std::uint8_t* pixels = room(width, height, four ? 4 : 3);
    if (tjDecompress2(jpeg_, file_.data(), file_.size(), pixels, width, 0, height, four ? TJPF_CMYK : TJPF_RGB,
                      TJFLAG_LIMITSCANS) != 0) {
      // Extra bytes between segments, as cameras leave them, lose nothing; every other warning means a loss.
      const std::string_view reason = tjGetErrorStr2(jpeg_);
      if (tjGetErrorCode(jpeg_) != TJERR_WARNING || reason.find("extraneous bytes") == std::string_view::npos)
        throw damaged(reason);
    }
    if (four) to_rgb_from_cmyk(pixels, std::int64_t{width} * height);
    return {{height, width}, pixels};
  }

  // Adobe stores the inks inverted, 255 for none, as nearly every CMYK file does.
  static void to_rgb_from_cmyk(std::uint8_t* pixels, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const int black = pixels[4 * i + 3];
      for (std::int64_t c = 0; c < 3; ++c)
        pixels[3 * i + c] = static_cast<std::uint8_t>((pixels[4 * i + c] * black + 127) / 255);
    }
  }

  Picture decode_png() {
    const bool alpha = (png_.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    png_.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    png_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // libpng assumes linear light for 16 bits otherwise
    std::uint8_t* pixels = room(size_.width, size_.height, alpha ? 4 : 3);
    if (png_image_finish_read(&png_, nullptr, pixels, 0, nullptr) == 0) throw damaged(png_.message);
    if (alpha)
      for (std::int64_t i = 0; i < size_.width * size_.height; ++i) std::memmove(pixels + 3 * i, pixels + 4 * i, 3);
    return {size_, pixels};
  }

  std::uint8_t* room(std::int64_t width, std::int64_t height, std::int64_t channels) {
    const auto bytes = static_cast<std::size_t>(width * height * channels) + kPictureSlack;
    if (pixels_.size() < bytes) pixels_.resize(bytes);
    return pixels_.data();
  }

  static BadImage damaged(std::string_view reason) { return BadImage("is truncated or damaged (" + in_quotes(reason) + ")"); }

  const std::int64_t max_pixels_;
  tjhandle jpeg_;
  png_image png_{};
  std::span<const std::uint8_t> file_;
  bool is_jpeg_ = false;
  int color_space_ = 0;
  ImageSize size_;
  std::vector<std::uint8_t> pixels_;  // grows to the largest picture so far
};

}  // namespace

std::optional<std::string> ImageDecoder::unavailable() { return std::nullopt; }

std::unique_ptr<ImageDecoder> ImageDecoder::make(std::int64_t max_pixels) { return std::make_unique<Decoder>(max_pixels); }

}  // namespace epochbench
