#include "src/base/inherited.h"

#include <cfenv>
#include <csignal>
#include <limits>

#include <fcntl.h>
#include <unistd.h>

namespace epochbench {

void repair_inherited_state() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The least free number is that of the stream. It is opened for the opposite use, so that a caller who waits for output
    // that nobody receives learns it.
    [[maybe_unused]] const int opened = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool restore_float_rounding() {
  const volatile float least = std::numeric_limits<float>::min();
  const bool changed = std::fegetround() != FE_TONEAREST || least / 2 == 0;
  std::fesetenv(FE_DFL_ENV);
  return changed;
}

}  // namespace epochbench
