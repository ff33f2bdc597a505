// Tokens that a text has as a whole wherever their characters stand, such as "<|endoftext|>" of GPT-2 and "[SEP]" of BERT, as
// Hugging Face's tokenizers find them: before a text is divided into words, and as written, also where it loses its capitals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

// Names of added tokens; empty: those that the kind of tokenizer has where no file lists them.
using AddedNames = std::optional<std::vector<std::string>>;

// Whether a token is written as special ones are: [UNK], <|endoftext|>, and <S> of the uncased vocabulary of 102 languages.
bool is_in_brackets(std::string_view token);

class AddedTokens {
 public:
  // `id_of` returns the id of a name, or nothing for one that is missing, which is left out. No name may be empty.
  AddedTokens(const std::vector<std::string>& names,
              const std::function<std::optional<std::int32_t>(const std::string&)>& id_of);
  AddedTokens() = default;

  // Calls `take_text` with each part of the text between added tokens, none of them empty, and `take_id` with the id of each
  // added token, in order. Of tokens that overlap the first counts, and of those that begin together the longest.
  void divide(std::string_view text, const std::function<void(std::string_view part)>& take_text,
              const std::function<void(std::int32_t id)>& take_id) const;

  bool operator==(const AddedTokens&) const = default;
  std::string to_string() const;  // different for different tokens

 private:
  struct Token {
    std::string text;
    std::int32_t id;
    bool operator==(const Token&) const = default;
  };
  std::vector<Token> tokens_;  // longer ones first, and by their text
};

}  // namespace epochbench
