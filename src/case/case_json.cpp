// Converts a case to and from the protocol between processes, key by key from the table of options.
#include "src/case/case_option.h"

namespace epochbench {
namespace {

constexpr const char* kParentsAlone = "-";

std::string protocol_key(const CaseOption& option) {
  if (!option.protocol_key.empty()) return option.protocol_key;
  return option.old_key.empty() ? option.key : option.old_key;
}

template <class T>
T required(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw FormatError(std::string("a message without ") + key);
  return found->template get<T>();
}

}  // namespace

Json case_to_json(const CaseSpec& spec) {
  Json object = {{"name", spec.name}, {"repetition", spec.repetition}, {"profile", spec.profile}};
  for (const CaseOption& option : case_options())
    if (const std::string key = protocol_key(option); key != kParentsAlone) object[key] = option.to_protocol(spec);
  return object;
}

// A missing key, as from an older parent, leaves the default.
CaseSpec case_from_json(const Json& object) {
  CaseSpec spec;
  std::string key = "name";
  try {
    spec.name = required<std::string>(object, "name");
    spec.repetition = required<int>(object, "repetition");
    spec.profile = required<bool>(object, "profile");
    required<std::string>(object, "model");
    for (const CaseOption& option : case_options()) {
      key = protocol_key(option);
      if (const auto found = object.find(key); key != kParentsAlone && found != object.end())
        option.from_protocol(spec, *found);
    }
  } catch (const nlohmann::json::exception&) {
    throw FormatError("a message with a wrong " + key);
  } catch (const CallError& error) {
    throw FormatError("a message with a wrong " + key + ": " + error.what());
  }
  return spec;
}

}  // namespace epochbench
