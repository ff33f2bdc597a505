// In place of decoder.cpp where libjpeg-turbo or libpng is missing.
#include "epochbench/dataset.h"
#include "src/data/images/decoder.h"

namespace epochbench {

std::optional<std::string> ImageDecoder::unavailable() {
  return "this epochbench was built without libjpeg-turbo and libpng; install libturbojpeg0-dev and libpng-dev, and build it "
         "again";
}

std::unique_ptr<ImageDecoder> ImageDecoder::make(std::int64_t) {
  throw DataError("images cannot be decoded: " + *unavailable());
}

}  // namespace epochbench
