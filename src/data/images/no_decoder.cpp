// In place of the readers of images where libjpeg-turbo, libpng or libarchive is missing.
#include "epochbench/dataset.h"
#include "src/data/images/decoder.h"
#include "src/data/images/image_files.h"

namespace epochbench {

std::optional<std::string> ImageDecoder::unavailable() {
  return "this epochbench was built without the libraries that read images; install libarchive-dev, libjpeg-dev and "
         "libpng-dev, and build it again";
}

std::unique_ptr<ImageDecoder> ImageDecoder::make(std::int64_t) {
  throw DataError("images cannot be decoded: " + *unavailable());
}

BadImage damaged_image(std::string_view reason) { return BadImage(std::string(reason)); }

std::unique_ptr<ImageFiles> open_image_archive(const std::filesystem::path&) {
  throw DataError("images cannot be read: " + *ImageDecoder::unavailable());
}

}  // namespace epochbench
