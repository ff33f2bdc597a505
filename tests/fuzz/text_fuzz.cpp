// A text as a model with some sequence length reads it, plain or gzip.
#include <algorithm>
#include <span>
#include <vector>

#include "epochbench/dataset.h"
#include "fuzz/scratch_file.h"
#include "fuzz/targets.h"
#include "src/data/text.h"

namespace epochbench::fuzz {
namespace {

constexpr std::int64_t kShortest = 3, kLengths = 64;  // sequences of 3 to 66

void take_last(const TextDataset& dataset, const SampleSpec& sample, Split split) {
  if (dataset.samples(split) == 0) return;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(sample.sequence));
  std::vector<std::int32_t> positions(static_cast<std::size_t>(sample.predictions)), labels = positions;
  const std::vector<std::span<std::byte>> inputs{std::as_writable_bytes(std::span(ids)),
                                                 std::as_writable_bytes(std::span(positions)),
                                                 std::as_writable_bytes(std::span(labels))};
  dataset.fill(split, dataset.samples(split) - 1, 0, 0, inputs);
  require(std::all_of(ids.begin(), ids.end(), [](std::int32_t id) { return id >= 0 && id < kTextVocabulary; }),
          "every id is of the vocabulary");
  require(std::all_of(labels.begin(), labels.end(), [](std::int32_t id) { return id >= 0 && id < kByteIds; }),
          "every masked id was a byte");
}

}  // namespace

void text(std::string_view bytes) {
  if (bytes.empty()) return;
  static ScratchFile scratch;
  scratch.hold(bytes.substr(1));
  const std::int64_t sequence = kShortest + static_cast<unsigned char>(bytes[0]) % kLengths;
  const SampleSpec sample{
      .classes = kTextVocabulary, .sequence = sequence, .predictions = std::max<std::int64_t>(1, 20 * sequence / 128)};
  try {
    const TextDataset dataset("fuzzed", sample, *open_file(scratch.path()), 0);
    take_last(dataset, sample, Split::train);
    take_last(dataset, sample, Split::test);
  } catch (const DataError& error) {
    require_message(error.what());
  }
}

}  // namespace epochbench::fuzz
