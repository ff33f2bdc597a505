// Parses a call as epochbench does and runs nothing: the commands are stand-ins. For calls that documents show.
#include "src/cli/command_line.h"

int main(int argc, char** argv) { return epochbench::command_line(argc, argv); }
