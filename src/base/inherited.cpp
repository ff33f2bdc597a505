#include "src/base/inherited.h"

#include <cfenv>
#include <csignal>
#include <limits>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace epochbench {
namespace {

// Writes to a stream that does not wait fail as soon as its reader is slow. The setting belongs to all processes that share
// the stream, so this process opens a pipe or a terminal again where it may. Files never wait, and would begin again.
void let_wait(int stream) {
  struct stat status {};
  const int flags = fcntl(stream, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0 || fstat(stream, &status) != 0 || S_ISREG(status.st_mode)) return;
  const std::string path = "/proc/self/fd/" + std::to_string(stream);
  const bool opens = S_ISFIFO(status.st_mode) || isatty(stream);
  const int own = opens ? open(path.c_str(), (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
  if (own >= 0) {
    dup2(own, stream);
    close(own);
  }
  fcntl(stream, F_SETFL, flags & ~O_NONBLOCK);
}

}  // namespace

void repair_inherited_state() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) {
      let_wait(stream);
      continue;
    }
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
