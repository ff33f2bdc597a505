#include "src/data/added_tokens.h"

#include <algorithm>
#include <utility>

namespace epochbench {

bool is_in_brackets(std::string_view token) {
  return token.size() > 2 && ((token.front() == '[' && token.back() == ']') || (token.front() == '<' && token.back() == '>'));
}

AddedTokens::AddedTokens(const std::vector<std::string>& names,
                         const std::function<std::optional<std::int32_t>(const std::string&)>& id_of) {
  for (const std::string& name : names)
    if (const auto id = id_of(name)) tokens_.push_back({name, *id});
  std::ranges::sort(tokens_, {},
                    [](const Token& token) { return std::pair(-static_cast<std::int64_t>(token.text.size()), token.text); });
}

void AddedTokens::divide(std::string_view text, const std::function<void(std::string_view part)>& take_text,
                         const std::function<void(std::int32_t id)>& take_id) const {
  std::vector<std::size_t> places;  // where each token is found next
  for (const Token& token : tokens_) places.push_back(text.find(token.text));
  for (std::size_t at = 0; at < text.size();) {
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i] < at) places[i] = text.find(tokens_[i].text, at);
    const auto first = std::ranges::min_element(places);
    const std::size_t end = first == places.end() ? text.size() : std::min(*first, text.size());
    if (end > at) take_text(text.substr(at, end - at));
    at = end;
    if (end == text.size()) continue;
    const Token& token = tokens_[static_cast<std::size_t>(first - places.begin())];
    take_id(token.id);
    at += token.text.size();
  }
}

std::string AddedTokens::to_string() const {
  std::string text;
  for (const Token& token : tokens_)
    text += std::to_string(token.text.size()) + ":" + token.text + std::to_string(token.id) + ",";
  return text;
}

}  // namespace epochbench
