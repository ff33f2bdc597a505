// Documents as JSON text, and back: results (results/schema.json), interleaved turns (results/turns.schema.json) and published
// results (results/published.schema.json). The form of each struct is the list of its fields.
#pragma once

#include <string>
#include <string_view>

#include "src/base/json_fields.h"
#include "src/result/turns.h"

namespace epochbench {

struct PublishedDocument;  // src/result/published.h
struct PublishedEntry;

template <Choice E>
struct JsonConversion<E> {
  static Json write(E value) { return name(value); }
  static E read(const Json& value, const std::string& path) { return static_cast<E>(read_choice(texts_of(E{}), value, path)); }
};

template <>
struct JsonConversion<Settings> {
  static Json write(const Settings& settings);
  static Settings read(const Json& value, const std::string& path);
};

// Instantiated only in result_json.cpp.
extern template Json json_of(const CpuInfo&);
extern template Json json_of(const GpuInfo&);
extern template Json json_of(const Context&);
extern template Json json_of(const Device&);
extern template Json json_of(const Input&);
extern template Json json_of(const Profile&);
extern template Json json_of(const Ranks&);
extern template Json json_of(const SweepAnswers&);
extern template Json json_of(const PublishedEntry&);
extern template Context read_value(const Json&, const std::string& path);
extern template Device read_value(const Json&, const std::string& path);
extern template Input read_value(const Json&, const std::string& path);
extern template MeasuredCpu read_value(const Json&, const std::string& path);
extern template MeasuredGpu read_value(const Json&, const std::string& path);
extern template Profile read_value(const Json&, const std::string& path);
extern template Ranks read_value(const Json&, const std::string& path);

// A key identifies the kind of a document: schema_version a result, turns_version interleaved turns, published_version
// published results.
std::string result_to_text(const Result& result);
std::string turns_to_text(const TurnsDocument& document);
std::string published_to_text(const PublishedDocument& document);
bool is_result(const Json& document);
bool is_turns(const Json& document);
bool is_published(const Json& document);

// `source` names the text in messages. Unknown keys are ignored; numbers that were not finite are read as NaN. Errors:
// FormatError for text that is not such a document, and for a newer version.
Result parse_result(std::string_view text, const std::string& source);
Result result_from_json(const Json& document, const std::string& source);
Result read_result(const std::string& path);
TurnsDocument parse_turns(std::string_view text, const std::string& source);
TurnsDocument turns_from_json(const Json& document, const std::string& source);
PublishedDocument parse_published(std::string_view text, const std::string& source);

}  // namespace epochbench
