// How a member of CaseSpec is read and written, by its type; what the rows of the table of options are made with.
#pragma once

#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/base/numbers.h"
#include "src/case/case_option.h"

namespace epochbench {

// As a setting; empty: not given.
template <class T>
std::optional<SettingValue> to_setting(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double>) {
    return SettingValue(value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return SettingValue(std::to_string(value));
    return SettingValue(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return SettingValue(std::int64_t{value});
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.empty() ? std::nullopt : std::optional<SettingValue>(value);
  } else if constexpr (std::is_same_v<T, DeviceId>) {
    return SettingValue(to_string(value));
  } else if constexpr (std::is_same_v<T, Until>) {
    return SettingValue(value.metric + "=" + shortest(value.value));
  } else if constexpr (std::is_same_v<T, Without>) {
    return SettingValue(names(value));
  } else if constexpr (Choice<T>) {
    return SettingValue(std::string(name(value)));
  } else {
    return value ? to_setting(*value) : std::nullopt;
  }
}

template <class T>
Json to_protocol(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
    return value;
  else if constexpr (std::is_same_v<T, DeviceId> || std::is_same_v<T, Without>)
    return to_string(value);
  else if constexpr (std::is_same_v<T, Until>)
    return {{"metric", value.metric}, {"value", value.value}};
  else if constexpr (Choice<T>)
    return name(value);
  else
    return value ? to_protocol(*value) : Json(nullptr);
}

template <class T>
void from_protocol(T& value, const Json& json) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    value = json.get<T>();
  } else if constexpr (std::is_same_v<T, DeviceId>) {
    value = parse_device(json.get<std::string>());
  } else if constexpr (std::is_same_v<T, Without>) {
    const std::string text = json.get<std::string>();
    value = text.empty() ? Without{} : parse_without(text);
  } else if constexpr (std::is_same_v<T, Until>) {
    value = {json.at("metric").get<std::string>(), json.at("value").get<double>()};
  } else if constexpr (Choice<T>) {
    value = parse_choice<T>(json.get<std::string>());
  } else {  // an optional one
    if (json.is_null()) return value.reset();
    from_protocol(value.emplace(), json);
  }
}

// `member`: a pointer to the member, or what returns a reference to it; `parse`: from text to its value.
template <class Member, class Parse>
CaseOption row(CaseOption option, Member member, Parse parse) {
  option.parse = [=](CaseSpec& spec, const std::string& text) { std::invoke(member, spec) = parse(text); };
  option.value = [=](const CaseSpec& spec) { return to_setting(std::invoke(member, spec)); };
  option.to_protocol = [=](const CaseSpec& spec) { return epochbench::to_protocol(std::invoke(member, spec)); };
  option.from_protocol = [=](CaseSpec& spec, const Json& json) { epochbench::from_protocol(std::invoke(member, spec), json); };
  return option;
}

// An option that chooses among words.
template <Choice E>
CaseOption row(CaseOption option, E CaseSpec::*member) {
  if (option.help.empty()) option.help = all_words<E>();
  return row(std::move(option), member, parse_choice<E>);
}

inline auto whole(std::int64_t minimum, std::int64_t maximum) {
  return [=](const std::string& text) { return parse_integer(text, minimum, maximum); };
}
inline auto small_whole(int minimum, int maximum) {
  return [=](const std::string& text) { return static_cast<int>(parse_integer(text, minimum, maximum)); };
}
inline auto real(RealRange range) {
  return [=](const std::string& text) { return parse_real(text, range); };
}
template <class T>
auto stop(T StopSpec::*member) {
  return [=](auto& spec) -> auto& { return spec.stop.*member; };
}

}  // namespace epochbench
