// Calls, up to the options that a command gets: of every command, as epochbench declares them. None is run.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "src/cli/commands.h"

namespace epochbench {

void fuzz::command_line(std::string_view bytes) {
  constexpr std::size_t kMaxArguments = 64;
  std::vector<std::string> arguments{"epochbench"};
  while (!bytes.empty() && arguments.size() < kMaxArguments) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    arguments.emplace_back(line.substr(0, line.find('\0')));  // null-terminated, as main() receives them
    bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  try {
    Commands commands(static_cast<int>(arguments.size()), argv.data());
    add_all(commands);
    commands.parse();
    if (const CaseBlock* cases = commands.cases()) expand(*cases);
  } catch (const CallError& error) {
    require(error.code() == kExitCallIsWrong, "a call is right, or wrong and said to be so");
  }
}

}  // namespace epochbench
