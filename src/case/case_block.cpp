#include "src/case/case_block.h"

#include <algorithm>
#include <exception>
#include <set>
#include <span>
#include <utility>

#include "src/base/numbers.h"

namespace epochbench {
namespace {

// Errors: CallError if the lists of a block multiply out to more than kMaxCases cases.
void check_size(const CaseBlock& block) {
  std::size_t cases = 1;
  for (const auto& [key, option] : block) {
    if (option.values.size() > kMaxCases / cases)
      throw CallError(option.where + ": the lists multiply out to more than " + std::to_string(kMaxCases) +
                      " cases; leave some values out");
    cases *= std::max<std::size_t>(option.values.size(), 1);
  }
}

// Checks that the options of a case do not contradict each other. Errors: CallError at the option that is reported as wrong.
void check_together(const CaseSpec& spec, const CaseBlock& block) {
  const auto refuse = [&](const std::vector<const char*>& keys, const std::string& why) {
    for (const char* key : keys)
      if (const auto found = block.find(key); found != block.end()) throw CallError(found->second.where + ": " + why);
    throw CallError(why);
  };
  const StopSpec& stop = spec.stop;
  if (stop.steps.has_value() + stop.epochs.has_value() + stop.min_time_seconds.has_value() > 1)
    refuse({"steps", "epochs", "min_time"}, "steps, epochs and min-time exclude each other; give one");
  if (stop.until && (stop.steps || stop.min_time_seconds))
    refuse({"until"}, "trains whole epochs and cannot be combined with steps or min-time; use epochs to cap it");
  if (stop.until && spec.mode == Mode::forward) refuse({"until"}, "needs training; leave out mode forward");
  if (spec.ema > 0 && spec.mode == Mode::forward) refuse({"ema"}, "needs training; leave out mode forward");
  const bool scheduled = spec.lr_schedule != Schedule::constant;
  if ((scheduled || spec.lr_warmup > 0) && spec.mode == Mode::forward)
    refuse({"lr_schedule", "lr_warmup"}, "needs training; leave out mode forward");
  if (scheduled && !stop.steps && !stop.epochs)
    refuse({"lr_schedule"}, std::string(name(spec.lr_schedule)) +
                                " needs to know how many steps there are; add epochs (with until, the maximum) or steps");
  if (spec.precision == Precision::int8 && spec.mode != Mode::forward)
    refuse({"precision"}, "int8 is for inference, which is mode forward; use fp32 to train");
}

// Errors: CallError for a value that a list has twice; `parsed` has what its values mean.
void check_repeats(const CaseOption& option, const OptionValues& list, std::span<const CaseSpec> parsed) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    // A model's options are another setting.
    const auto meaning = option.value && option.key != "model" ? option.value(parsed[i]) : std::nullopt;
    if (!seen.insert(meaning ? to_text(*meaning) : list.values[i]).second)
      throw CallError(list.where + ": " + list.values[i] +
                      " stands twice; to measure a case several times, give a number of repetitions");
  }
}

}  // namespace

std::vector<std::string> split_values(const CaseOption& option, const std::string& text) {
  if (!takes_list(option)) return {text};
  if (const auto ends = ends_of_range(text); ends && option.value_name == "N,...")
    throw CallError("'" + text + "' is a range; give the values with commas between them, such as " + ends->first + "," +
                    ends->second);
  std::vector<std::string> values;
  for (const std::string& part : split_list(text)) {
    const bool belongs_to_model =
        option.key == "model" && part.find('=') != std::string::npos && part.find(':') == std::string::npos;
    if (!belongs_to_model) {
      values.push_back(part);
      continue;
    }
    if (values.empty()) throw CallError("'" + part + "' must stand after the model that it belongs to, as in mlp:" + part);
    values.back() += (values.back().find(':') == std::string::npos ? ":" : ",") + part;
  }
  return values;
}

CaseBlock merged(CaseBlock block, const CaseBlock& over) {
  const auto stops = [](const auto& entry) { return find_case_option(entry.first)->stops; };
  if (std::ranges::any_of(over, stops)) std::erase_if(block, stops);
  for (const auto& [key, values] : over) block[key] = values;
  return block;
}

std::vector<CaseSpec> expand(const CaseBlock& block) {
  check_size(block);
  std::vector<CaseSpec> specs(1);
  for (const CaseOption& option : case_options()) {
    const auto found = block.find(option.key);
    if (found == block.end()) continue;
    const auto& [values, where] = found->second;
    std::vector<CaseSpec> next;
    for (const CaseSpec& spec : specs)
      for (const std::string& value : values) {
        next.push_back(spec);
        try {
          option.parse(next.back(), value);
        } catch (const CallError& error) {
          throw error.at(where);
        } catch (const std::exception& error) {  // std::invalid_argument from the model registry
          throw CallError(where + ": " + error.what());
        }
      }
    check_repeats(option, found->second, std::span(next).first(values.size()));
    specs = std::move(next);
  }
  for (const CaseSpec& spec : specs) check_together(spec, block);
  return specs;
}

}  // namespace epochbench
