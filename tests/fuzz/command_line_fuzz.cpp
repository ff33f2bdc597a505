// Calls, up to the options that a command gets. The commands themselves are stand-ins (stand_in_commands.cpp).
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "src/base/errors.h"
#include "src/cli/command_line.h"

namespace epochbench::fuzz {

void command_line(std::string_view bytes) {
  constexpr std::size_t kMostArguments = 64;
  std::vector<std::string> arguments{"epochbench"};
  while (!bytes.empty() && arguments.size() < kMostArguments) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    arguments.emplace_back(line.substr(0, line.find('\0')));  // null-terminated, as main() receives them
    bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int code = epochbench::command_line(static_cast<int>(arguments.size()), argv.data());
  require(code == kExitDone || code == kExitCallIsWrong, "a call is right, or wrong and said to be so");
}

}  // namespace epochbench::fuzz
