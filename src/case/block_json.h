// Reads the options of a case from a JSON object, for suites and recipes.
#pragma once

#include <string>

#include "src/base/json.h"
#include "src/case/case_block.h"

namespace epochbench {

// The text of a string or a number. Errors: CallError with the place.
std::string scalar_text(const Json& value, const std::string& where);

// Keys are those of the table of options; a value is a string, a number or a list of them. Errors: CallError with the place.
CaseBlock read_block(const Json& object, const std::string& where);

}  // namespace epochbench
