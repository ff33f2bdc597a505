// A vocabulary of word pieces and a text, and the tokens of the text.
#include <algorithm>

#include "epochbench/dataset.h"
#include "fuzz/targets.h"
#include "src/data/tokenizer.h"

namespace epochbench::fuzz {

// Two parts with two empty lines between them.
void word_pieces(std::string_view bytes) {
  constexpr std::string_view kBetween = "\n\n\n";
  const std::size_t end = std::min(bytes.find(kBetween), bytes.size());
  const std::string_view text = bytes.substr(std::min(end + kBetween.size(), bytes.size()));
  try {
    const Tokenizer made(*open_memory("'vocabulary'", bytes.substr(0, end)));
    const std::vector<std::int32_t> ids = made.encode(text);
    constexpr std::size_t kMaxPerByte = 4;  // characters of one that is decomposed
    require(ids.size() <= kMaxPerByte * text.size(), "a token stands for a character or more");
    require(std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= 0 && id < made.ids(); }),
            "every token is of the vocabulary");
  } catch (const DataError& error) {
    require_message(error.what());
  }
}

}  // namespace epochbench::fuzz
