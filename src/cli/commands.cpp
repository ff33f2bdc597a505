#include "src/cli/commands.h"

#include <algorithm>
#include <csignal>
#include <string>

#include <pthread.h>
#include <sys/resource.h>

namespace epochbench {

void add_all(Commands& commands) {
  for (const auto add : {add_run, add_sweep, add_list, add_info, add_plan, add_cost, add_speedup, add_claims, add_export,
                         add_compare, add_answers, add_report, add_interleave, add_case})
    add(commands);
}

namespace {

// Some systems give small stacks. This thread's grows up to the limit; other threads and cases get theirs by it.
void require_stack() {
  constexpr rlim_t kNeeded = 1 << 20, kUsual = 8 << 20;
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kNeeded) return;
  stack.rlim_cur = std::min(kUsual, stack.rlim_max);
  if (stack.rlim_cur < kNeeded || setrlimit(RLIMIT_STACK, &stack) != 0)
    throw CallError("the limit of the stack is " + std::to_string(stack.rlim_max >> 10) +
                    " KiB, and epochbench needs 1024; raise it with ulimit -s 8192");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack.rlim_cur);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

}  // namespace

int command_line(int argc, char** argv) try {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write
  require_stack();
  Commands commands(argc, argv);
  add_all(commands);
  return commands.run();
} catch (const CallError& error) {
  print_error(error.what());
  return error.code();
}

}  // namespace epochbench
