// The document of two binaries that took turns as JSON text, version 1 (results/turns.schema.json), and back.
#pragma once

#include <string>
#include <string_view>

#include "epochbench/turns.h"

namespace epochbench {

std::string turns_to_text(const TurnsDocument& document);

// Whether this is such a document at all, and not a result: it has a key `turns_version`.
bool is_turns(std::string_view text);

// `source` names the text in messages. Further keys are ignored. Errors: FormatError for text that is not such a document, and
// for a newer version.
TurnsDocument parse_turns(std::string_view text, const std::string& source);
TurnsDocument read_turns(const std::string& path);

}  // namespace epochbench
