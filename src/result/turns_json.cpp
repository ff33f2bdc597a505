#include "src/result/turns_json.h"

#include "src/result/result_json.h"

namespace epochbench {

Side JsonConversion<Side>::read(const Json& value, const std::string& path) {
  for (const Side side : kSides)
    if (value.is_string() && value.get<std::string>() == kSideNames[side]) return side;
  throw FormatError(path + ": must be \"baseline\" or \"new\"");
}

std::string turns_to_text(const TurnsDocument& document) {
  FieldWriter writer;
  writer("turns_version", kTurnsVersion);
  fields(writer, document);
  return print_json(writer.object);
}

bool is_turns(const Json& document) { return document.is_object() && document.contains("turns_version"); }

TurnsDocument parse_turns(std::string_view text, const std::string& source) {
  return turns_from_json(parse_json(text, source), source);
}

TurnsDocument turns_from_json(const Json& document, const std::string& source) {
  const JsonFields from(document, source);
  if (!from.find("turns_version")) throw FormatError(source + ": no turns_version, so not a file of compare --interleave");
  const std::int64_t version = from.integer("turns_version");
  if (version > kTurnsVersion)
    throw FormatError(source + ": version " + std::to_string(version) + " is newer than this epochbench, which reads up to " +
                      std::to_string(kTurnsVersion) + "; update epochbench");
  try {
    if (version < 1) throw FormatError(from.path("turns_version") + ": must be at least 1");
    return read_fields<TurnsDocument>(from);
  } catch (const FormatError& error) {
    throw FormatError(std::string(error.what()) + "; results/turns.schema.json says what belongs there");
  }
}

}  // namespace epochbench
