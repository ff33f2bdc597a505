#include "src/case/ablation.h"

#include <algorithm>

#include "src/base/errors.h"
#include "src/base/text.h"

namespace epochbench {
std::vector<std::string> names(const Without& without) {
  std::vector<std::string> parts;
  for (const WithoutPart& part : kWithoutParts)
    if (without.*part.left_out) parts.emplace_back(part.name);
  return parts;
}

std::string to_string(const Without& without) { return joined(names(without), "+"); }

Without parse_without(const std::string& text) {
  Without without;
  if (text == "none") return without;
  for (const std::string& part : split(text, '+')) {
    const auto known = std::ranges::find(kWithoutParts, part, &WithoutPart::name);
    if (known == kWithoutParts.end())
      throw CallError("'" + text + "' is unknown; choose from none, " + joined(kWithoutParts, &WithoutPart::name) +
                      ", or several as in fusion+prefetch");
    without.*known->left_out = true;
  }
  return without;
}

}  // namespace epochbench
