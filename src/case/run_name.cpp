#include "src/case/run_name.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <string_view>
#include <vector>

#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/case_option.h"

namespace epochbench {
namespace {

// "lenet5/cpu/fp32/b64/data=idx:a/b/threads=1" -> {"lenet5", "cpu", "fp32", "b64", "data=idx:a/b", "threads=1"}: text after a
// slash that does not begin with an option's key belongs to the path before it.
std::vector<std::string> parts_of(const std::string& name) {
  constexpr std::size_t kFixedParts = 4;
  std::vector<std::string> parts;
  for (const std::string& part : split(name, '/')) {
    const std::string key = part.substr(0, part.find('='));
    const bool known = key.size() < part.size() && std::ranges::any_of(case_options(), [&](const CaseOption& option) {
                         return option.setting_class && name_part(option) == key;
                       });
    const bool continues = parts.size() > kFixedParts && !known && parts.back().starts_with("data=");
    if (continues)
      parts.back() += "/" + part;
    else
      parts.push_back(part);
  }
  return parts;
}

bool is_batch(const std::string& text) {
  constexpr std::size_t kMaxDigits = 18;  // of a number that fits into 64 bits
  return text.size() > 1 && text.size() <= kMaxDigits + 1 && text[0] == 'b' &&
         text.find_first_not_of("0123456789", 1) == std::string::npos;
}

// The value as the table parses it, or the text if it cannot. Empty: the default.
std::optional<SettingValue> read_value(const CaseOption& option, const std::string& text, const CaseSpec& defaults) try {
  CaseSpec given = defaults;
  option.parse(given, text);
  const auto value = option.value(given);
  return value == option.value(defaults) ? std::nullopt : value;
} catch (const std::exception&) {
  return SettingValue(text);
}

void read_part(Settings& settings, const std::string& part, const CaseSpec& defaults) {
  const std::size_t equals = std::min(part.find('='), part.size());
  std::string key = part.substr(0, equals);
  const std::string text = part.substr(std::min(equals + 1, part.size()));
  for (const CaseOption& option : case_options()) {
    if (!option.setting_class || !option.parse || name_part(option) != key) continue;
    if (const auto value = read_value(option, text, defaults)) settings[option.key] = *value;
    return;
  }
  std::replace(key.begin(), key.end(), '-', '_');
  settings[key] = text;
}

void read_device(Settings& settings, const std::string& text) {
  if (text == name(Framework::pytorch))
    settings["framework"] = text;
  else if (text == name(DeviceKind::cuda))
    settings["device"] = to_string(cuda_device(0));
  else if (text != name(DeviceKind::cpu))
    settings["device"] = text;
}

// The options that a model's name in an old file has, whether this version knows them or not. Errors: CallError.
std::map<std::string, std::int64_t> options_in_name(const std::string& model) {
  std::map<std::string, std::int64_t> options;
  const std::size_t colon = model.find(':');
  if (colon == std::string::npos) return options;
  for (const std::string& part : split_list(model.substr(colon + 1))) {
    const std::size_t equals = std::min(part.find('='), part.size());
    options[part.substr(0, equals)] = parse_integer(part.substr(std::min(equals + 1, part.size())), INT64_MIN, INT64_MAX);
  }
  return options;
}

}  // namespace

Settings settings_of(const CaseSpec& spec, const CaseSpec& defaults) {
  Settings settings;
  CaseSpec compared = defaults;
  compared.model = {};  // it has no default
  for (const CaseOption& option : case_options()) {
    if (!option.setting_class || (option.applies && !option.applies(spec))) continue;
    const auto value = option.value(spec);
    if (value && value != option.value(compared)) settings[option.key] = *value;
  }
  return settings;
}

Settings identifying(Settings settings) {
  std::erase_if(settings, [](const auto& setting) {
    const CaseOption* option = find_setting(setting.first);
    return option && option->stops;
  });
  return settings;
}

std::string run_name(const Settings& settings) {
  const std::string model = model_text(settings);
  const CaseSpec defaults = default_case(find_family(model), std::nullopt);
  const std::string device = setting_text(settings, "device", name(DeviceKind::cpu));
  const std::string framework = setting_text(settings, "framework");
  std::map<std::string, std::string> parts;  // sorted by key
  for (const auto& [key, value] : settings) {
    const CaseOption* option = find_setting(key);
    if (option && (!option->in_name || option->stops)) continue;
    if (key == "device" && framework.empty() && device.find(':') == std::string::npos) continue;
    if (key == "device" && framework.empty() && device == to_string(cuda_device(0))) continue;
    parts[option ? name_part(*option) : key] = to_text(value);
  }
  std::string text = model + "/" + (framework.empty() ? device.substr(0, device.find(':')) : framework) + "/" +
                     setting_text(settings, "precision", name(defaults.precision)) + "/b" +
                     setting_text(settings, "batch", std::to_string(defaults.batch.value_or(0)));
  for (const auto& [key, value] : parts) text += "/" + key + "=" + value;
  return text;
}

Settings settings_from_name(const std::string& name) {
  const std::vector<std::string> parts = parts_of(name);
  if (parts.size() < 4 || parts[0].empty() || !is_batch(parts[3])) return {{"model", name}};
  const CaseSpec defaults = default_case(find_family(parts[0]), std::nullopt);
  Settings settings{{"model", parts[0].substr(0, parts[0].find(':'))}};
  try {
    if (const auto options = options_in_name(parts[0]); !options.empty()) settings["model_options"] = options;
  } catch (const CallError&) {
    settings["model"] = parts[0];
  }
  read_device(settings, parts[1]);
  read_part(settings, "precision=" + parts[2], defaults);
  read_part(settings, "batch=" + parts[3].substr(1), defaults);
  for (std::size_t i = 4; i < parts.size(); ++i) read_part(settings, parts[i], defaults);
  return settings;
}

std::string named_case(const std::string& option, const std::string& text, const std::vector<std::string>& names) {
  if (contains(names, text)) return text;
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (!text.empty() && name.starts_with(text) && std::string_view("/:,").find(name[text.size()]) != std::string_view::npos)
      found.push_back(name);
  if (found.size() == 1) return found.front();
  if (!found.empty())
    throw CallError(option + ": '" + text + "' is the beginning of several cases: " + joined(found) + "; give a whole name");
  throw CallError(option + ": no case is named '" + text.substr(0, 100) + "'; the cases are " + joined(names) +
                  did_you_mean(text, names));
}

}  // namespace epochbench
