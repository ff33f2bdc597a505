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
  expect_pixels(test::jpeg(9, 21, JCS_RGB, slope), 9, 21, slope, 4);
  expect_pixels(test::jpeg(9, 21, JCS_RGB, slope, true), 9, 21, slope, 4);
  expect_pixels(
      test::jpeg(9, 21, JCS_GRAYSCALE, slope), 9, 21, [](int y, int x, int) { return slope(y, x, 0); }, 2);
  // Stored inverted: ink 255 is none, so a black plane of 255 leaves the color, and one of 128 half of it.
  expect_pixels(test::jpeg(9, 21, JCS_CMYK, [](int y, int x, int c) { return c == 3 ? std::uint8_t{255} : slope(y, x, c); }), 9,
                21, slope, 4);
  expect_pixels(
      test::jpeg(8, 8, JCS_CMYK, [](int, int, int c) { return std::uint8_t(c == 3 ? 128 : 200); }), 8, 8,
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
  const Bytes large = test::jpeg(33, 50, JCS_RGB, [](int, int, int c) { return std::uint8_t(60 * c + 10); });
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
  EXPECT_EQ(refusal({'G', 'I', 'F', '8', '9'}), "is a GIF picture, not JPEG or PNG");
  EXPECT_EQ(refusal({'x', 'y', 'z', '8', '9'}), "is neither JPEG nor PNG (it begins with 78 79 7a 38)");
  EXPECT_EQ(refusal({0xff}), "is neither JPEG nor PNG (it begins with ff)");
  const Bytes color = test::jpeg(64, 64, JCS_RGB, slope), gray = test::png(64, 64, PNG_FORMAT_GRAY, slope);
  for (const Bytes& whole : {color, gray})
    for (const std::size_t kept : {std::size_t{9}, whole.size() / 2, whole.size() - 20}) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
      EXPECT_THAT(refusal(part), HasSubstr("is truncated or damaged (")) << kept;
    }
}

struct FlatJpeg {
  std::vector<int> levels;                     // of each component
  std::vector<std::pair<int, int>> factors{};  // of its sampling, across and down; 1x1 where missing
  int last_coefficient = 63, jfif_version = 1, rows = 32;
};

// A baseline JPEG of 32 columns and one color: each block is a DC difference, whose size has a code of 4 bits, and an end of
// block of one bit.
Bytes flat_jpeg(const FlatJpeg& picture) {
  const std::size_t count = picture.levels.size();
  const auto factors = [&](std::size_t c) { return c < picture.factors.size() ? picture.factors[c] : std::pair{1, 1}; };
  Bytes file{0xff, 0xd8};
  const auto segment = [&](int marker, const std::vector<int>& bytes) {
    const std::size_t size = bytes.size() + 2;
    file.insert(file.end(), {0xff, static_cast<std::uint8_t>(marker), static_cast<std::uint8_t>(size >> 8),
                             static_cast<std::uint8_t>(size & 255)});
    for (const int byte : bytes) file.push_back(static_cast<std::uint8_t>(byte));
  };
  segment(0xe0, {'J', 'F', 'I', 'F', 0, picture.jfif_version, 1, 0, 0, 1, 0, 1, 0, 0});
  std::vector<int> steps(65, 8);
  steps[0] = 0;
  segment(0xdb, steps);
  std::vector<int> frame{8, 0, picture.rows, 0, 32, static_cast<int>(count)}, scan{static_cast<int>(count)};
  int across = 1, down = 1;
  for (std::size_t c = 0; c < count; ++c) {
    const auto [h, v] = factors(c);
    frame.insert(frame.end(), {static_cast<int>(c) + 1, h << 4 | v, 0});
    scan.insert(scan.end(), {static_cast<int>(c) + 1, 0});
    across = std::max(across, h);
    down = std::max(down, v);
  }
  segment(0xc0, frame);
  std::vector<int> sizes(17, 0), end(17, 0);
  sizes[4] = 12;
  for (int size = 0; size < 12; ++size) sizes.push_back(size);
  end[0] = 0x10;
  end[1] = 1;
  end.push_back(0);
  segment(0xc4, sizes);
  segment(0xc4, end);
  scan.insert(scan.end(), {0, picture.last_coefficient, 0});
  segment(0xda, scan);
  std::string bits;
  std::vector<int> before(count, 128);
  const int units = (32 + 8 * across - 1) / (8 * across) * ((picture.rows + 8 * down - 1) / (8 * down));
  for (int unit = 0; unit < units; ++unit)
    for (std::size_t c = 0; c < count; ++c)
      for (int block = 0; block < factors(c).first * factors(c).second; ++block) {
        const int change = picture.levels[c] - before[c];
        before[c] = picture.levels[c];
        int size = 0;
        while (std::abs(change) >> size != 0) ++size;
        const int coded = change > 0 ? change : change + (1 << size) - 1;
        for (int bit = 3; bit >= 0; --bit) bits += (size >> bit & 1) != 0 ? '1' : '0';
        for (int bit = size - 1; bit >= 0; --bit) bits += (coded >> bit & 1) != 0 ? '1' : '0';
        bits += '0';
      }
  bits.resize((bits.size() + 7) / 8 * 8, '1');
  for (std::size_t i = 0; i < bits.size(); i += 8) {
    file.push_back(static_cast<std::uint8_t>(std::stoi(bits.substr(i, 8), nullptr, 2)));
    if (file.back() == 0xff) file.push_back(0);
  }
  file.insert(file.end(), {0xff, 0xd9});
  return file;
}

void expect_gray(const Bytes& file, int level, int rows = 32) {
  expect_pixels(
      file, rows, 32, [&](int, int, int) { return static_cast<std::uint8_t>(level); }, 1);
}

TEST(ImageDecoder, ReadsAnySampling) {
  expect_gray(flat_jpeg({{140, 128, 128}, {{2, 1}, {2, 1}, {2, 1}}}), 140);
  expect_gray(flat_jpeg({{140, 128, 128}, {{4, 2}, {1, 1}, {1, 1}}}), 140);
  expect_gray(flat_jpeg({{140, 128, 128}, {{2, 2}, {1, 1}, {1, 2}}}), 140);
  expect_gray(flat_jpeg({{140, 128, 128}, {{2, 2}, {1, 2}, {1, 2}}}), 140);
  expect_gray(flat_jpeg({{140}, {{2, 2}}}), 140);
}

TEST(ImageDecoder, WarningsWithoutALossAreNone) {
  expect_gray(flat_jpeg({.levels = {140}, .last_coefficient = 0}), 140);
  expect_gray(flat_jpeg({.levels = {140}, .jfif_version = 2}), 140);
  const Bytes whole = flat_jpeg({.levels = {140, 128, 128}});
  const auto first_table = whole.begin() + 2 + 18;
  Bytes stray(whole.begin(), first_table);
  stray.insert(stray.end(), {0, 0, 0});
  stray.insert(stray.end(), first_table, whole.end());
  expect_gray(stray, 140);
  const Bytes without_end(whole.begin(), whole.end() - 2);
  expect_gray(without_end, 140);
  for (const Bytes& file : {whole, stray})
    for (const std::ptrdiff_t missing : {3, 8}) {
      EXPECT_THAT(refusal({file.begin(), file.end() - missing}), HasSubstr("is truncated or damaged (")) << missing;
    }
}

// Whole files, but not for libjpeg-turbo: 12 bits per sample, lossless, hierarchical, and two components.
TEST(ImageDecoder, OtherKindsAreNotCalledDamaged) {
  const Bytes whole = flat_jpeg({.levels = {140}});
  const std::vector<std::uint8_t> frame{0xff, 0xc0};
  const auto begin = std::ranges::search(whole, frame).begin() - whole.begin();
  for (const auto& [place, value] : {std::pair{4, 12}, {1, 0xc3}, {1, 0xc5}}) {
    Bytes other = whole;
    other[static_cast<std::size_t>(begin + place)] = static_cast<std::uint8_t>(value);
    EXPECT_THAT(refusal(other), HasSubstr("is of a kind that is not read ('Unsupported JPEG")) << value;
  }
  EXPECT_THAT(refusal(flat_jpeg({.levels = {140, 128}})), HasSubstr("is of a kind that is not read ("));
}

// The first scans of a progressive file are a whole picture of less quality.
TEST(ImageDecoder, ScansThatAreMissingAreALoss) {
  const Bytes whole = test::jpeg(32, 32, JCS_RGB, slope, true);
  std::vector<std::size_t> scans;
  for (std::size_t i = 0; i + 1 < whole.size(); ++i)
    if (whole[i] == 0xff && whole[i + 1] == 0xda) scans.push_back(i);
  ASSERT_GT(scans.size(), 3u);
  EXPECT_EQ(refusal({whole.begin(), whole.end() - 2}), "decoded");
  for (std::size_t kept = 1; kept < scans.size(); ++kept) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(scans[kept]));
    EXPECT_THAT(refusal(part), HasSubstr("is truncated or damaged (")) << kept;
  }
}

// A PNG with a chunk after its header.
Bytes with_chunk(const Bytes& png, const std::string& name, const Bytes& data) {
  constexpr std::ptrdiff_t kHeaderEnd = 8 + 25;
  Bytes chunk(name.begin(), name.end());
  chunk.insert(chunk.end(), data.begin(), data.end());
  const auto sum = crc32(0, chunk.data(), static_cast<uInt>(chunk.size()));
  Bytes file(png.begin(), png.begin() + kHeaderEnd);
  for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<std::uint8_t>(data.size() >> shift));
  file.insert(file.end(), chunk.begin(), chunk.end());
  for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<std::uint8_t>(sum >> shift));
  file.insert(file.end(), png.begin() + kHeaderEnd, png.end());
  return file;
}

TEST(ImageDecoder, PngIsReadAsItIsStored) {
  const Bytes color = test::png(7, 5, PNG_FORMAT_RGB, slope), gray = test::png(7, 5, PNG_FORMAT_GRAY, slope);
  const Bytes linear{0, 1, 0x86, 0xa0};  // a gamma of 1
  expect_pixels(with_chunk(color, "gAMA", linear), 7, 5, slope, 0);
  expect_pixels(with_chunk(color, "sRGB", {0}), 7, 5, slope, 0);
  expect_pixels(with_chunk(color, "tRNS", {0, 1, 0, 2, 0, 3}), 7, 5, slope, 0);
  const auto in_gray = [](int y, int x, int) { return slope(y, x, 0); };
  expect_pixels(with_chunk(gray, "gAMA", linear), 7, 5, in_gray, 0);
  expect_pixels(with_chunk(gray, "tRNS", {0, 1}), 7, 5, in_gray, 0);
  EXPECT_THAT(refusal(with_chunk(color, "CgBI", {0x50, 0, 0x20, 2})), HasSubstr("is of a kind that is not read ('CgBI"))
      << "as Xcode writes the pictures of apps";
  Bytes more = color;
  more.insert(more.end(), 100, 7);
  expect_pixels(more, 7, 5, slope, 0);
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
  const Bytes file = test::jpeg(16, 16, JCS_RGB, slope);
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
