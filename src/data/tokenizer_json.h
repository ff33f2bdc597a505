// The file tokenizer.json of Hugging Face's tokenizers, which holds a vocabulary, merges and settings in one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/data/added_tokens.h"

namespace epochbench {

// What the file holds, in the form of the files that it stands for.
struct TokenizerJson {
  std::string vocabulary;       // vocab.json of byte pairs, vocab.txt of word pieces
  std::string merges;           // merges.txt of byte pairs
  std::optional<bool> uncased;  // of word pieces
  AddedNames added;             // all of them are in the vocabulary
};

// GPT-2's byte pairs and BERT's word pieces, with the settings that BytePairs and WordPieces have. Errors: DataError without
// the file's name, for other kinds of tokens and for a setting that would give other ids.
// Adds the tokens of added_tokens.json, an object from token to id, to those of GPT-2's files, which also has <|endoftext|>.
// Errors: DataError without the file's name.
void add_tokens(TokenizerJson& files, std::string_view added);

TokenizerJson read_byte_pairs(std::string_view json);
TokenizerJson read_word_pieces(std::string_view json);

}  // namespace epochbench
