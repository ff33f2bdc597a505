// Reads a call as epochbench does, cases included, and runs nothing. Checks the calls in documents.
#include "src/cli/commands.h"

int main(int argc, char** argv) try {
  epochbench::Commands commands(argc, argv);
  epochbench::add_all(commands);
  commands.parse();
  if (const epochbench::CaseBlock* cases = commands.cases()) epochbench::expand(*cases);
  return epochbench::kExitDone;
} catch (const std::exception& error) {
  epochbench::print_error(error.what());
  return epochbench::kExitCallIsWrong;
}
