// Byte pair encoding (Sennrich et al. 2016) over bytes, as in GPT-2: the files vocab.json and merges.txt as Hugging Face
// distributes them, and the tokens of one word.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/data/added_tokens.h"
#include "src/data/byte_source.h"

namespace epochbench {

class BytePairs {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 26;  // of a file; GPT-2's have 1.0 and 0.5 MB

  // `vocabulary`: a JSON object from token to id, with each id from 0 to the number of tokens minus 1 once, and a token for
  // each byte. `merges`: one pair of tokens per line, the first with the lowest rank; their joint token has an id too. Both
  // write a byte as one character: printable ones of Latin-1 as themselves, the others as U+0100 and up. `added`: tokens of the
  // vocabulary; empty: "<|endoftext|>". Errors: DataError.
  BytePairs(ByteSource& vocabulary, ByteSource& merges, const AddedNames& added = std::nullopt);

  std::int64_t ids() const { return ids_; }
  // Covers tokens and merges, and `added` where it is not what an empty one stands for; 32 hexadecimal digits.
  const std::string& hash() const { return hash_; }
  const AddedTokens& added() const { return added_; }

  struct Merge {
    std::uint32_t rank;
    std::int32_t id;  // of the joint token
  };
  const Merge* find(std::int32_t left, std::int32_t right) const {
    const auto found = merges_.find(key(left, right));
    return found == merges_.end() ? nullptr : &found->second;
  }
  std::int32_t of_byte(char byte) const { return of_byte_[static_cast<unsigned char>(byte)]; }

 private:
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  using Tokens = std::unordered_map<std::string, std::int32_t>;

  void read_merges(ByteSource& source, const Tokens& tokens, std::string& all);
  // Errors: DataError if merges are missing: many tokens are neither made by one, nor a byte, nor special.
  void check_reached(const ByteSource& merges, const std::vector<const std::string*>& by_id) const;

  std::int64_t ids_ = 0;
  std::string hash_;
  AddedTokens added_;
  std::array<std::int32_t, 256> of_byte_{};
  std::unordered_map<std::uint64_t, Merge> merges_;
};

// Encodes words; reuses its memory between them. Not thread-safe.
class WordEncoder {
 public:
  explicit WordEncoder(const BytePairs& pairs) : pairs_(pairs) {}  // must outlive this object

  // Appends the tokens of a word. Joins the neighbors whose pair has the lowest rank, the leftmost first, until no two
  // neighbors are a pair. O(n log n) in the bytes of the word, fewer than 2^32.
  void append(std::vector<std::int32_t>& ids, std::string_view word);

 private:
  using Candidate = std::uint64_t;  // rank in the upper half, the start of its left part in the lower
  void begin(std::string_view word);
  bool next(Candidate& candidate);
  void join(Candidate candidate);
  void consider(std::uint32_t left);

  const BytePairs& pairs_;
  std::vector<std::int32_t> id_;                // by the first byte of a part; kNone: no part begins there
  std::vector<std::uint32_t> next_, previous_;  // parts, by their first byte
  std::vector<Candidate> first_, later_;        // of the word's bytes, sorted; of parts that were joined, a heap
  std::size_t taken_ = 0;                       // of first_
};

}  // namespace epochbench
