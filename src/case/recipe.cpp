#include "src/case/recipe.h"

#include <algorithm>
#include <filesystem>

#include "epochbench/embedded.h"
#include "src/base/files.h"
#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/case/block_json.h"

namespace epochbench {
namespace {

constexpr std::string_view kRecipeFolder = "bench/recipes/", kRecipeSuffix = ".json";
constexpr std::size_t kMaxRecipeBytes = std::size_t{1} << 16;

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& name) {
  const std::string where = "recipe " + name;
  const Json document = parse_json(text, where);
  const JsonFields fields(document, where);
  Recipe recipe{name, fields.text("description"), fields.text("source"), {}};
  if (!document.contains("options")) throw CallError(where + ": no options; add \"options\": {\"model\": \"lenet5\"}");
  recipe.options = read_block(document["options"], where + ": options");
  for (const auto& [key, values] : recipe.options)
    if (values.values.size() > 1) throw CallError(values.where + ": a recipe has one value for each option");
  expand(recipe.options);
  return recipe;
}

Recipe load_recipe(const std::string& name_or_path) {
  if (const auto text = embedded_file(std::string(kRecipeFolder) + name_or_path + std::string(kRecipeSuffix)))
    return parse_recipe(*text, name_or_path);
  std::error_code error;
  if (!name_or_path.empty() && std::filesystem::is_regular_file(name_or_path, error))
    return parse_recipe(read_text_file(name_or_path, kMaxRecipeBytes), name_or_path);
  std::vector<std::string> names;
  for (const Recipe& recipe : embedded_recipes()) names.push_back(recipe.name);
  throw CallError("recipe '" + name_or_path + "' is neither known nor a file; known: " + joined(names) +
                  did_you_mean(name_or_path, names));
}

std::vector<Recipe> embedded_recipes() {
  std::vector<Recipe> recipes;
  for (const std::string_view path : embedded_files(kRecipeFolder)) {
    const std::string_view name = path.substr(kRecipeFolder.size(), path.size() - kRecipeFolder.size() - kRecipeSuffix.size());
    recipes.push_back(parse_recipe(*embedded_file(path), std::string(name)));
  }
  return recipes;
}

CaseBlock over_recipe(const Recipe& recipe, const CaseBlock& own) {
  CaseBlock block = merged(recipe.options, own);
  const auto stops = std::ranges::count_if(own, [](const auto& entry) { return find_case_option(entry.first)->stops; });
  const auto epochs = recipe.options.find("epochs");
  if (stops == 1 && own.contains("until") && epochs != recipe.options.end()) block["epochs"] = epochs->second;
  return block;
}

}  // namespace epochbench
