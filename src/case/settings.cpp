#include "src/case/settings.h"

#include "src/base/numbers.h"

namespace epochbench {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang before 17 derives none for aggregates

}  // namespace

std::string to_text(const SettingValue& value) {
  return std::visit(Overloaded{[](bool on) { return std::string(on ? "on" : "off"); },
                               [](std::int64_t number) { return std::to_string(number); },
                               [](double number) { return shortest(number); }, [](const std::string& text) { return text; },
                               [](const std::vector<std::string>& parts) {
                                 std::string text;
                                 for (const std::string& part : parts) text += (text.empty() ? "" : "+") + part;
                                 return parts.empty() ? std::string("none") : text;
                               },
                               [](const std::map<std::string, std::int64_t>& options) {
                                 std::string text;
                                 for (const auto& [key, option] : options)
                                   text += (text.empty() ? "" : ",") + key + "=" + std::to_string(option);
                                 return text;
                               }},
                    value);
}

}  // namespace epochbench
