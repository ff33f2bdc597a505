// A vocabulary, its merges and a text, and the tokens of the text.
#include <algorithm>

#include "epochbench/dataset.h"
#include "fuzz/targets.h"
#include "src/data/tokenizer.h"

namespace epochbench::fuzz {

// Three parts with two empty lines between them.
void tokenizer(std::string_view bytes) {
  constexpr std::string_view kBetween = "\n\n\n";
  const auto next_part = [&bytes, kBetween] {
    const std::size_t end = std::min(bytes.find(kBetween), bytes.size());
    const std::string_view part = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + kBetween.size(), bytes.size()));
    return part;
  };
  const std::string_view vocabulary = next_part(), merges = next_part(), text = bytes;
  try {
    const Tokenizer made(*open_memory("'vocabulary'", vocabulary), *open_memory("'merges'", merges));
    const std::vector<std::int32_t> ids = made.encode(text);
    require(ids.size() <= text.size() && ids.empty() == text.empty(), "a token stands for one byte or more");
    require(std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= 0 && id < made.ids(); }),
            "every token is of the vocabulary");
  } catch (const DataError& error) {
    require_message(error.what());
  }
}

}  // namespace epochbench::fuzz
