// A recipe: how a model is trained on a data set to a known quality, as options of a case; a JSON file.
//
//   {"description": "...", "source": "...", "options": {"model": "lenet5", "epochs": 12, "lr_schedule": "cosine"}}
//
// Nothing but its options acts, and a run's settings have them, so no result needs to know a recipe's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/case/case_block.h"

namespace epochbench {

struct Recipe {
  std::string name, description;
  std::string source;  // where the options come from, and what they reached
  CaseBlock options;   // one value each
};

// `name` stands in messages. Errors: CallError, FormatError.
Recipe parse_recipe(std::string_view text, const std::string& name);

// One that the program brings, by its name, or a file by its path. Errors: CallError with the known names, FormatError.
Recipe load_recipe(const std::string& name_or_path);
std::vector<Recipe> embedded_recipes();

// The options of a case in place of the recipe's. `until` alone leaves the recipe's epochs, which then are the most, so that a
// schedule stays as it is.
CaseBlock over_recipe(const Recipe& recipe, const CaseBlock& own);

}  // namespace epochbench
