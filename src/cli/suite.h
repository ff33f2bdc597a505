// A suite: a JSON file with the cases to run.
//
//   {"description": "...", "defaults": {"epochs": 3}, "cases": [{"model": "lenet5", "batch": [32, 64]}, ...]}
//
// Keys of `defaults` and of each case are the options of case_options.h. A list multiplies out; `defaults` hold for every case
// that does not say otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/case_options.h"

namespace epochbench {

struct Suite {
  std::string name, description;
  std::vector<CaseBlock> cases;
};

// `name` stands in messages. Errors: CallError, FormatError.
Suite parse_suite(std::string_view text, const std::string& name);

// An embedded suite by its name, or a file by its path. Errors: CallError with the known names, FormatError.
Suite load_suite(const std::string& name_or_path);
std::vector<Suite> embedded_suites();

}  // namespace epochbench
