// How a member of CaseSpec is read and written, by its type, and the functions that build rows of the table of options.
#pragma once

#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/base/numbers.h"
#include "src/case/case_option.h"

namespace epochbench {

// The value as a setting; empty: not given.
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
  } else if constexpr (std::is_same_v<T, Model>) {
    return to_setting(value.family ? value.family->name : value.name);
  } else if constexpr (std::is_same_v<T, DeviceId>) {
    return SettingValue(to_string(value));
  } else if constexpr (std::is_same_v<T, Until>) {
    return SettingValue(name(value.metric) + ("=" + shortest(value.value)));
  } else if constexpr (NamedParts<T>) {
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
  else if constexpr (std::is_same_v<T, Model>)
    return value.name;
  else if constexpr (std::is_same_v<T, DeviceId> || NamedParts<T>)
    return to_string(value);
  else if constexpr (std::is_same_v<T, Until>)
    return {{"metric", name(value.metric)}, {"value", value.value}};
  else if constexpr (Choice<T>)
    return name(value);
  else
    return value ? to_protocol(*value) : Json(nullptr);
}

template <class T>
void from_protocol(T& value, const Json& json) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    value = json.get<T>();
  } else if constexpr (std::is_same_v<T, Model>) {
    value = model_in_message(json.get<std::string>());
  } else if constexpr (std::is_same_v<T, DeviceId>) {
    value = parse_device(json.get<std::string>());
  } else if constexpr (NamedParts<T>) {
    const std::string text = json.get<std::string>();
    value = text.empty() ? T{} : parse_parts<T>(text);
  } else if constexpr (std::is_same_v<T, Until>) {
    value = {parse_choice<EvalMetric>(json.at("metric").get<std::string>()), json.at("value").get<double>()};
  } else if constexpr (Choice<T>) {
    value = parse_choice<T>(json.get<std::string>());
  } else {  // std::optional
    if (json.is_null()) return value.reset();
    from_protocol(value.emplace(), json);
  }
}

// A row: the fields that every option has, where its value is, and the `rest` that differs from the defaults. `member`: a
// pointer to the member, or a function that returns a reference to it; `parse`: converts text to its value.
template <class Member, class Parse>
CaseOption row(const char* key, const char* value_name, std::string help, std::optional<SettingClass> setting_class,
               Member member, Parse parse, CaseOption rest = {}) {
  rest.key = key;
  rest.value_name = value_name;
  rest.help = std::move(help);
  rest.setting_class = setting_class;
  rest.parse = [=](CaseSpec& spec, const std::string& text) { std::invoke(member, spec) = parse(text); };
  if (!rest.value) rest.value = [=](const CaseSpec& spec) { return to_setting(std::invoke(member, spec)); };
  rest.to_protocol = [=](const CaseSpec& spec) { return epochbench::to_protocol(std::invoke(member, spec)); };
  rest.from_protocol = [=](CaseSpec& spec, const Json& json) { epochbench::from_protocol(std::invoke(member, spec), json); };
  return rest;
}

// An option that chooses among words; without `help` they are its help.
template <Choice E>
CaseOption row(const char* key, const char* value_name, const std::string& help, std::optional<SettingClass> setting_class,
               E CaseSpec::*member, CaseOption rest = {}) {
  return row(key, value_name, help.empty() ? all_words<E>() : help, setting_class, member, parse_choice<E>, std::move(rest));
}

template <class T>
auto stop(T StopSpec::*member) {
  return [=](auto& spec) -> auto& { return spec.stop.*member; };
}

}  // namespace epochbench
