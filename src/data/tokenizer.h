// From a text to the tokens that a language model reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/data/byte_pairs.h"
#include "src/data/byte_source.h"

namespace epochbench {

class Tokenizer {
 public:
  // GPT-2's. Errors: DataError.
  Tokenizer(ByteSource& vocabulary, ByteSource& merges) : pairs_(vocabulary, merges) {}

  std::int64_t ids() const { return pairs_.ids(); }
  std::string identity() const;  // "gpt2, 50257 tokens, " and the hash of tokens and merges

  // The tokens of the text, by all available CPUs. Errors: DataError for a word of 4 GiB or more.
  std::vector<std::int32_t> encode(std::string_view text) const;

 private:
  BytePairs pairs_;
};

// SPEC: "gpt2:DIR", the folder of vocab.json and merges.txt. Files that were read last are not interpreted again.
// Errors: DataError, one line.
std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& spec);

}  // namespace epochbench
