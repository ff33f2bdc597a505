#include "src/base/wrapped.h"

#include <algorithm>

#include "src/base/table.h"

namespace epochbench {

std::vector<std::string> wrapped_lines(const std::string& head, const std::string& indent, const std::string& text) {
  std::vector<std::string> lines;
  std::string line = head;
  bool empty = true;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    if (text.compare(end, 2, " %") == 0) end = std::min(text.find(' ', end + 1), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!empty && display_width(line) + 1 + display_width(word) > kTextColumns) {
      lines.push_back(std::move(line));
      line = indent;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string wrapped(const std::string& head, const std::string& indent, const std::string& text) {
  std::string all;
  for (const std::string& line : wrapped_lines(head, indent, text)) all += line + "\n";
  return all;
}

}  // namespace epochbench
