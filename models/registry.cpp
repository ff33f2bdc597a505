// All model families, and the parser of model names.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "models/families.h"

namespace epochbench {
namespace {

const ModelOption& find_option(const ModelFamily& family, std::string_view name) {
  std::string known;
  for (const ModelOption& option : family.options) {
    if (option.name == name) return option;
    known += (known.empty() ? "" : ", ") + option.name;
  }
  throw std::invalid_argument("model " + family.name + " has no option '" + std::string(name) + "'; " +
                              (known.empty() ? "it takes none" : "it takes " + known));
}

std::int64_t parse_value(const std::string& family, const ModelOption& option, std::string_view text) {
  double value = 0;  // 16.0 and 1.6e1 are 16
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value == std::trunc(value);
  if (!whole || value < static_cast<double>(option.minimum) || value > static_cast<double>(option.maximum))
    throw std::invalid_argument("model " + family + ": " + option.name + "=" + std::string(text) +
                                " must be a whole number from " + std::to_string(option.minimum) + " to " +
                                std::to_string(option.maximum));
  return static_cast<std::int64_t>(value);
}

// The model of this family with the options `given`. An option that depends on the data is named even at its default.
Model made(const ModelFamily& family, const std::map<std::string, std::int64_t>& given) {
  Model model{.family = &family, .name = family.name};
  for (const ModelOption& option : family.options) {
    const auto found = given.find(option.name);
    const std::int64_t value = model.options[option.name] = found == given.end() ? option.value : found->second;
    if (found != given.end() && (value != option.value || option.of_byte_text)) model.named[option.name] = value;
  }
  if (const std::string problem = family.problem ? family.problem(model.options) : ""; !problem.empty())
    throw std::invalid_argument("model " + family.name + ": " + problem);
  char separator = ':';
  for (const auto& [name, value] : model.named) {
    model.name += separator + name + "=" + std::to_string(value);
    separator = ',';
  }
  return model;
}

}  // namespace

const std::vector<ModelFamily>& model_registry() {
  static const std::vector<ModelFamily> families = [] {
    std::vector<ModelFamily> all{mlp_family(), lenet5_family(), resnet20_family()};
    for (const auto& families_of : {resnet_families, bert_families, gpt2_families, llama_families, vit_families,
                                    efficientnet_families, nasnet_families, lstm_families})
      for (ModelFamily& family : families_of()) all.push_back(std::move(family));
    all.push_back(mobilenet_v2_family());
    return all;
  }();
  return families;
}

SampleSpec sized_image(const ModelConfig& config) {
  return {.height = config.options.at("height"),
          .width = config.options.at("width"),
          .channels = 3,
          .classes = config.options.at("classes")};
}

std::int64_t scaled_channels(std::int64_t channels, double multiplier) {
  const double wanted = static_cast<double>(channels) * multiplier;
  const std::int64_t rounded = std::max<std::int64_t>(8, static_cast<std::int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * wanted ? rounded + 8 : rounded;
}

std::string problem_of_heads(const std::map<std::string, std::int64_t>& options) {
  const std::int64_t heads = options.at("heads"), units = options.at("units");
  return units % heads == 0 ? "" : "heads=" + std::to_string(heads) + " must divide units=" + std::to_string(units);
}

Model find_model(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view family_name = text.substr(0, colon);
  const auto& families = model_registry();
  const auto family = std::find_if(families.begin(), families.end(),
                                   [&](const ModelFamily& candidate) { return candidate.name == family_name; });
  if (family == families.end()) throw std::invalid_argument("unknown model '" + std::string(family_name) + "'");

  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (colon != std::string_view::npos && rest.empty())
    throw std::invalid_argument("model '" + std::string(text) + "': an option=value must follow the colon");
  std::map<std::string, std::int64_t> given;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      throw std::invalid_argument("model '" + std::string(text) + "': '" + std::string(part) + "' is not option=value");
    const ModelOption& option = find_option(*family, part.substr(0, equals));
    if (!given.emplace(option.name, parse_value(family->name, option, part.substr(equals + 1))).second)
      throw std::invalid_argument("model '" + std::string(text) + "': " + option.name + " is given twice; leave one out");
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }

  return made(*family, given);
}

Model with_text_ids(const Model& model, std::optional<std::int64_t> ids) {
  std::map<std::string, std::int64_t> given = model.named;
  for (const ModelOption& option : model.family->options)
    if (option.of_byte_text && !given.contains(option.name))
      if (const std::int64_t value = ids.value_or(*option.of_byte_text); value != option.value)
        given[option.name] = parse_value(model.family->name, option, std::to_string(value));
  return made(*model.family, given);
}

}  // namespace epochbench
