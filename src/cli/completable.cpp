#include "src/cli/completable.h"

#include <algorithm>
#include <map>

#include "src/base/text.h"
#include "src/cli/list.h"
#include "src/report/export/export.h"

namespace epochbench {
namespace {

bool is_word(const std::string& text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return !text.empty() && kLetters.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(std::string(kLetters) + "_:-") == std::string::npos;
}

// The words of "size: batch, width, samples, threads or ranks" and of "train or forward (default train)".
std::vector<std::string> enumerated(std::string help) {
  for (const char* end : {": ", " (", "; "}) replace_all(help, end, "\n");
  for (const char* separator : {", or ", " or ", ", "}) replace_all(help, separator, ",");
  for (const std::string& part : split(help, '\n'))
    if (const auto values = split(part); values.size() > 1 && std::ranges::all_of(values, is_word)) return values;
  return {};
}

std::vector<std::string> values_for(const std::string& name, const std::string& help) {
  static const std::map<std::string, std::string> listed{{"model", "models"},   {"MODEL", "models"},  {"suite", "suites"},
                                                         {"recipe", "recipes"}, {"data", "datasets"}, {"id", "claims"}};
  if (const auto kind = listed.find(name); kind != listed.end()) return listed_names(kind->second);
  if (name != "format") return enumerated(help);
  std::vector<std::string> formats;
  for (const ExportFormat& format : export_formats()) formats.emplace_back(format.name);
  return formats;
}

}  // namespace

Completable completable(const CLI::Option& option) {
  Completable found;
  for (const std::string& name : option.get_lnames()) found.flags.push_back("--" + name);
  for (const std::string& name : option.get_snames()) found.flags.push_back("-" + name);
  found.takes_value = option.get_positional() || !option.get_type_name().empty();
  if (!found.takes_value) return found;
  const std::string& name = option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
  found.values = values_for(name, option.get_description());
  const std::string value = option.get_type_name() + (option.get_positional() ? option.get_name(true) : "");
  found.takes_file = std::ranges::any_of(std::vector{"FILE", "DIR", "RESULT", "SPEC", "BINARY"},
                                         [&](const char* kind) { return value.find(kind) != std::string::npos; });
  return found;
}

}  // namespace epochbench
