// A choice of any of several parts, as text "crop+flip" or "none": a struct of flags with a table of their names.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/errors.h"
#include "src/base/text.h"

namespace epochbench {

template <class T>
struct NamedPart {
  const char* name;
  bool T::*on;
};

template <class T>
concept NamedParts = requires(const T& parts) {
  parts_of(parts);  // an array of NamedPart<T>, by name
};

template <NamedParts T>
std::vector<std::string> names(const T& parts) {  // {"crop", "flip"}
  std::vector<std::string> on;
  for (const auto& part : parts_of(parts))
    if (parts.*part.on) on.emplace_back(part.name);
  return on;
}

template <NamedParts T>
std::string to_string(const T& parts) {  // "crop+flip", by name; "" for none
  return joined(names(parts), "+");
}

// Parts joined by +, in any order, or "none". Errors: CallError with the known parts.
template <NamedParts T>
T parse_parts(const std::string& text) {
  T parts;
  if (text == "none") return parts;
  constexpr auto kKnown = parts_of(T{});
  for (const std::string& part : split(text, '+')) {
    const auto known = std::ranges::find(kKnown, part, &NamedPart<T>::name);
    if (known == kKnown.end())
      throw CallError("'" + text + "' is unknown; choose from none, " + joined(kKnown, &NamedPart<T>::name) +
                      ", or several as in " + kKnown[0].name + "+" + kKnown[1].name);
    parts.*known->on = true;
  }
  return parts;
}

}  // namespace epochbench
