// Ctrl-C and similar signals ask for a clean end: the running case is ended, and finished ones are kept.
#pragma once

namespace epochbench {

// From this call on SIGINT, SIGTERM and SIGHUP set a flag; a second one of the same kind ends the program at once. A SIGHUP
// that is ignored stays ignored, as nohup asks. SIGPIPE is ignored, so a reader that goes away (run | head) does not end a
// suite.
void catch_interrupts();
bool interrupted();

}  // namespace epochbench
