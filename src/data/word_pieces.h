// Word pieces (Wu et al. 2016) as in BERT: the file vocab.txt as Google and Hugging Face distribute it, the words of a text,
// and the tokens of one word.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/data/added_tokens.h"
#include "src/data/byte_source.h"

namespace epochbench {

// The ids that begin and end a window and stand for a masked token, where models fill in masked positions.
struct SpecialIds {
  std::int32_t cls, sep, mask;
};

class WordPieces {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 24;  // of a file; that of 104 languages has 1 MB

  // `vocabulary`: one token per line, whose number from 0 is its id, with [UNK], [CLS], [SEP] and [MASK]. A token that begins
  // with ## continues a word. `uncased`: whether texts lose capitals and accents; empty: as the tokens say it. `added`:
  // tokens of the vocabulary; empty: [PAD], [UNK], [CLS], [SEP] and [MASK]. Errors: DataError, also if the tokens do not say
  // it.
  explicit WordPieces(ByteSource& vocabulary, std::optional<bool> uncased = std::nullopt,
                      const AddedNames& added = std::nullopt);

  std::int64_t ids() const { return ids_; }
  // Covers the tokens, `uncased` where they do not say it, and `added` where it is not what an empty one stands for; 32
  // hexadecimal digits.
  const std::string& hash() const { return hash_; }
  const AddedTokens& added() const { return added_; }
  const SpecialIds& special() const { return special_; }
  bool uncased() const { return uncased_; }

  // Appends the tokens of a word of with_blanks_between(): repeatedly the longest token that the rest begins with; only [UNK]
  // if there is none, or for a word of more than 100 characters.
  void append(std::vector<std::int32_t>& ids, std::string_view word) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Tokens = std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;

  std::int64_t ids_ = 0;
  std::string hash_;
  AddedTokens added_;
  std::int32_t unknown_ = 0;
  SpecialIds special_{};
  bool uncased_ = true;
  Tokens first_, later_;     // tokens that begin a word; those that continue one, without their ##
  std::size_t longest_ = 0;  // in bytes, of any token
};

// The words of a text, with one blank after each, as BERT's basic tokenizer divides it: at white space, with each mark of
// punctuation and each Chinese character as a word by itself; without control characters, U+FFFD and bytes that are not UTF-8.
// Uncased, also without accents, and in lower case. Categories, decompositions and lower case are libutf8proc's.
std::string with_blanks_between(std::string_view text, bool uncased);

}  // namespace epochbench
