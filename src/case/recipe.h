// A recipe: a JSON file with the options of a case that trains a model on a data set to a known quality.
//
//   {"description": "...", "source": "...", "options": {"model": "lenet5", "epochs": 12, "lr_schedule": "cosine"}}
//
// Only its options have an effect, and a run's settings include them, so results need not record the recipe's name.
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

// `name` is used in messages. Errors: CallError, FormatError.
Recipe parse_recipe(std::string_view text, const std::string& name);

// An embedded recipe by its name, or a file by its path. Errors: CallError with the known names, FormatError.
Recipe load_recipe(const std::string& name_or_path);
std::vector<Recipe> embedded_recipes();

// The recipe's options, overridden by those of a case. `until` alone keeps the recipe's epochs as the limit, so that the
// schedule does not change.
CaseBlock over_recipe(const Recipe& recipe, const CaseBlock& own);

}  // namespace epochbench
