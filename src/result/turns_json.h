// The document of two binaries that took turns, as JSON text, version 1 (results/turns.schema.json), and back.
#pragma once

#include <string>
#include <string_view>

#include "src/base/json_fields.h"
#include "src/result/turns.h"

namespace epochbench {

template <>
struct JsonConversion<Side> {
  static Json write(Side side) { return kSideNames[side]; }
  static Side read(const Json& value, const std::string& path);
};

std::string turns_to_text(const TurnsDocument& document);

bool is_turns(const Json& document);  // it says that it is one, and not a result: there is a turns_version

// `source` names the text in messages. Further keys are ignored. Errors: FormatError for text that is not such a document, and
// for a newer version.
TurnsDocument parse_turns(std::string_view text, const std::string& source);
TurnsDocument turns_from_json(const Json& document, const std::string& source);

}  // namespace epochbench
