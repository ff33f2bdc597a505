#include "src/cli/parse_message.h"

#include <algorithm>

#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/case/case_spec.h"
#include "src/cli/help.h"

namespace epochbench {
namespace {

std::string see_help(const std::string& command) { return " (see epochbench " + command + "--help)"; }

// Those in a command's help, as "--batch".
std::vector<std::string> shown_flags(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : shown_options(command))
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

// Names the other commands that have the option, or the options of this one that it may mean.
std::string unknown_option(const CLI::App& program, const CLI::App& command, const std::string& given) {
  const std::string name = given.substr(0, given.find('='));
  std::vector<std::string> owners;
  for (const std::string& other : shown_commands(program))
    if (contains(shown_flags(*program.get_subcommand(other)), name)) owners.push_back(other);
  const std::string refusal = command.get_name() + " has no " + name;
  if (!owners.empty()) return refusal + " (" + joined(owners) + (owners.size() == 1 ? " does)" : " do)") + "; leave it out";
  return refusal + did_you_mean(name, shown_flags(command));
}

// "N,..." of "--batch: 1 required N,... missing" and the like: the option that a message of CLI11 begins with.
const CLI::Option* option_of(const CLI::App& command, const std::string& message) {
  const std::string name = message.substr(0, message.find(':'));
  const auto options = command.get_options();
  const auto found = std::ranges::find_if(options, [&](const CLI::Option* option) { return option->get_name() == name; });
  return found == options.end() ? nullptr : *found;
}

// An option with too few or too many values. Empty: it is something else.
std::string count_message(const CLI::App& command, const CLI::ParseError& error) {
  const CLI::Option* option = dynamic_cast<const CLI::ArgumentMismatch*>(&error) ? option_of(command, error.what()) : nullptr;
  if (!option) return "";
  const std::string name = option->get_name(), value = option->get_type_name();
  if (static_cast<int>(option->count()) <= option->get_items_expected_max()) {
    std::string usage = name;
    for (int i = 0; i < std::max(1, option->get_items_expected_min()); ++i) usage += " " + value;
    return name + ": a value is missing; give " + usage;
  }
  const bool takes_list = value.ends_with(",...");
  return name + ": given twice; give it once" + (takes_list ? ", with commas between several values" : "");
}

// "--quiet=no": a value for an option without one. Empty: it is something else.
std::string flag_message(const CLI::App& command, const std::vector<std::string>& arguments) {
  for (auto each = arguments.rbegin(); each != arguments.rend(); ++each) {
    const std::string& argument = *each;
    const std::size_t equals = argument.find('=');
    const CLI::Option* option = equals == std::string::npos ? nullptr : option_of(command, argument.substr(0, equals));
    if (option && option->get_items_expected_max() == 0)
      return option->get_name() + ": takes no value; leave out '" + argument.substr(equals) + "'";
  }
  return "";
}

// What is required and was not given. Empty: it is something else.
std::string missing_message(const CLI::App& command, const CLI::ParseError& error) {
  if (!dynamic_cast<const CLI::RequiredError*>(&error)) return "";
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->count() == 0)
      return command.get_name() + ": " + (option->get_positional() ? option->get_type_name() : option->get_name()) +
             " is missing, " + option->get_description();
  return "";
}

// Where MODEL was given and further models follow: how to give several.
std::string several_models(const CLI::App& command, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& unexpected) {
  const CLI::Option* model = command.get_option_no_throw("MODEL");
  if (!model || model->count() == 0 || !find_family(model->results().front())) return "";
  std::string models = model->results().front();
  for (auto each = arguments.rbegin(); each != arguments.rend(); ++each)
    if (contains(unexpected, *each) && find_family(*each)) append(models, *each, ",");
  return models == model->results().front() ? "" : "; for several models give --model " + models;
}

}  // namespace

std::string unknown_command(const CLI::App& program, const std::string& name) {
  const std::vector<std::string> commands = shown_commands(program);
  return "unknown command '" + name + "'; choose from " + joined(commands) + did_you_mean(name, commands) +
         " (see epochbench --help)";
}

void refuse_printed_dashes(const CLI::App& program, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    std::size_t at = 0;
    for (const std::string_view dash : {"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212"})
      while (argument.compare(at, dash.size(), dash) == 0) at += dash.size();
    if (at == 0) continue;
    const std::string flag = "--" + argument.substr(at, argument.find('=') - at);
    for (const std::string& command : shown_commands(program))
      if (contains(shown_flags(*program.get_subcommand(command)), flag))
        throw CallError("'" + argument + "' begins with a printed dash, as in documents; did you mean " + flag + "?");
  }
}

void refuse_options_as_values(const CLI::App& program, const std::vector<std::string>& arguments) {
  const auto commands = program.get_subcommands([](const CLI::App*) { return true; });
  const auto chosen = std::ranges::find_if(
      commands, [&](const CLI::App* each) { return arguments.size() > 1 && each->get_name() == arguments[1]; });
  if (chosen == commands.end()) return;
  const CLI::App* command = *chosen;
  const auto option_named = [&](const std::string& argument) {
    return argument.starts_with("-") ? command->get_option_no_throw(argument.substr(0, argument.find('='))) : nullptr;
  };
  for (std::size_t i = 2; i < arguments.size() && arguments[i] != "--"; ++i) {
    const CLI::Option* option = arguments[i].find('=') == std::string::npos ? option_named(arguments[i]) : nullptr;
    if (!option) continue;
    for (int values = option->get_items_expected_min(); values > 0 && i + 1 < arguments.size(); --values)
      if (option_named(arguments[++i]))
        throw CallError(arguments[i - 1] + ": a value is missing before " + arguments[i] + "; give " + option->get_name() +
                        " " + option->get_type_name() + see_help(command->get_name() + " "));
  }
}

std::string parse_message(const CLI::App& program, const std::vector<std::string>& arguments, const CLI::ParseError& error) {
  const auto wrong = program.remaining(true);
  const auto first =
      std::find_if(arguments.rbegin(), arguments.rend(), [&](const std::string& each) { return contains(wrong, each); });
  const bool found = !wrong.empty() && first != arguments.rend();
  if (const auto chosen = program.get_subcommands(); !chosen.empty()) {
    const CLI::App& command = *chosen.front();
    const std::string name = command.get_name(), help = see_help(name + " ");
    for (const std::string& message : {missing_message(command, error), count_message(command, error)})
      if (!message.empty()) return message + help;
    if (!dynamic_cast<const CLI::ExtrasError*>(&error)) {
      const std::string message = flag_message(command, arguments);
      return (message.empty() ? name + ": " + error.what() : message) + help;
    }
    if (!found) return name + ": cannot read '" + (wrong.empty() ? "" : wrong.front()) + "'; leave it out" + help;
    if (contains(program.remaining(false), *first))
      return "'" + *first + "' stands before the command; options of " + name + " follow it" + help;
    if (first->starts_with("-")) return unknown_option(program, command, *first) + help;
    const std::string several = several_models(command, arguments, wrong);
    return name + ": unexpected argument '" + *first + "'" + (several.empty() ? "; leave it out" : several) + help;
  }
  if (!dynamic_cast<const CLI::RequiredError*>(&error)) {
    const std::string message = flag_message(program, arguments);
    return (message.empty() ? error.what() : message) + see_help("");
  }
  if (!found) return "no command; choose from " + joined(shown_commands(program)) + see_help("");
  if (first->starts_with("-"))
    return "unknown option '" + *first + "' before the command" + did_you_mean(*first, shown_flags(program)) + see_help("");
  return unknown_command(program, *first);
}

}  // namespace epochbench
