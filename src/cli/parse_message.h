// What is wrong with a call that CLI11 refuses. Its own texts are not shown: they name no remedy.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace epochbench {

// "unknown command 'runn'; choose from ...; did you mean run?".
std::string unknown_command(const CLI::App& program, const std::string& name);

// Errors: CallError for an option whose hyphens a document or a chat has made a dash: "–model".
void refuse_printed_dashes(const CLI::App& program, const std::vector<std::string>& arguments);

// Errors: CallError for an option that stands where the value of another belongs: "--out --dry-run" would write a file of that
// name. `arguments`: of the call, the first one first, with the program's name.
void refuse_options_as_values(const CLI::App& program, const std::vector<std::string>& arguments);

// One line with a hint, about the first wrong argument. `arguments`: of the call, the last one first, as CLI11 takes them.
std::string parse_message(const CLI::App& program, const std::vector<std::string>& arguments, const CLI::ParseError& error);

}  // namespace epochbench
