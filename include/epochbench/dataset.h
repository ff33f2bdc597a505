// A source of samples. Its batches do not depend on the backend or the number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/model.h"

namespace epochbench {

enum class Split : std::uint8_t { train, test };

class DataError : public std::runtime_error {  // the data are wrong or do not fit the model: exit code 2
 public:
  using std::runtime_error::runtime_error;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const std::string& name() const = 0;          // the SPEC that opened it: "digits", "idx:DIR"
  virtual bool synthetic() const = 0;                   // generated; batches are prepared before the clock starts
  virtual std::int64_t samples(Split split) const = 0;  // synthetic: the model's nominal number, test 0
  // Writes sample `index` of the split as row `row` of a batch, with the inputs of SampleSpec: images f32 (standardized), or
  // input_ids and, if present, masked_positions i32; then labels i32 if there is one more input. Thread-safe. `epoch` matters
  // if samples are redrawn or randomly changed in every epoch.
  virtual void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                    std::span<const std::span<std::byte>> inputs) const = 0;
  // The value of each byte of an image, f32 [channels of the model,256], if fill_bytes() gives the images; otherwise empty.
  virtual std::vector<float> pixel_values() const { return {}; }
  // Like fill(), but with images u8; fill() writes their pixel_values(). Errors: std::logic_error if the data set has no bytes.
  virtual void fill_bytes(Split /*split*/, std::int64_t /*index*/, std::uint64_t /*epoch*/, std::int64_t /*row*/,
                          std::span<const std::span<std::byte>> /*inputs*/) const {
    throw std::logic_error("data " + name() + " do not give images as bytes");
  }
  // How many classes the files have that it was opened with; empty if they do not say.
  virtual std::optional<std::int64_t> classes() const { return std::nullopt; }
  // How many samples could not be read so far and were replaced by others; empty if that cannot happen.
  virtual std::optional<std::int64_t> left_out() const { return std::nullopt; }
  // What was found where it was opened and is not read, or not as it may have been meant, for people; empty: nothing.
  virtual std::string note() const { return {}; }
};

// Options for image files (--data images:PATH).
enum class Normalization : std::uint8_t { imagenet, measured };  // whose mean and deviation are used
enum class BadImages : std::uint8_t { stop, skip };              // skip: the next image replaces a damaged one
struct Augmentation {                                            // of the training split, drawn per sample and epoch
  bool crop = false, flip = false, color = false;
  bool operator==(const Augmentation&) const = default;
};
struct ImageOptions {
  Normalization normalization = Normalization::imagenet;
  BadImages bad_images = BadImages::stop;
  Augmentation augmentation = {};
  bool cold = false;  // a file is dropped from the page cache before it is read, so that it comes from the disk
  bool operator==(const ImageOptions&) const = default;
};
inline constexpr std::string_view kImageFiles = "images:";  // prefix of their SPEC

class Tokenizer;  // src/data/tokenizer.h

// What a data set holds. Texts have no labels, so a model that classifies texts takes none of them.
enum class Holds : std::uint8_t { anything, images, colored_images, text };

struct DataSource {
  const char *spec, *description;
  Holds holds;
};
// Every SPEC that open_dataset knows.
inline constexpr std::array kDataSources{
    DataSource{"synthetic", "random images or texts of the model's shape, prepared before the clock starts", Holds::anything},
    DataSource{"digits", "1,797 handwritten digits of 8x8 pixels, embedded; 1,438 to train, 359 to test", Holds::images},
    DataSource{"fashion-mnist",
               "70,000 pictures of clothes of 28x28 pixels, from Debian's package dataset-fashion-mnist; 10,000 to test",
               Holds::images},
    DataSource{"founding-documents", "54,676 bytes of English, embedded: the Declaration of Independence, the Constitution",
               Holds::text},
    DataSource{"idx:DIR", "MNIST's files, plain or .gz: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-...",
               Holds::images},
    DataSource{"cifar10:DIR", "CIFAR-10's binary files: data_batch_1.bin ..., test_batch.bin", Holds::colored_images},
    DataSource{"images:PATH", "JPEG and PNG files, train/CLASS/... and val/CLASS/... in a folder or a tar archive",
               Holds::colored_images},
    DataSource{"text:FILE",
               "any text, plain or .gz, byte by byte or by --tokenizer, to fill in or to go on; every tenth window to test",
               Holds::text}};

// Errors: DataError, one line that says what is wrong, where, and how to fix it. `tokenizer` encodes a text here; null: the
// text's bytes. `images`: for image files only.
std::unique_ptr<Dataset> open_dataset(std::string_view spec, const SampleSpec& sample, std::int64_t nominal_samples,
                                      std::uint64_t seed, const Tokenizer* tokenizer = nullptr,
                                      const ImageOptions& images = {});

}  // namespace epochbench
