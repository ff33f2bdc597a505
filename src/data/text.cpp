#include "src/data/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "epochbench/philox.h"
#include "src/base/file_kind.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::int64_t kTestEvery = 10;  // the last of every ten windows belongs to the test split

// The numbers of one Philox stream in order.
class MaskingRandom {
 public:
  explicit MaskingRandom(const MaskingKey& key) : key_(key) {}

  // 0 to bound - 1. Scaling instead of rejection: the bias is at most bound / 2^32.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((std::uint64_t{next()} * bound) >> 32); }

 private:
  std::uint32_t next() {
    const std::uint32_t lane = drawn_ % 4;
    if (lane == 0) {
      block_ = philox(key_.seed, {drawn_ / 4, static_cast<std::uint32_t>(key_.epoch), static_cast<std::uint32_t>(key_.window),
                                  static_cast<std::uint32_t>(RandomStream::masking)});
    }
    ++drawn_;
    return block_[lane];
  }

  const MaskingKey key_;
  PhiloxBlock block_{};
  std::uint32_t drawn_ = 0;
};

// "is a PDF document, not text"; empty for what may be text. Text in UTF-8 or any single-byte encoding has no byte of 0;
// archives and programs have many, and a file that a crash cut off may have them at its end.
std::string why_no_text(std::string_view bytes) {
  constexpr const char* kRemedy = "name a file with text (--data text:FILE), or use images:PATH";
  if (const FileKind kind = file_kind(bytes.substr(0, kFileKindBytes)); !kind.name.empty() && !kind.text)
    return "is " + std::string(kind.name) + ", not text: " + (kind.remedy.empty() ? kRemedy : std::string(kind.remedy));
  if (const std::size_t zero = bytes.find('\0'); zero != std::string_view::npos)
    return "is not text, or is damaged: its byte " + std::to_string(zero) + " is 0; " + kRemedy;
  return "";
}

// Bytes that belong to no character of UTF-8.
std::size_t count_foreign_bytes(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = code_point_at(text, at).bytes;
    count += bytes == 0;
    at += std::max<std::size_t>(bytes, 1);
  }
  return count;
}

}  // namespace

void mask(std::span<std::int32_t> ids, std::span<std::int32_t> positions, std::span<std::int32_t> labels, std::int32_t mask_id,
          std::int32_t random_ids, const MaskingKey& key) {
  constexpr std::size_t kLongest = 512;
  if (ids.size() < 3 || ids.size() > kLongest || positions.size() > ids.size() - 2)
    throw std::invalid_argument("mask: " + std::to_string(positions.size()) + " positions of a sequence of " +
                                std::to_string(ids.size()) + "; a sequence of 3 to " + std::to_string(kLongest) +
                                " has room for 2 fewer");
  std::array<std::int32_t, kLongest> candidates;
  const auto count = static_cast<std::uint32_t>(ids.size() - 2);
  for (std::uint32_t i = 0; i < count; ++i) candidates[i] = static_cast<std::int32_t>(i) + 1;
  MaskingRandom random(key);
  // The beginning of a Fisher-Yates shuffle.
  for (std::uint32_t i = 0; i < positions.size(); ++i) {
    std::swap(candidates[i], candidates[i + random.below(count - i)]);
    positions[i] = candidates[i];
  }
  std::sort(positions.begin(), positions.end());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::int32_t& id = ids[static_cast<std::size_t>(positions[i])];
    if (!labels.empty()) labels[i] = id;
    const std::uint32_t tenth = random.below(10);
    if (tenth < 8)
      id = mask_id;
    else if (tenth == 8)
      id = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(random_ids)));
  }
}

TextRow text_row(const SampleSpec& sample, std::int64_t row, std::span<const std::span<std::byte>> inputs) {
  const auto row_of = [&](std::size_t input, std::int64_t width) -> std::span<std::int32_t> {
    return {reinterpret_cast<std::int32_t*>(inputs[input].data()) + row * width, static_cast<std::size_t>(width)};
  };
  TextRow result{row_of(0, sample.sequence), {}, {}};
  const bool masked = !sample.next_token && sample.text_classes == 0;
  const std::size_t labels = masked ? 2 : 1;
  if (masked) result.positions = row_of(1, sample.predictions);
  if (inputs.size() > labels) result.labels = row_of(labels, sample.labels());
  return result;
}

TextDataset::TextDataset(std::string name, const SampleSpec& sample, ByteSource& source, std::uint64_t seed,
                         const Tokenizer* tokenizer)
    : name_(std::move(name)), sample_(sample), seed_(seed), window_(sample.sequence - (sample.next_token ? 0 : 2)) {
  check_model(tokenizer);
  bytes_ = read_all(source);
  if (bytes_.empty()) throw DataError("data file " + source.name() + " is empty: name a file with text (--data text:FILE)");
  if (const std::string_view encoding = wide_encoding(bytes_); !encoding.empty())
    throw DataError("data file " + source.name() + " is text in " + std::string(encoding) + ": convert it with iconv -f " +
                    std::string(encoding) + " -t UTF-8, and name the new file (--data text:FILE)");
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  if (const std::string reason = why_no_text(text); !reason.empty())
    throw DataError("data file " + source.name() + " " + reason);
  auto size = static_cast<std::int64_t>(bytes_.size());
  if (tokenizer) {
    tokens_ = tokenizer->encode(text);
    if (const std::size_t foreign = count_foreign_bytes(text); foreign > 0)
      note_ = counted(foreign, "byte", "bytes") + " of the text are not UTF-8, and " +
              (tokenizer->special() ? "word pieces leave them out" : "each is a token of its own") +
              "; convert it, as with iconv -f ISO-8859-1 -t UTF-8";
    std::vector<std::uint8_t>().swap(bytes_);
    size = static_cast<std::int64_t>(tokens_.size());
    special_ = tokenizer->special().value_or(special_);
    random_ids_ = static_cast<std::int32_t>(tokenizer->ids());
  }
  const std::int64_t after = sample_.next_token ? 1 : 0;
  windows_ = (size - after) / window_;
  if (windows_ == 0)
    throw DataError("data file " + source.name() + " has " + std::to_string(size) + (tokenizer ? " tokens" : " bytes") +
                    ", fewer than one window of " + std::to_string(window_ + after) +
                    ": name a longer text, or use a shorter sequence");
  if (windows_ > std::numeric_limits<std::uint32_t>::max())
    throw DataError("data file " + source.name() + " has more windows than can be counted: name a shorter text");
}

void TextDataset::check_model(const Tokenizer* tokenizer) const {
  if (!sample_.text())
    throw DataError("data set " + in_quotes(name_) +
                    " is text, but the model takes images: use synthetic or digits (--data), or a model that takes text");
  if (sample_.text_classes > 0)
    throw DataError("data " + in_quotes(name_) +
                    " have no labels for the model, which classifies texts: use synthetic (--data)");
  if (tokenizer && !sample_.next_token && !tokenizer->special())
    throw DataError(
        "--tokenizer: GPT-2's tokens have no [MASK], and the model fills in masked positions: use wordpiece:FILE, "
        "or a model of the next token, such as gpt2");
  if (tokenizer && sample_.classes < tokenizer->ids()) {
    const std::string ids = std::to_string(tokenizer->ids());
    throw DataError(
        "--tokenizer: it has " + ids + " tokens, and the model knows " + std::to_string(sample_.classes) +
        ", the vocabulary of another model: " +
        (sample_.next_token ? "leave out vocabulary=, or give it " + ids + " or more" : "use the model's own vocab.txt"));
  }
  const std::int32_t ids = sample_.next_token ? kByteIds : kTextVocabulary;
  if (!tokenizer && sample_.classes < ids)
    throw DataError("data " + in_quotes(name_) + " have " + std::to_string(ids) + " ids, the model knows " +
                    std::to_string(sample_.classes) + ": use a model with a larger vocabulary");
}

std::int64_t TextDataset::samples(Split split) const {
  const std::int64_t test = windows_ / kTestEvery;
  return split == Split::test ? test : windows_ - test;
}

void TextDataset::copy_ids(std::span<std::int32_t> ids, std::int64_t first) const {
  const auto count = static_cast<std::ptrdiff_t>(ids.size());
  if (tokens_.empty())
    std::copy_n(bytes_.begin() + first, count, ids.begin());
  else
    std::copy_n(tokens_.begin() + first, count, ids.begin());
}

void TextDataset::fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                       std::span<const std::span<std::byte>> inputs) const {
  const bool training = split == Split::train;
  const std::int64_t window = training ? index + index / (kTestEvery - 1) : kTestEvery * (index + 1) - 1;
  const TextRow target = text_row(sample_, row, inputs);
  const std::int64_t begin = window * window_;
  if (sample_.next_token) {
    copy_ids(target.ids, begin);
    if (!target.labels.empty()) copy_ids(target.labels, begin + 1);
    return;
  }
  target.ids.front() = special_.cls;
  copy_ids(target.ids.subspan(1, static_cast<std::size_t>(window_)), begin);
  target.ids.back() = special_.sep;
  mask(target.ids, target.positions, target.labels, special_.mask, random_ids_, {seed_, training ? epoch : 0, window});
}

}  // namespace epochbench
