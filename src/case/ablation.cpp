#include "src/case/ablation.h"

#include <algorithm>

namespace epochbench {

std::string to_string(const Without& without) {
  std::string text;
  for (const WithoutPart& part : kWithoutParts)
    if (without.*part.left_out) text += (text.empty() ? "" : "+") + std::string(part.name);
  return text;
}

std::optional<Without> without_from_text(std::string_view text) {
  Without without;
  if (text == "none") return without;
  while (true) {
    const std::size_t plus = text.find('+');
    const std::string_view word = text.substr(0, plus);
    const auto part =
        std::find_if(kWithoutParts.begin(), kWithoutParts.end(), [&](const WithoutPart& known) { return known.name == word; });
    if (part == kWithoutParts.end()) return std::nullopt;
    without.*part->left_out = true;
    if (plus == std::string_view::npos) return without;
    text.remove_prefix(plus + 1);
  }
}

}  // namespace epochbench
