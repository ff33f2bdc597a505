// The child's ends of its conversation with the parent, over the lines of src/worker/protocol.h.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "src/worker/protocol.h"

namespace epochbench {

// Standard input and output are moved out of the way, so that neither a library's print nor a stray read can break it.
class Channel {
 public:
  Channel(int in_fd, int out_fd) : in_(moved(in_fd, STDIN_FILENO)), out_(moved(out_fd, STDOUT_FILENO)) {
    if (in_fd == STDIN_FILENO) redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    if (out_fd == STDOUT_FILENO) dup2(STDERR_FILENO, STDOUT_FILENO);
  }

  // The next command; nothing when the parent is gone.
  std::optional<std::string> receive() {
    while (true) {
      if (auto line = lines_.pop()) return line;
      char bytes[4096];
      const ssize_t size = read(in_, bytes, sizeof bytes);
      if (size > 0)
        lines_.append(bytes, static_cast<std::size_t>(size));
      else if (size == 0 || errno != EINTR)
        return std::nullopt;
    }
  }

  bool send(std::string_view line) const {  // with its newline; false when the parent is gone
    while (!line.empty()) {
      const ssize_t size = write(out_, line.data(), line.size());
      if (size < 0 && errno != EINTR) return false;
      if (size > 0) line.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }

 private:
  static int moved(int fd, int standard) { return fd == standard ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd; }
  static void redirect(const char* path, int flags, int fd) {
    const int opened = open(path, flags | O_CLOEXEC);
    if (opened < 0) return;
    dup2(opened, fd);
    close(opened);
  }
  int in_, out_;
  LineBuffer lines_;
};

}  // namespace epochbench
