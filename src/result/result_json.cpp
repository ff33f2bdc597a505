#include "src/result/result_json.h"

#include <type_traits>
#include <variant>

#include "src/base/files.h"
#include "src/base/text.h"
#include "src/case/run_name.h"

namespace epochbench {
namespace {

constexpr RunStatus kStatuses[] = {RunStatus::ok,       RunStatus::failed,     RunStatus::skipped, RunStatus::out_of_memory,
                                   RunStatus::diverged, RunStatus::interrupted};

SettingValue setting_of(const JsonFields& settings, const std::string& key, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return settings.integer(key.c_str());
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return settings.texts(key.c_str());
  if (!value.is_object()) throw FormatError(settings.path(key.c_str()) + ": must be a value, a list of texts or an object");
  std::map<std::string, std::int64_t> options;
  read_member(settings, key.c_str(), options);
  return options;
}

}  // namespace

const char* name(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::failed:
      return "failed";
    case RunStatus::skipped:
      return "skipped";
    case RunStatus::out_of_memory:
      return "out_of_memory";
    case RunStatus::diverged:
      return "diverged";
    case RunStatus::interrupted:
      return "interrupted";
  }
  return "?";
}

std::string describe(RunStatus status, const std::optional<std::string>& message) {
  return spaced(name(status)) + (message ? ": " + *message : "");
}

RunStatus JsonConversion<RunStatus>::read(const Json& value, const std::string& path) {
  const std::string text = text_of(value, path);
  for (const RunStatus status : kStatuses)
    if (text == name(status)) return status;
  throw FormatError(path + ": unknown status '" + text.substr(0, 40) + "'");
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
  for (const auto& [key, setting] : value.items()) settings[key] = setting_of(from, key, setting);
  return settings;
}

template Json json_of(const CpuInfo&);
template Json json_of(const GpuInfo&);
template Json json_of(const Context&);
template Json json_of(const SweepAnswers&);
template void read_member(const JsonFields& from, const char* key, Context& context);

std::string result_to_text(const Result& result) {
  FieldWriter writer;
  writer("schema_version", kSchemaVersion);
  fields(writer, result);
  return print_json(writer.object);
}

bool is_result(const Json& document) { return document.is_object() && document.contains("schema_version"); }

Result result_from_json(const Json& document, const std::string& source) {
  const JsonFields from(document, source);
  if (from.find("turns_version"))
    throw FormatError(source + ": a document of `compare --interleave`, which `report` and `compare --history` read, and no " +
                      "result; name a file that `epochbench run` wrote");
  if (!from.find("schema_version"))
    throw FormatError(source + ": no schema_version, so not a result of epochbench; name a file that `epochbench run` wrote");
  const std::int64_t version = from.integer("schema_version");
  if (version > kSchemaVersion)
    throw FormatError(source + ": schema version " + std::to_string(version) +
                      " is newer than this epochbench, which reads up to " + std::to_string(kSchemaVersion) +
                      "; update epochbench");
  try {
    if (version < 1) throw FormatError(from.path("schema_version") + ": must be at least 1");
    Result result = read_fields<Result>(from);
    for (Run& run : result.runs)  // files from before settings have names alone
      if (run.settings.empty()) run.settings = settings_from_name(run.name);
    return result;
  } catch (const FormatError& error) {
    throw FormatError(std::string(error.what()) + "; results/schema.json says what belongs there");
  }
}

Result parse_result(std::string_view text, const std::string& source) {
  return result_from_json(parse_json(text, source), source);
}

Result read_result(const std::string& path) { return parse_result(read_text_file(path), path); }

}  // namespace epochbench
