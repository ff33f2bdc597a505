// A source of samples. Its batches do not depend on the backend or the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  // matters if samples are drawn again every epoch.
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
};

class Tokenizer;                                             // src/data/tokenizer.h
inline constexpr std::string_view kGpt2Tokenizer = "gpt2:";  // a tokenizer's SPEC: this and its folder

// SPEC: synthetic, digits, founding-documents, idx:DIR, cifar10:DIR, text:FILE. Errors: DataError, one line that says what
// is wrong, where, and how to fix it. `tokenizer`: of a text, which is encoded here; null: its bytes.
std::unique_ptr<Dataset> open_dataset(std::string_view spec, const SampleSpec& sample, std::int64_t nominal_samples,
                                      std::uint64_t seed, const Tokenizer* tokenizer = nullptr);

}  // namespace epochbench
