// RESULT... on a command line: files, and folders of them.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/named_result.h"

namespace epochbench {

// The *.json of a folder, by name. Errors: CallError where it cannot be read.
std::vector<std::string> json_files_of(const std::string& folder);

// Whether a JSON text is a result at all: it has a schema_version. `path` names it in messages. Errors: FormatError for no
// JSON.
bool is_result(const std::string& text, const std::string& path);

// In the order of the call, each file once; of a folder, its *.json by name, not those below it. Other JSON in a folder
// (without schema_version) is left out, and stderr says so; named itself, it is an error. A run that an earlier file has, as a
// copy named `latest` does and what --resume kept, is left out in the same way. Errors: CallError without arguments and for a
// folder without results; FormatError for a file that cannot be read.
std::vector<NamedResult> read_result_arguments(const std::string& command, const std::vector<std::string>& arguments);

}  // namespace epochbench
