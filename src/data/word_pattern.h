// How GPT-2 divides a text before it joins byte pairs (Radford et al. 2019): endings such as 's and 've; letters, digits or
// other characters, each with the blank before them; and the rest of the white space. No pair crosses a border of these words.
#pragma once

#include <functional>
#include <string_view>

namespace epochbench {

// Calls `take` with each word, in order; together they are the text. A byte that is not UTF-8 is a word by itself, and what
// comes before it is divided as at the end of a text. Letters and digits are those of the Unicode version that libpcre2 has.
void for_each_word(std::string_view text, const std::function<void(std::string_view word)>& take);

}  // namespace epochbench
