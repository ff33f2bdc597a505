// Sentences filled into lines for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace epochbench {

inline constexpr std::size_t kTextColumns = 100;

// The words of `text` in lines of at most kTextColumns; the first line begins with `head`, the others with `indent`. A word
// that is longer than a line stands in one of its own; a per cent sign stays with its number.
std::vector<std::string> wrapped_lines(const std::string& head, const std::string& indent, const std::string& text);

// Likewise, each with a line break.
std::string wrapped(const std::string& head, const std::string& indent, const std::string& text);

}  // namespace epochbench
