// The help texts: of the program, and of a command, brief and complete.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace epochbench {

enum class HelpForm : std::uint8_t { brief, complete };  // brief: the options used most, and three examples

// `call`: "epochbench run". Lines have at most 100 and at most `columns` columns.
std::string help_text(const CLI::App& command, const std::string& call, HelpForm form, std::size_t columns);

// The subcommands and, of a command, the options and arguments that the help shows.
std::vector<std::string> shown_commands(const CLI::App& program);
std::vector<const CLI::Option*> shown_options(const CLI::App& command);

}  // namespace epochbench
