// Programs installed on the machine, such as git and those that open a page: started without a shell, silent.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace epochbench {

// What it wrote to stdout, or why it failed.
struct ProgramEnd {
  std::string output;
  std::string reason;  // empty: it exited with 0 in time; "ended with exit code 3", "took more than 60 s", "interrupted"
};
// Standard input and error are /dev/null. The program is ended, with all that it started, if it takes longer or when
// `interrupted`, which is polled and may be empty, becomes true: by SIGTERM, and by SIGKILL if it still runs 3 s later.
ProgramEnd run_program(const std::vector<std::string>& command, double max_seconds,
                       const std::function<bool()>& interrupted = {});

// Opens a file in this machine's default program for it. Returns why that failed; empty: it was handed over.
std::string open_in_browser(const std::string& path);

}  // namespace epochbench
