#include "src/result/result_json.h"

#include <variant>

#include "src/base/files.h"
#include "src/base/text.h"
#include "src/case/run_name.h"
#include "src/result/published.h"

namespace epochbench {
namespace {

SettingValue setting_of(const Json& value, const std::string& path) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return read_value<std::int64_t>(value, path);
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return read_value<std::vector<std::string>>(value, path);
  if (!value.is_object()) throw FormatError(path + ": must be a value, a list of texts or an object");
  return read_value<std::map<std::string, std::int64_t>>(value, path);
}

// The key that identifies a document's kind, the newest version that is read, and where its keys are described.
struct Version {
  const char* key;
  int newest;
  const char* what;  // the document is
  const char* schema;
};
constexpr Version kResultVersion{"schema_version", kSchemaVersion,
                                 "a result of epochbench; name a file that `epochbench run` wrote", "results/schema.json"};
constexpr Version kTurnsDocumentVersion{"turns_version", kTurnsVersion, "a file of compare --interleave",
                                        "results/turns.schema.json"};
constexpr Version kPublishedDocumentVersion{"published_version", kPublishedVersion, "a file of epochbench import",
                                            "results/published.schema.json"};

bool has(const Version& version, const Json& document) { return document.is_object() && document.contains(version.key); }

template <class Document>
std::string text_with(const Version& version, const Document& document) {
  FieldWriter writer;
  writer(version.key, version.newest);
  fields(writer, document);
  return print_json(writer.object);
}

template <class Document>
Document document_from(const Version& version, const Json& json, const std::string& source) {
  if (!json.is_object())
    throw FormatError(source + ": must be an object, not " + json.type_name() + ", so not " + version.what);
  const JsonFields from(json, source);
  if (!from.find(version.key)) throw FormatError(source + ": no " + version.key + ", so not " + version.what);
  const std::int64_t number = from.integer(version.key);
  if (number > version.newest)
    throw FormatError(source + ": " + spaced(version.key) + " " + std::to_string(number) +
                      " is newer than this epochbench, which reads up to " + std::to_string(version.newest) +
                      "; update epochbench");
  try {
    if (number < 1) throw FormatError(from.path(version.key) + ": must be at least 1");
    return read_value<Document>(json, source);
  } catch (const FormatError& error) {
    throw FormatError(std::string(error.what()) + "; " + version.schema + " says what belongs there");
  }
}

// Files written before settings existed have only names.
template <class Named>
void read_settings_of_older(Named& named) {
  if (named.settings.empty()) named.settings = settings_from_name(named.name);
}

}  // namespace

std::string describe(RunStatus status, const std::optional<std::string>& message) {
  const std::string text = spaced(name(status));
  return text + (message && *message != text ? ": " + *message : "");
}

Json JsonConversion<Settings>::write(const Settings& settings) {
  Json object = Json::object();
  for (const auto& [key, setting] : settings)
    object[key] = std::visit([](const auto& value) { return json_of(value); }, setting);
  return object;
}

Settings JsonConversion<Settings>::read(const Json& value, const std::string& path) {
  const JsonFields from(value, path);
  Settings settings;
  for (const auto& [key, setting] : value.items()) settings[key] = setting_of(setting, from.path(key.c_str()));
  return settings;
}

template Json json_of(const CpuInfo&);
template Json json_of(const GpuInfo&);
template Json json_of(const Context&);
template Json json_of(const Device&);
template Json json_of(const Input&);
template Json json_of(const Profile&);
template Json json_of(const Ranks&);
template Json json_of(const SweepAnswers&);
template Json json_of(const PublishedEntry&);
template Context read_value(const Json&, const std::string& path);
template Device read_value(const Json&, const std::string& path);
template Input read_value(const Json&, const std::string& path);
template MeasuredCpu read_value(const Json&, const std::string& path);
template MeasuredGpu read_value(const Json&, const std::string& path);
template Profile read_value(const Json&, const std::string& path);
template Ranks read_value(const Json&, const std::string& path);

std::string result_to_text(const Result& result) { return text_with(kResultVersion, result); }
std::string turns_to_text(const TurnsDocument& document) { return text_with(kTurnsDocumentVersion, document); }

std::string published_to_text(const PublishedDocument& document) { return text_with(kPublishedDocumentVersion, document); }

bool is_result(const Json& document) { return has(kResultVersion, document); }
bool is_turns(const Json& document) { return has(kTurnsDocumentVersion, document); }
bool is_published(const Json& document) { return has(kPublishedDocumentVersion, document); }

Result result_from_json(const Json& document, const std::string& source) {
  if (is_turns(document))
    throw FormatError(source +
                      ": a document of `compare --interleave`, which `report` and `compare --history` read, and not a " +
                      "result; name a file that `epochbench run` wrote");
  if (is_published(document))
    throw FormatError(source +
                      ": results that others published, and not measured here; name a file that `epochbench run` wrote");
  Result result = document_from<Result>(kResultVersion, document, source);
  for (Run& run : result.runs) read_settings_of_older(run);
  return result;
}

TurnsDocument turns_from_json(const Json& document, const std::string& source) {
  auto turns = document_from<TurnsDocument>(kTurnsDocumentVersion, document, source);
  for (TurnsCase& each : turns.cases) read_settings_of_older(each);
  return turns;
}

Result parse_result(std::string_view text, const std::string& source) {
  return result_from_json(parse_json(text, source), source);
}

TurnsDocument parse_turns(std::string_view text, const std::string& source) {
  return turns_from_json(parse_json(text, source), source);
}

PublishedDocument parse_published(std::string_view text, const std::string& source) {
  auto document = document_from<PublishedDocument>(kPublishedDocumentVersion, parse_json(text, source), source);
  if (document.evidence != EvidenceClass::published) throw FormatError(source + ".evidence: must be published");
  return document;
}

Result read_result(const std::string& path) { return parse_result(read_text_file(path), path); }

}  // namespace epochbench
