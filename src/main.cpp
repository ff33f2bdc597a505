// epochbench: what does it cost to train this model here?
#include "src/cli/command_line.h"

int main(int argc, char** argv) { return epochbench::command_line(argc, argv); }
