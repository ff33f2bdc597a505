// Text: joined and split parts, replaced parts, lines filled for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

// "a, b": the parts with the separator between them.
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");
// Adds a part to such a text.
void append(std::string& text, std::string_view part, std::string_view separator = ", ");
// "a,b" -> {"a", "b"}; one empty part of an empty text.
std::vector<std::string> split(std::string_view text, char separator = ',');

// An identifier as people read it: "out_of_memory" as "out of memory".
std::string spaced(std::string identifier);

// Replaces every `from`, which is not empty, by `to`.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// Without the blanks at both ends.
std::string_view trimmed(std::string_view text);

std::size_t display_width(std::string_view utf8);  // in columns of a terminal: one per code point

inline constexpr std::size_t kTextColumns = 100;

// The words of `text` in lines of at most kTextColumns; the first line begins with `head`, the others with `indent`. A word
// longer than a line has a line of its own; a percent sign stays with its number.
std::vector<std::string> wrapped_lines(const std::string& head, const std::string& indent, const std::string& text);

// The same as one text, each line with its line break.
std::string wrapped(const std::string& head, const std::string& indent, const std::string& text);

}  // namespace epochbench
