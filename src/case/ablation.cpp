#include "src/case/ablation.h"

#include <algorithm>

#include "src/base/errors.h"

namespace epochbench {
namespace {

CallError unknown_part(const std::string& text) {
  std::string known = "none";
  for (const WithoutPart& part : kWithoutParts) known += std::string(", ") + part.name;
  return CallError("'" + text + "' is unknown; choose from " + known + ", or several as in fusion+prefetch");
}

}  // namespace

std::vector<std::string> names(const Without& without) {
  std::vector<std::string> parts;
  for (const WithoutPart& part : kWithoutParts)
    if (without.*part.left_out) parts.emplace_back(part.name);
  return parts;
}

std::string to_string(const Without& without) {
  std::string text;
  for (const std::string& part : names(without)) text += (text.empty() ? "" : "+") + part;
  return text;
}

Without parse_without(const std::string& text) {
  Without without;
  if (text == "none") return without;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    const auto part =
        std::find_if(kWithoutParts.begin(), kWithoutParts.end(), [&](const WithoutPart& known) { return known.name == word; });
    if (part == kWithoutParts.end()) throw unknown_part(text);
    without.*part->left_out = true;
    begin = end + 1;
  }
  return without;
}

}  // namespace epochbench
