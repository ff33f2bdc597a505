// epochbench completion: scripts for shells, which offer the commands, options and values of this build.
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/completable.h"
#include "src/cli/help.h"

namespace epochbench {
namespace {

constexpr const char* kCompletionExamples = R"(Examples:
  epochbench completion bash > ~/.local/share/bash-completion/completions/epochbench
  epochbench completion zsh > ~/.zfunc/_epochbench     where fpath has ~/.zfunc, before compinit
  epochbench completion fish > ~/.config/fish/completions/epochbench.fish

Completion takes effect in the next shell session. Packages install the three scripts where shells look for them.)";

constexpr const char* kBash = R"(# Completion of epochbench for bash, printed by `epochbench completion bash`.
_epochbench() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command="" options="" choices="none" head="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi
  done
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "@commands@ help --help --version" -- "$cur"))
    return
  fi
  case "$command $prev" in
@values@  esac
  if [[ $choices == none && $cur == -* ]]; then
    case "$command" in
@options@    esac
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  if [[ $choices == none ]]; then
    choices=""
    case "$command" in
@arguments@      help) choices="@commands@" ;;
    esac
  fi
  [[ $cur == *,* ]] && head=${cur%,*},  # the last of a list
  COMPREPLY=($(compgen -P "$head" -W "$choices" -- "${cur##*,}"))
  [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$cur"))
}
complete -o filenames -F _epochbench epochbench
)";

constexpr const char* kZsh = R"(#compdef epochbench
# Completion of epochbench for zsh, printed by `epochbench completion zsh`.
_epochbench() {
  local -a commands
  commands=(
@commands@  )
  local context state state_descr line
  typeset -A opt_args
  _arguments -C '1: :->command' '*:: :->rest' && return
  if [[ $state == command ]]; then
    _describe command commands
    return
  fi
  case $line[1] in
@options@  esac
}
_epochbench "$@"
)";

constexpr const char* kFish = R"(# Completion of epochbench for fish, printed by `epochbench completion fish`.
complete -c epochbench -n __fish_use_subcommand -f
)";

std::string quoted(std::string text) {
  replace_all(text, "'", "'\\''");
  return "'" + text + "'";
}

std::string bash_script(const CLI::App& program) {
  std::string values, options, arguments;
  for (const std::string& name : shown_commands(program)) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : shown_options(*program.get_subcommand(name))) {
      const Completable found = completable(*option);
      flags.insert(flags.end(), found.flags.begin(), found.flags.end());
      const auto pattern = [&](const std::string& flag) { return quoted(name + " " + flag); };
      const std::string choices = ") choices=\"" + joined(found.values, " ") + "\" ;;\n";
      if (found.flags.empty())
        arguments += "      " + name + choices;
      else if (found.takes_value)
        values += "    " + joined(found.flags, pattern, "|") + choices;
    }
    options += "      " + name + ") options=\"" + joined(flags, " ") + "\" ;;\n";
  }
  std::string script = kBash;
  replace_all(script, "@commands@", joined(shown_commands(program), " "));
  replace_all(script, "@values@", values);
  replace_all(script, "@options@", options);
  replace_all(script, "@arguments@", arguments);
  return script;
}

// What _arguments reads: "*--out=[result file]:FILE:_files".
std::string zsh_specs(const CLI::Option& option) {
  const auto escaped = [](std::string text, const std::string& special) {
    for (const char c : special) replace_all(text, std::string(1, c), std::string{'\\', c});
    return text;
  };
  constexpr const char* kSpecial = "\\[]:";
  const Completable found = completable(option);
  const std::string choices = "(" + escaped(joined(found.values, " "), ":") + ")";
  const std::string what = !found.values.empty() ? choices : found.takes_file ? "_files" : " ";
  if (found.flags.empty()) return quoted("*:" + escaped(option.get_name(true), kSpecial) + ":" + what);
  const std::string value = found.takes_value ? ":" + escaped(option.get_type_name(), kSpecial) + ":" + what : "";
  const auto spec = [&](const std::string& flag) {
    const std::string equals = flag.starts_with("--") && found.takes_value ? "=" : "";
    return quoted("*" + flag + equals + "[" + escaped(option.get_description(), kSpecial) + "]" + value);
  };
  return joined(found.flags, spec, " \\\n        ");
}

std::string zsh_script(const CLI::App& program) {
  std::string commands, options;
  for (const std::string& name : shown_commands(program)) {
    const CLI::App& command = *program.get_subcommand(name);
    commands += "    " + quoted(name + ":" + command.get_description()) + "\n";
    const auto specs = [](const CLI::Option* option) { return zsh_specs(*option); };
    options += "    " + name + ")\n      _arguments \\\n        " + joined(shown_options(command), specs, " \\\n        ") +
               "\n      ;;\n";
  }
  std::string script = kZsh;
  replace_all(script, "@commands@", commands);
  replace_all(script, "@options@", options);
  return script;
}

std::string fish_script(const CLI::App& program) {
  std::string commands, options;
  for (const std::string& name : shown_commands(program)) {
    const CLI::App& command = *program.get_subcommand(name);
    commands +=
        "complete -c epochbench -n __fish_use_subcommand -a " + name + " -d " + quoted(command.get_description()) + "\n";
    for (const CLI::Option* option : shown_options(command)) {
      const Completable found = completable(*option);
      if (found.flags.empty() && found.values.empty()) continue;
      options += "complete -c epochbench -n '__fish_seen_subcommand_from " + name + "'";
      for (const std::string& flag : found.flags)
        options += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
      if (found.flags.empty()) options += " -f";
      if (!found.flags.empty() && found.takes_value) options += found.takes_file ? " -r" : " -x";
      if (!found.values.empty()) options += " -a " + quoted(joined(found.values, " "));
      if (!found.flags.empty()) options += " -d " + quoted(option->get_description());
      options += "\n";
    }
  }
  return kFish + commands + options;
}

struct CompletionOptions {
  std::string shell;
  const CLI::App* program = nullptr;
};

int completion(const CompletionOptions& options) {
  const std::string shell = located("completion", [&] { return parse_word(options.shell, {"bash", "zsh", "fish"}); });
  print((shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script)(*options.program));
  return kExitDone;
}

}  // namespace

void add_completion(Commands& commands) {
  auto [command, options] =
      commands.add("completion", "print a script that completes calls in a shell", kCompletionExamples, completion);
  command.add_option("shell", options.shell, "bash, zsh or fish")->type_name("SHELL")->required();
  options.program = command.get_parent();
}

}  // namespace epochbench
