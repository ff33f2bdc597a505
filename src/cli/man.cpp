// epochbench man: the manual page, with the texts of all commands and options.
#include <cctype>

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/completable.h"
#include "src/cli/help.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

constexpr const char* kManExamples = R"(Examples:
  epochbench man > ~/.local/share/man/man1/epochbench.1
  epochbench man | man -l -)";

constexpr const char* kDate = "2026-11-23";  // of the page's form, since a page needs a date

constexpr const char* kExitStatus = R"(.SH EXIT STATUS
0: everything requested was done.  1: done, but a case failed, or the answer is no.
2: the command line, a file or the data is wrong.  3: a device that it names is not usable here.  4: not enough evidence.
130: interrupted.  If several apply, the first of 130, 2, 1, 3, 4.
)";

// A line of text, whose characters have no meaning for roff.
std::string roff(std::string line) {
  replace_all(line, "\\", "\\e");
  replace_all(line, "-", "\\-");
  return (line.starts_with(".") || line.starts_with("'") ? "\\&" : "") + line;
}

std::string option_text(const CLI::Option& option) {
  const Completable found = completable(option);
  std::string head;
  for (auto flag = found.flags.rbegin(); flag != found.flags.rend(); ++flag) append(head, "\\fB" + roff(*flag) + "\\fR");
  if (found.flags.empty()) head = "\\fI" + roff(option.get_name(true)) + "\\fR";
  if (!found.flags.empty() && found.takes_value) head += " \\fI" + roff(option.get_type_name()) + "\\fR";
  return ".TP\n" + head + "\n" + roff(option.get_description()) + "\n";
}

std::string command_text(const CLI::App& command) {
  std::string title = command.get_name();
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = ".SH EPOCHBENCH " + title + "\n";
  for (const CLI::Option* option : shown_options(command)) text += option_text(*option);
  text += ".PP\n.nf\n";
  for (const std::string& line : split(command.get_footer(), '\n')) text += roff(line) + "\n";
  return text + ".fi\n";
}

std::string man_page(const CLI::App& program) {
  std::string list, sections;
  for (const std::string& name : shown_commands(program)) {
    const CLI::App& command = *program.get_subcommand(name);
    list += ".TP\n.B " + name + "\n" + roff(command.get_description()) + "\n";
    sections += command_text(command);
  }
  return std::string(".TH EPOCHBENCH 1 ") + kDate + " \"epochbench " + build_info().version +
         "\" \"User Commands\"\n"
         ".SH NAME\nepochbench \\- measure what it costs to train a model on this machine\n"
         ".SH SYNOPSIS\n.B epochbench\n.I COMMAND\n[OPTIONS]\n.SH DESCRIPTION\n" +
         roff(program.get_description()) + "\n.SH COMMANDS\n" + list + sections + kExitStatus;
}

struct ManOptions {
  const CLI::App* program = nullptr;
};

int man(const ManOptions& options) {
  print(man_page(*options.program));
  return kExitDone;
}

}  // namespace

void add_man(Commands& commands) {
  auto [command, options] = commands.add("man", "print the manual page", kManExamples, man);
  options.program = command.get_parent();
}

}  // namespace epochbench
