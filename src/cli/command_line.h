// From argc and argv to a subcommand.
#pragma once

namespace epochbench {

// Reads the call, runs the subcommand, tells errors in one line, returns the exit code.
int command_line(int argc, char** argv);

}  // namespace epochbench
