// Ctrl-C and its kin ask for a clean end: what runs is ended, what is finished is kept.
#pragma once

namespace epochbench {

// From here on SIGINT, SIGTERM and SIGHUP set a flag; a second one of the same kind ends the program at once. A SIGHUP that is
// ignored stays so: nohup asks for that. SIGPIPE is ignored, so a reader that goes away (run | head) does not end a suite.
void catch_interrupts();
bool interrupted();

}  // namespace epochbench
