#include "src/cli/help.h"

#include <algorithm>
#include <array>

#include "src/base/lookup.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

struct CommandGroup {
  const char* title;
  std::vector<std::string> commands;
  bool in_brief_help = true;
};

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> groups{
      {"Measure", {"run", "sweep", "compare", "bisect"}},
      {"Understand", {"speedup", "answers", "claims", "cost", "rent", "plan", "verify", "reproduce", "list", "info", "system"}},
      {"Share", {"report", "export", "import"}},
      {"Install", {"completion", "man"}, false},
  };
  return groups;
}

constexpr const char* kRestGroup = "Options";  // CLI11's for options without one
constexpr std::array kOptionGroups{"What to run", "How long", "Data and training", "Experiments",
                                   "Price",       "Output",   kRestGroup};

// What `-h` shows of a command that has more options than fit.
constexpr std::size_t kFewOptions = 16, kBriefExamples = 3;
constexpr std::array kUsedMost{"suite",      "over",    "values",      "model", "device", "precision", "batch",
                               "until",      "steps",   "repetitions", "price", "out",    "resume",    "quiet",
                               "interleave", "history", "threshold",   "on",    "json",   "help"};

std::size_t help_columns(std::size_t columns) { return std::min(columns, kTextColumns); }

// "RESULT..."
std::string argument(const CLI::Option& option) {
  std::string text = option.get_name(true);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text + (option.get_expected_max() > 1 ? "..." : "");
}

// "  -o, --out FILE", "      --batch N,...", "  RESULT...".
std::string head_of(const CLI::Option& option) {
  std::string value = option.get_type_size() > 0 ? " " + option.get_type_name() : "";
  if (option.get_expected_min() == 2) value += value;  // "--interleave BINARY BINARY"
  if (option.get_positional()) return "  " + argument(option);
  std::string names = option.get_snames().empty() ? "    " : "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) names += (option.get_snames().empty() ? "--" : ", --") + option.get_lnames().front();
  return "  " + names + value;
}

bool is_shown(const CLI::Option& option, HelpForm form, std::size_t options) {
  if (form == HelpForm::complete || options <= kFewOptions || option.get_positional()) return true;
  return !option.get_lnames().empty() && contains(kUsedMost, option.get_lnames().front());
}

// Rows of a name and its meaning, which is wrapped within its column.
std::string rows_text(const std::vector<std::pair<std::string, std::string>>& rows, std::size_t columns) {
  constexpr std::size_t kWidestHead = 30, kGap = 2;
  std::size_t width = 0;
  for (const auto& [head, about] : rows)
    if (display_width(head) <= kWidestHead) width = std::max(width, display_width(head));
  width += kGap;
  const std::string indent(width, ' ');
  std::string text;
  for (const auto& [head, about] : rows) {
    const bool fits = display_width(head) + kGap <= width;
    if (!fits) text += head + "\n";
    text += wrapped(fits ? head + std::string(width - display_width(head), ' ') : indent, indent, about, columns);
  }
  return text;
}

std::string options_text(const CLI::App& command, HelpForm form, std::size_t columns) {
  const auto all = shown_options(command);
  std::vector<std::string> titles{"Arguments"};
  titles.insert(titles.end(), kOptionGroups.begin(), kOptionGroups.end());
  std::vector<std::vector<std::pair<std::string, std::string>>> groups(titles.size());
  for (const CLI::Option* option : all) {
    if (!is_shown(*option, form, all.size())) continue;
    const bool flat = form == HelpForm::brief && !option->get_positional();
    const auto place = std::find(titles.begin(), titles.end(),
                                 option->get_positional() ? titles[0]
                                 : flat                   ? kRestGroup
                                                          : option->get_group());
    groups[static_cast<std::size_t>(std::min(place, titles.end() - 1) - titles.begin())].emplace_back(
        head_of(*option), option->get_description());
  }
  std::string text;
  for (std::size_t i = 0; i < titles.size(); ++i)
    if (!groups[i].empty()) text += "\n" + titles[i] + ":\n" + rows_text(groups[i], columns);
  return text;
}

// "  epochbench run    what it does": the comment is below if the line is too long.
std::string example_text(const std::string& line, std::size_t columns) {
  if (display_width(line) <= columns) return line + "\n";
  const std::size_t gap = line.rfind("   ");
  if (gap == std::string::npos || gap < 3) return fitted(line, columns) + "\n";
  const std::size_t end = line.find_last_not_of(' ', gap);
  return fitted(line.substr(0, end + 1), columns) + "\n" + wrapped("      ", "      ", line.substr(gap + 3), columns);
}

// "  name    what it is", which is wrapped within its column; or an example.
std::string footer_row(const std::string& line, std::size_t columns) {
  const std::size_t name = line.find_first_not_of(' '), gap = line.find("  ", name), about = line.find_first_not_of(' ', gap);
  if (line.starts_with("  epochbench") || about == std::string::npos) return example_text(line, columns);
  return wrapped(line.substr(0, about), std::string(about, ' '), line.substr(about), columns);
}

// The first examples.
std::string brief_footer(const std::string& footer, std::size_t columns) {
  std::string text;
  std::size_t examples = 0;
  for (const std::string& line : split(footer, '\n'))
    if (line.starts_with("  epochbench") && ++examples <= kBriefExamples) text += example_text(line, columns);
  return text.empty() ? "" : "Examples:\n" + text;
}

// The examples and rows as they are, the paragraphs filled.
std::string complete_footer(const std::string& footer, std::size_t columns) {
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += wrapped("", "", paragraph, columns);
    paragraph.clear();
  };
  for (const std::string& line : split(footer, '\n')) {
    const bool is_row = line.starts_with("  "), is_title = line.ends_with(":") && paragraph.empty();
    if (is_row || is_title || line.empty() || line.starts_with("Exit codes:")) end_paragraph();
    if (is_row)
      text += footer_row(line, columns);
    else if (is_title || line.empty())
      text += line + "\n";
    else
      append(paragraph, line, " ");
  }
  end_paragraph();
  return text;
}

std::string commands_text(const CLI::App& program, HelpForm form, std::size_t columns) {
  std::string text;
  for (const CommandGroup& group : command_groups()) {
    if (form == HelpForm::brief && !group.in_brief_help) continue;
    std::vector<std::pair<std::string, std::string>> rows;
    for (const std::string& name : group.commands)
      rows.emplace_back("  " + name + std::string(10 - name.size(), ' '), program.get_subcommand(name)->get_description());
    text += "\n" + std::string(group.title) + ":\n" + rows_text(rows, columns);
  }
  return text;
}

}  // namespace

std::string help_text(const CLI::App& command, const std::string& call, HelpForm form, std::size_t available) {
  const std::size_t columns = help_columns(available);
  const bool is_program = command.get_parent() == nullptr;
  std::string usage = "Usage: " + call + (is_program ? " COMMAND [OPTIONS]" : " [OPTIONS]");
  for (const CLI::Option* option : shown_options(command))
    if (option->get_positional()) usage += option->get_required() ? " " + argument(*option) : " [" + argument(*option) + "]";
  std::string text = wrapped("", "", command.get_description(), columns) + "\n" + fitted(usage, columns) + "\n";
  if (is_program) text += commands_text(command, form, columns);
  text += options_text(command, form, columns);
  const bool brief = form == HelpForm::brief;
  append(text, brief ? brief_footer(command.get_footer(), columns) : complete_footer(command.get_footer(), columns), "\n");
  if (brief && !is_program) text += "\nmore: " + call + " --help\n";
  return text;
}

std::vector<std::string> shown_commands(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

}  // namespace epochbench
