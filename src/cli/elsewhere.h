// --on of the commands that read results.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "src/result/turns.h"
#include "src/session/elsewhere.h"

namespace epochbench {

void add_on_option(CLI::App& command, std::vector<std::string>& on);

// Prints what the results would be on those devices; `verbose`: with all notes. Errors: as elsewhere().
int print_elsewhere(const std::vector<NamedResult>& results, const ElsewhereRequest& request, bool verbose, bool json);

}  // namespace epochbench
