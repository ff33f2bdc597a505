// How fast a core decodes a folder's images, and what augmentation adds: epochbench_decode_rate PATH
//
// The files are in memory, so that the disk does not count. The kinds take turns, so that all run under the same conditions.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "src/base/clock.h"
#include "src/base/statistics.h"
#include "src/data/images/image_files.h"
#include "src/data/images/preparation.h"

namespace epochbench {
namespace {

struct Options {
  std::string folder;
  std::int64_t images = 100;
  int rounds = 11, size = 224;
};

using Bytes = std::vector<std::uint8_t>;

struct Kind {
  const char* name;
  std::function<void(const Bytes&, std::int64_t)> run;
};

void measure(const Options& options) {
  const auto files = open_image_files(options.folder);
  const std::int64_t samples = files->samples(Split::train), count = std::min(options.images, samples);
  std::vector<Bytes> images(static_cast<std::size_t>(count));
  double pixels = 0;
  const auto decoder = ImageDecoder::make();
  for (std::int64_t i = 0; i < count; ++i) {
    Bytes& file = images[static_cast<std::size_t>(i)];
    files->read(file, Split::train, i * samples / count);
    const ImageSize size = decoder->open(file);
    pixels += static_cast<double>(size.height * size.width);
  }
  const ImageSize target{options.size, options.size};
  ImagePreparation preparation(target, ImageDecoder::make());
  Bytes image(static_cast<std::size_t>(target.height * target.width * 3));
  const auto prepared = [&](const Augmentation& augmentation) {
    return [&, augmentation](const Bytes& file, std::int64_t i) {
      preparation.prepare(image.data(), file, augmentation, {0, 0, i});
    };
  };
  const std::array kinds{Kind{"decoded in full",
                              [&](const Bytes& file, std::int64_t) {
                                decoder->open(file);
                                decoder->decode(1);
                              }},
                         Kind{"decoded as small as a random crop allows",
                              [&](const Bytes& file, std::int64_t i) {
                                const ImageSize size = decoder->open(file);
                                decoder->decode(largest_shrink(random_crop(size, {0, 0, i}), target));
                              }},
                         Kind{"and cropped, resized", prepared({.crop = true})},
                         Kind{"and flipped", prepared({.crop = true, .flip = true})},
                         Kind{"and colors changed", prepared({.crop = true, .flip = true, .color = true})},
                         Kind{"decoded and resized without augmentation", prepared({})}};
  std::array<std::vector<double>, kinds.size()> seconds;
  for (int round = -1; round < options.rounds; ++round)  // the first warms up
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const double begin = thread_cpu_seconds();
      for (std::int64_t i = 0; i < count; ++i) kinds[k].run(images[static_cast<std::size_t>(i)], i);
      if (round >= 0) seconds[k].push_back((thread_cpu_seconds() - begin) / static_cast<double>(count));
    }
  std::printf("%lld images of %.0f pixels on average, one thread, %d rounds\n", static_cast<long long>(count),
              pixels / static_cast<double>(count), options.rounds);
  std::array<double, kinds.size()> medians{};
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    medians[k] = median(seconds[k]);
    std::printf("%-42s %7.0f images/s  %6.3f ms", kinds[k].name, 1 / medians[k], 1e3 * medians[k]);
    if (k == 0) std::printf("  %.1f Mpixel/s", pixels / static_cast<double>(count) / medians[k] / 1e6);
    std::printf("\n");
  }
  std::printf(
      "crop, flip and colors, in percent of decoding in full: %.1f beyond what is done without them, %.1f with all resizing\n",
      100 * (medians[4] - medians[5]) / medians[0], 100 * (medians[4] - medians[1]) / medians[0]);
}

}  // namespace
}  // namespace epochbench

int main(int argc, char** argv) {
  epochbench::Options options;
  CLI::App app{"Rates at which one core decodes and augments the training images of a set."};
  app.add_option("PATH", options.folder, "as in --data images:PATH")->required();
  app.add_option("--images", options.images, "so many, evenly spread (default 100)")->check(CLI::Range(1, 100'000));
  app.add_option("--rounds", options.rounds, "over all images (default 11)")->check(CLI::Range(1, 10'000));
  app.add_option("--size", options.size, "height and width of a model's images (default 224)")->check(CLI::Range(1, 4096));
  CLI11_PARSE(app, argc, argv);
  try {
    epochbench::measure(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epochbench_decode_rate: %s\n", error.what());
    return 2;
  }
}
