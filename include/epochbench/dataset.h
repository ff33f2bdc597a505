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
  // Writes sample `index` of the split as row `row` of a batch, with inputs as SampleSpec states: images f32 (standardized), or
  // input_ids and, if there are such, masked_positions i32; then labels i32, if there is one more input. Thread-safe. `epoch`
  // matters if samples are drawn again every epoch, or changed at random.
  virtual void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                    std::span<const std::span<std::byte>> inputs) const = 0;
  // What each byte of an image stands for, f32 [channels of the model,256], if fill_bytes() gives the images; empty if it does
  // not.
  virtual std::vector<float> pixel_values() const { return {}; }
  // As fill, with images u8: fill writes pixel_values() of these. Errors: std::logic_error where the data set has no bytes.
  virtual void fill_bytes(Split /*split*/, std::int64_t /*index*/, std::uint64_t /*epoch*/, std::int64_t /*row*/,
                          std::span<const std::span<std::byte>> /*inputs*/) const {
    throw std::logic_error("data " + name() + " do not give images as bytes");
  }
  // Samples that could not be read so far, in whose place others stand; empty if that cannot be.
  virtual std::optional<std::int64_t> left_out() const { return std::nullopt; }
};

// What is done with images in files (--data images:PATH).
enum class Normalization : std::uint8_t { imagenet, measured };  // by whose mean and deviation
enum class BadImages : std::uint8_t { stop, skip };              // skip: the next image stands in for one that is damaged
struct Augmentation {                                            // of the training split, drawn by sample and epoch
  bool crop = false, flip = false, color = false;
  bool operator==(const Augmentation&) const = default;
};
struct ImageOptions {
  Normalization normalization = Normalization::imagenet;
  BadImages bad_images = BadImages::stop;
  Augmentation augmentation = {};
  bool cold = false;  // a file leaves the page cache before it is read, so that it comes from the disk
  bool operator==(const ImageOptions&) const = default;
};
inline constexpr std::string_view kImageFiles = "images:";  // begins their SPEC

class Tokenizer;  // src/data/tokenizer.h
// A tokenizer's SPEC: one of these, and its folder or file.
inline constexpr std::string_view kGpt2Tokenizer = "gpt2:", kWordPieceTokenizer = "wordpiece:";

struct DataSource {
  const char *spec, *description;
};
// Every SPEC that open_dataset knows.
inline constexpr std::array kDataSources{
    DataSource{"synthetic", "random images or texts of the model's shape, prepared before the clock starts"},
    DataSource{"digits", "1,797 handwritten digits of 8x8 pixels, embedded; 1,438 to train, 359 to test"},
    DataSource{"fashion-mnist",
               "70,000 pictures of clothes of 28x28 pixels, from Debian's package dataset-fashion-mnist; 10,000 to test"},
    DataSource{"founding-documents", "54,676 bytes of English, embedded: the Declaration of Independence, the Constitution"},
    DataSource{"idx:DIR", "MNIST's files, plain or .gz: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..."},
    DataSource{"cifar10:DIR", "CIFAR-10's binary files: data_batch_1.bin ..., test_batch.bin"},
    DataSource{"images:PATH", "JPEG and PNG files, train/CLASS/... and val/CLASS/... in a folder or a tar archive"},
    DataSource{"text:FILE",
               "any text, plain or .gz, byte by byte or by --tokenizer, to fill in or to go on; every tenth window to test"}};

// Errors: DataError, one line that says what is wrong, where, and how to fix it. `tokenizer`: of a text, which is encoded here;
// null: its bytes. `images`: of image files alone.
std::unique_ptr<Dataset> open_dataset(std::string_view spec, const SampleSpec& sample, std::int64_t nominal_samples,
                                      std::uint64_t seed, const Tokenizer* tokenizer = nullptr,
                                      const ImageOptions& images = {});

}  // namespace epochbench
