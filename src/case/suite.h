// A suite: a JSON file with the cases to run.
//
//   {"name": "...", "description": "...", "repetitions": 5, "budget_seconds": 3600, "answers": true,
//    "defaults": {"epochs": 3}, "cases": [{"model": "lenet5", "batch": [32, 64]}, ...]}
//
// Only `cases` is required. Keys of `defaults` and of each case are those of the table of options (case_option.h). Lists
// multiply out; `defaults` apply to every case that does not override them. With `answers` the run ends with a page of answers
// (src/report/answers/answers_page.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/case/case_block.h"

namespace epochbench {

struct Suite {
  std::string name, description;
  bool own = false;                      // embedded in the program
  int repetitions = 1;                   // --repetitions overrides it
  std::optional<double> budget_seconds;  // --budget overrides it; empty: none
  bool answers = false;
  std::vector<CaseBlock> cases;
};

// Values in a call or a suite. Errors: CallError with the range.
int parse_repetitions(const std::string& text);
double parse_budget(const std::string& text);  // in seconds

// `name` is used in messages. Errors: CallError, FormatError.
Suite parse_suite(std::string_view text, const std::string& name);

// The JSON of an embedded suite; empty: none has that name.
std::optional<std::string> own_suite_text(const std::string& name);

// An embedded suite by its name, or a file by its path. Errors: CallError with the known names, FormatError.
Suite load_suite(const std::string& name_or_path);
std::vector<Suite> embedded_suites();

}  // namespace epochbench
