// From a text to the tokens that a language model reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/data/byte_pairs.h"
#include "src/data/byte_source.h"
#include "src/data/word_pieces.h"

namespace epochbench {

class Tokenizer {
 public:
  // GPT-2's. Errors: DataError.
  Tokenizer(ByteSource& vocabulary, ByteSource& merges, const AddedNames& added = std::nullopt)
      : tokens_(std::in_place_type<BytePairs>, vocabulary, merges, added) {}
  // BERT's, as WordPieces. Errors: DataError.
  explicit Tokenizer(ByteSource& vocabulary, std::optional<bool> uncased = std::nullopt, const AddedNames& added = std::nullopt)
      : tokens_(std::in_place_type<WordPieces>, vocabulary, uncased, added) {}

  std::int64_t ids() const;
  std::string identity() const;               // "gpt2, 50257 tokens, " or "wordpiece, ", and the hash of tokens and merges
  std::optional<SpecialIds> special() const;  // only BERT's tokenizers have them

  // The tokens of the text, by all available CPUs. Errors: DataError for a word of 4 GiB or more.
  std::vector<std::int32_t> encode(std::string_view text) const;

 private:
  std::variant<BytePairs, WordPieces> tokens_;
};

// SPEC: "gpt2:DIR", the folder of vocab.json and merges.txt, or "wordpiece:FILE", BERT's vocab.txt, whose capitals
// "wordpiece-cased:FILE", "wordpiece-uncased:FILE", or do_lower_case of a tokenizer_config.json beside it decides. Both may be
// a tokenizer.json or its folder. The files that were read last are not parsed again. Errors: DataError, one line.
std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& spec);

}  // namespace epochbench
