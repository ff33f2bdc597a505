// What is decoded, what is refused, and in which words.
#include "src/data/images/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "support/image_files.h"

namespace epochbench {
namespace {

using test::Bytes;
using testing::HasSubstr;

std::uint8_t slope(int y, int x, int c) { return static_cast<std::uint8_t>(40 * c + 5 * y + 3 * x); }

std::string refusal(const Bytes& file, std::int64_t max_pixels = ImageDecoder::kMaxPixels) {
  try {
    const auto decoder = ImageDecoder::make(max_pixels);
    decoder->open(file);
    decoder->decode(1);
  } catch (const BadImage& error) {
    return error.what();
  }
  return "decoded";
}

// The pixels in full size, each within `off` of `expected`.
void expect_pixels(const Bytes& file, int height, int width, const test::PixelAt& expected, int off) {
  const auto decoder = ImageDecoder::make();
  const ImageSize size = decoder->open(file);
  ASSERT_EQ(size.height, height);
  ASSERT_EQ(size.width, width);
  const Picture picture = decoder->decode(1);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        ASSERT_NEAR(picture.rgb[(y * width + x) * 3 + c], expected(y, x, c), off) << y << ", " << x << ", " << c;
}

TEST(ImageDecoder, ReadsJpegInColorGrayAndCmyk) {
  expect_pixels(test::jpeg(9, 21, TJPF_RGB, slope), 9, 21, slope, 4);
  expect_pixels(test::jpeg(9, 21, TJPF_RGB, slope, TJFLAG_PROGRESSIVE), 9, 21, slope, 4);
  expect_pixels(
      test::jpeg(9, 21, TJPF_GRAY, slope), 9, 21, [](int y, int x, int) { return slope(y, x, 0); }, 2);
  // Stored inverted: ink 255 is none, so a black plane of 255 leaves the color, and one of 128 half of it.
  expect_pixels(test::jpeg(9, 21, TJPF_CMYK, [](int y, int x, int c) { return c == 3 ? std::uint8_t{255} : slope(y, x, c); }),
                9, 21, slope, 4);
  expect_pixels(
      test::jpeg(8, 8, TJPF_CMYK, [](int, int, int c) { return std::uint8_t(c == 3 ? 128 : 200); }), 8, 8,
      [](int, int, int) { return std::uint8_t{100}; }, 4);
}

TEST(ImageDecoder, ReadsPngInColorGrayAndWithAlpha) {
  expect_pixels(test::png(7, 5, PNG_FORMAT_RGB, slope), 7, 5, slope, 0);
  expect_pixels(
      test::png(7, 5, PNG_FORMAT_GRAY, slope), 7, 5, [](int y, int x, int) { return slope(y, x, 0); }, 0);
  expect_pixels(test::png(7, 5, PNG_FORMAT_RGBA, slope), 7, 5, slope, 0);  // alpha is dropped, not blended
}

TEST(ImageDecoder, DecodesAJpegSmallerAndAPngInFull) {
  const auto decoder = ImageDecoder::make();
  const Bytes large = test::jpeg(33, 50, TJPF_RGB, [](int, int, int c) { return std::uint8_t(60 * c + 10); });
  for (const auto& [shrink, height, width] : {std::tuple{2, 17, 25}, {4, 9, 13}, {8, 5, 7}}) {
    decoder->open(large);
    const Picture picture = decoder->decode(shrink);
    EXPECT_EQ(picture.size.height, height);
    EXPECT_EQ(picture.size.width, width);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(picture.rgb[3 * (height * width - 1) + c], 60 * c + 10, 3);
  }
  const Bytes file = test::png(16, 16, PNG_FORMAT_RGB, slope);
  decoder->open(file);
  EXPECT_EQ(decoder->decode(8).size.height, 16);
}

TEST(ImageDecoder, RefusesWhatIsNoImageOrOnlyAPartOfOne) {
  EXPECT_EQ(refusal({}), "is empty");
  EXPECT_EQ(refusal({'G', 'I', 'F', '8', '9'}), "is neither JPEG nor PNG (it begins with 47 49 46 38)");
  EXPECT_EQ(refusal({0xff}), "is neither JPEG nor PNG (it begins with ff)");
  const Bytes color = test::jpeg(64, 64, TJPF_RGB, slope), gray = test::png(64, 64, PNG_FORMAT_GRAY, slope);
  for (const Bytes& whole : {color, gray})
    for (const std::size_t kept : {std::size_t{9}, whole.size() / 2, whole.size() - 20}) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
      EXPECT_THAT(refusal(part), HasSubstr("is truncated or damaged (")) << kept;
    }
}

// The size in the header of a JPEG: the frame's marker is followed by length and precision, then height and width.
Bytes with_size(Bytes file, int height, int width) {
  for (std::size_t i = 0; i + 8 < file.size(); ++i)
    if (file[i] == 0xff && (file[i + 1] == 0xc0 || file[i + 1] == 0xc2)) {
      const int sizes[] = {height >> 8, height & 255, width >> 8, width & 255};
      for (std::size_t k = 0; k < 4; ++k) file[i + 5 + k] = static_cast<std::uint8_t>(sizes[k]);
      return file;
    }
  throw std::runtime_error("no frame");
}

TEST(ImageDecoder, RefusesSizesThatTakeTooMuchMemory) {
  const Bytes file = test::jpeg(16, 16, TJPF_RGB, slope);
  EXPECT_THAT(refusal(with_size(file, 60000, 60000)), HasSubstr("states 60000x60000 pixels, more than the 67,108,864"));
  EXPECT_THAT(refusal(with_size(file, 8000, 8000)), HasSubstr("states 8000x8000 pixels in"));
  EXPECT_THAT(refusal(file, 255), HasSubstr("states 16x16 pixels, more than the 255"));
  EXPECT_EQ(refusal(file, 256), "decoded");

  Bytes large = test::png(16, 16, PNG_FORMAT_GRAY, slope);
  for (const std::size_t at : {std::size_t{16}, std::size_t{20}}) {  // width and height, then their checksum
    large[at + 2] = 60000 >> 8;
    large[at + 3] = 60000 & 255;
  }
  const auto sum = static_cast<std::uint32_t>(crc32(0, large.data() + 12, 17));
  for (std::size_t k = 0; k < 4; ++k) large[29 + k] = static_cast<std::uint8_t>(sum >> (24 - 8 * k));
  EXPECT_THAT(refusal(large), HasSubstr("states 60000x60000 pixels, more than"));
}

}  // namespace
}  // namespace epochbench
