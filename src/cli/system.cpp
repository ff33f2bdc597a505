// epochbench system: what disturbs measurements on this machine, and how to change it.
#include <algorithm>
#include <array>
#include <cstdio>

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/machine/system/system_state.h"
#include "src/machine/topology.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

constexpr const char* kSystemExamples = R"(Examples:
  epochbench system
  epochbench system --json

A disturbance makes measurements slower, or different from run to run; it is listed with the reason and a command that removes it.
`not known` means that the kernel does not report it, as in many virtual machines. The command watches the machine for one second
and changes nothing. `run` with a suite prints one line that names the disturbances.)";

constexpr std::array kStates{"ok", "disturbs", "not known"};  // in the order of Disturbance
const char* text_of(Disturbance state) { return kStates[static_cast<std::size_t>(state)]; }

struct SystemOptions {
  bool json = false;
};

std::vector<SystemCheck> checks_during(double seconds) { return system_checks(affinity_cpus(), foreign_cores_now(seconds)); }

std::string check_text(const SystemCheck& check) {
  constexpr std::size_t kName = 15, kState = 11;
  const auto padded = [](std::string text, std::size_t width) {
    return text + std::string(width - std::min(width, text.size()), ' ');
  };
  const std::string indent(kName, ' ');
  std::string text =
      wrapped(padded(check.name, kName) + padded(text_of(check.state), kState), std::string(kName + kState, ' '), check.found);
  if (!check.why.empty()) text += wrapped(indent + "why: ", indent, check.why);
  if (!check.fix.empty()) text += "  " + check.fix + "\n";
  return text;
}

int system_command(const SystemOptions& options) {
  const std::vector<SystemCheck> checks = checks_during(1);
  if (options.json) {
    Json list = Json::array();
    for (const SystemCheck& check : checks)
      list.push_back({{"name", check.name},
                      {"state", text_of(check.state)},
                      {"found", check.found},
                      {"why", check.why},
                      {"fix", check.fix}});
    print(print_json({{"checks", list}}));
    return kExitDone;
  }
  std::string text;
  for (const SystemCheck& check : checks) text += check_text(check);
  print_fitted(text);
  return kExitDone;
}

}  // namespace

void print_disturbances() {
  constexpr double kSeconds = 0.3;
  std::vector<std::string> names;
  for (const SystemCheck& check : checks_during(kSeconds))
    if (check.state == Disturbance::disturbs) names.push_back(check.name);
  if (!names.empty())
    std::fputs(fitted("system: " + joined(names) + (names.size() == 1 ? " disturbs" : " disturb") +
                      " measurements here: epochbench system\n")
                   .c_str(),
               stderr);
}

void add_system(Commands& commands) {
  auto [command, options] = commands.add("system", "show what disturbs measurements on this machine, and what helps",
                                         kSystemExamples, system_command);
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
