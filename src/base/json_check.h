// A JSON text before anything is built of it: well formed, in UTF-8, bounded, and no key twice.
//
// A parser builds whatever a text says, and of two members with one key it keeps one in silence. What the members mean is the
// business of those who read them.
#pragma once

#include <string>
#include <string_view>

namespace epochbench {

// `source` names the text in messages. Takes time and memory in proportion to the text, whatever it holds.
// Errors: FormatError with the line and column, or the path of the member, and what to do about it.
void check_json(std::string_view text, const std::string& source);

}  // namespace epochbench
