// Options of a case as a JSON object has them, in suites and recipes.
#pragma once

#include <string>

#include "src/base/json.h"
#include "src/case/case_block.h"

namespace epochbench {

// A string, or a number as the file has it. Errors: CallError with the place.
std::string scalar_text(const Json& value, const std::string& where);

// Keys are those of the table of options; a value is a string, a number or a list of them. Errors: CallError with the place.
CaseBlock read_block(const Json& object, const std::string& where);

}  // namespace epochbench
