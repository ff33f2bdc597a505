// The whole program: from its arguments to its exit code.
#pragma once

namespace epochbench {

int command_line(int argc, char** argv);

}  // namespace epochbench
