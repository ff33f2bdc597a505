// Parses a call as epochbench does and runs nothing: the commands are stand-ins. Checks the calls in documents.
#include "src/cli/command_line.h"

int main(int argc, char** argv) { return epochbench::command_line(argc, argv); }
