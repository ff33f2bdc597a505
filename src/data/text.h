// Texts, byte by byte or as tokens, for models that learn to fill in masked positions, or the byte or token that follows.
//
// Ids 0 to 255 of bytes are the bytes themselves, for any encoding. Four special ids follow, which only masked texts have; and
// these are never tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"
#include "src/data/tokenizer.h"

namespace epochbench {

inline constexpr std::int32_t kByteIds = 256;
// The id of padding, 256, is never written: every window is full.
inline constexpr std::int32_t kClsId = 257, kSepId = 258, kMaskId = 259;
inline constexpr std::int32_t kTextVocabulary = 260;

// The source of a sample's masks: Philox, stream `masking`.
struct MaskingKey {
  std::uint64_t seed = 0, epoch = 0;
  std::int64_t window = 0;
};

// Chooses positions.size() distinct positions of ids[1] to ids[size - 2], in ascending order, and stores the ids at these
// positions as labels. Of the chosen ids 80 % become mask_id, 10 % one of 0 to random_ids - 1, and 10 % stay (Devlin et al.
// 2018). `labels` may be empty if they are not needed. Errors: std::invalid_argument for more positions than there are, and
// for fewer than 3 or more than 512 ids.
void mask(std::span<std::int32_t> ids, std::span<std::int32_t> positions, std::span<std::int32_t> labels, std::int32_t mask_id,
          std::int32_t random_ids, const MaskingKey& key);

// Windows of sequence - 2 consecutive bytes or word pieces between [CLS] and [SEP], or, where every next id is a label, of
// sequence + 1 bytes or tokens; the next window begins with the last one. The remainder at the end is dropped, so that nothing
// is padded. Window i belongs to the test split if i mod 10 is 9. Training windows are masked differently in each epoch, test
// windows always alike.
class TextDataset final : public Dataset {
 public:
  // Reads the whole source, and encodes it if there is a tokenizer. Errors: DataError for a model that does not take text or
  // wants classes of texts, has too small a vocabulary, or fills in masked tokens where the tokenizer has no token for a mask;
  // and for a text shorter than one window.
  TextDataset(std::string name, const SampleSpec& sample, ByteSource& source, std::uint64_t seed,
              const Tokenizer* tokenizer = nullptr);

  const std::string& name() const override { return name_; }
  bool synthetic() const override { return false; }
  std::int64_t samples(Split split) const override;
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override;
  std::string note() const override { return note_; }

 private:
  void check_model(const Tokenizer* tokenizer) const;
  void copy_ids(std::span<std::int32_t> ids, std::int64_t first) const;

  std::string name_, note_;
  SampleSpec sample_;
  std::uint64_t seed_;
  std::vector<std::uint8_t> bytes_;  // empty if there are tokens
  std::vector<std::int32_t> tokens_;
  SpecialIds special_{kClsId, kSepId, kMaskId};
  std::int32_t random_ids_ = kByteIds;  // the number of ids that may replace a masked one
  std::int64_t window_, windows_ = 0;   // ids from the start of one to the next; how many there are
};

// The rows of one text sample. Only masked texts have positions; labels are empty if they have no input.
struct TextRow {
  std::span<std::int32_t> ids, positions, labels;
};
TextRow text_row(const SampleSpec& sample, std::int64_t row, std::span<const std::span<std::byte>> inputs);

}  // namespace epochbench
