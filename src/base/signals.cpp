#include "src/base/signals.h"

#include <csignal>
#include <initializer_list>

namespace epochbench {
namespace {

volatile std::sig_atomic_t caught = 0;

void note(int) { caught = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  struct sigaction inherited {};
  const bool ignored = sigaction(SIGHUP, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN;
  if (!ignored) sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return caught != 0; }

}  // namespace epochbench
