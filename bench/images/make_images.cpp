// Makes a set of JPEG files in ImageNet's layout from random numbers: noise of every scale, falling off as in photographs, with
// ellipses in the colors of the class, so that decoding costs what it costs on photographs and classes can be learned.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/images/encode_jpeg.h"
#include "epochbench/philox.h"
#include "src/data/prepared_dataset.h"

namespace epochbench {
namespace {

struct Options {
  std::string folder;
  std::int64_t classes = 10, train = 100, val = 20;
  int width = 500, height = 375, quality = 92;  // the most common size of ImageNet's photographs
  std::uint64_t seed = 0;
};

class Picture {
 public:
  // `number`: the image's, from which everything is drawn.
  Picture(const Options& options, std::int64_t label, std::uint64_t number)
      : key_(options.seed ^ number << 20), width_(options.width), height_(options.height) {
    const std::array<double, 4> sizes = uniform(0);
    width_ = std::max(8, static_cast<int>(width_ * (0.8 + 0.4 * sizes[0])));
    height_ = std::max(8, static_cast<int>(height_ * (0.8 + 0.4 * sizes[1])));
    values_.assign(static_cast<std::size_t>(width_ * height_ * 3), 128.0f);
    constexpr int kCoarsest = 128, kFinest = 1;
    for (int step = kCoarsest; step >= kFinest; step /= 2)
      add_noise(step, 16.0f + 12.0f * static_cast<float>(std::sqrt(step / 128.0)));
    const double hue = 2 * 3.14159265358979 * static_cast<double>(label) / static_cast<double>(options.classes);
    for (std::uint32_t i = 1; i <= 6; ++i) add_ellipse(uniform(i), hue);
  }

  std::vector<std::uint8_t> jpeg(int quality) const {
    std::vector<std::uint8_t> pixels(values_.size());
    std::transform(values_.begin(), values_.end(), pixels.begin(),
                   [](float value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f)); });
    return encode_jpeg(pixels, height_, width_, JCS_RGB, {quality, true});
  }

 private:
  std::array<double, 4> uniform(std::uint32_t what) const {
    const PhiloxBlock bits = philox(key_, {what, 0, 0, 99});
    return {uniform01(bits[0]), uniform01(bits[1]), uniform01(bits[2]), uniform01(bits[3])};
  }

  // Random values every `step` pixels, interpolated in between: mostly gray, like nature.
  void add_noise(int step, float amplitude) {
    const int columns = width_ / step + 2, rows = height_ / step + 2;
    std::vector<float> lattice(static_cast<std::size_t>(columns * rows) * 4);
    for (std::size_t i = 0; i < lattice.size(); i += 4) {
      const PhiloxBlock bits = philox(key_, {static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(step), 1, 99});
      for (std::size_t c = 0; c < 4; ++c) lattice[i + c] = static_cast<float>(uniform01(bits[c]) * 2 - 1) * amplitude;
    }
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x) {
        const float down = static_cast<float>(y % step) / static_cast<float>(step),
                    across = static_cast<float>(x % step) / static_cast<float>(step);
        const float* corner = lattice.data() + static_cast<std::size_t>((y / step * columns + x / step) * 4);
        const auto at = [&](int c) {
          const float top = corner[c] + across * (corner[4 + c] - corner[c]);
          const float* below = corner + 4 * columns;
          return top + down * (below[c] + across * (below[4 + c] - below[c]) - top);
        };
        const float gray = at(3);
        for (int c = 0; c < 3; ++c) values_[static_cast<std::size_t>((y * width_ + x) * 3 + c)] += gray + 0.3f * at(c);
      }
  }

  void add_ellipse(const std::array<double, 4>& where, double hue) {
    const double x0 = where[0] * width_, y0 = where[1] * height_, rx = (0.05 + 0.2 * where[2]) * width_,
                 ry = (0.05 + 0.2 * where[3]) * height_;
    for (int y = std::max(0, static_cast<int>(y0 - ry)); y < std::min<double>(height_, y0 + ry); ++y)
      for (int x = std::max(0, static_cast<int>(x0 - rx)); x < std::min<double>(width_, x0 + rx); ++x) {
        if (std::pow((x - x0) / rx, 2) + std::pow((y - y0) / ry, 2) > 1) continue;
        for (int c = 0; c < 3; ++c)
          values_[static_cast<std::size_t>((y * width_ + x) * 3 + c)] += static_cast<float>(60 * std::cos(hue - 2.0944 * c));
      }
  }

  std::uint64_t key_;
  int width_, height_;
  std::vector<float> values_;  // [height,width,3]
};

std::uintmax_t make(const Options& options) {
  namespace fs = std::filesystem;
  std::atomic<std::uintmax_t> bytes = 0;
  for (const auto& [split, per_class] : {std::pair{"train", options.train}, std::pair{"val", options.val}}) {
    const fs::path folder = fs::path(options.folder) / split;
    if (fs::exists(folder)) throw std::runtime_error(folder.string() + " exists: name another folder, or remove it");
    for (std::int64_t label = 0; label < options.classes; ++label)
      fs::create_directories(folder / ("class" + std::to_string(label)));
    const bool test = split == std::string("val");
    for_all_rows(options.classes * per_class, [&, per_class = per_class](std::int64_t i) {
      const std::int64_t label = i / per_class;
      const auto file = Picture(options, label, static_cast<std::uint64_t>(2 * i + (test ? 1 : 0))).jpeg(options.quality);
      const fs::path path = folder / ("class" + std::to_string(label)) / (std::to_string(i) + ".jpg");
      std::ofstream out(path, std::ios::binary);
      out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
      if (!out.flush()) throw std::runtime_error("cannot write " + path.string() + ": make room, or name another folder");
      bytes += file.size();
    });
  }
  return bytes;
}

}  // namespace
}  // namespace epochbench

int main(int argc, char** argv) {
  epochbench::Options options;
  CLI::App app{"Makes a set of JPEG files for --data images:DIR from random numbers.", "scripts/make_images"};
  const auto number = [&](const char* flag, auto& value, const char* help, int least, int most) {
    app.add_option(flag, value, help)->check(CLI::Range(least, most).description(""))->type_name("N");
  };
  app.add_option("DIR", options.folder, "folder for train/CLASS and val/CLASS")->required()->type_name("");
  number("--classes", options.classes, "number of classes, 1 to 65,000 (default 10)", 1, 65'000);
  number("--train", options.train, "training images per class, 1 to 10 million (default 100)", 1, 10'000'000);
  number("--val", options.val, "validation images per class, 1 to 10 million (default 20)", 1, 10'000'000);
  number("--width", options.width, "mean width in pixels, 8 to 8,000 (default 500)", 8, 8000);
  number("--height", options.height, "mean height in pixels, 8 to 8,000 (default 375)", 8, 8000);
  number("--quality", options.quality, "of the JPEG files, 1 to 100 (default 92)", 1, 100);
  app.add_option("--seed", options.seed, "of all random numbers (default 0)")->type_name("N");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::int64_t images = options.classes * (options.train + options.val);
    const auto bytes = static_cast<double>(epochbench::make(options));
    std::printf("%lld images, %.0f KB each on average\n", static_cast<long long>(images),
                bytes / 1e3 / static_cast<double>(images));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_images: %s\n", error.what());
    return 2;
  }
}
