// The result document as JSON text, schema version 1 (results/schema.json), and back. The form of each struct is the list of
// its fields (result.h).
#pragma once

#include <string>
#include <string_view>

#include "src/base/json_fields.h"
#include "src/result/result.h"

namespace epochbench {

template <>
struct JsonConversion<RunStatus> {
  static Json write(RunStatus status) { return name(status); }
  static RunStatus read(const Json& value, const std::string& path);
};

template <>
struct JsonConversion<Settings> {
  static Json write(const Settings& settings);
  static Settings read(const Json& value, const std::string& path);
};

// Compiled once for all.
extern template Json json_of(const CpuInfo&);
extern template Json json_of(const GpuInfo&);
extern template Json json_of(const Context&);
extern template Json json_of(const SweepAnswers&);
extern template void read_member(const JsonFields& from, const char* key, Context& context);

std::string result_to_text(const Result& result);

bool is_result(const Json& document);  // it says that it is one: there is a schema_version

// `source` names the text in messages. Further keys are ignored; numbers that were not finite come back as NaN.
// Errors: FormatError for text that is not a result, and for a newer schema version.
Result parse_result(std::string_view text, const std::string& source);
Result result_from_json(const Json& document, const std::string& source);
Result read_result(const std::string& path);

}  // namespace epochbench
