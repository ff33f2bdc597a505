#include "fuzz/scratch_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

namespace epochbench::fuzz {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

ScratchFile::ScratchFile() : fd_(memfd_create("fuzzed", MFD_CLOEXEC)) {
  if (fd_ < 0) fail("memfd_create");
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}

ScratchFile::~ScratchFile() { close(fd_); }

void ScratchFile::hold(std::string_view bytes) {
  if (ftruncate(fd_, 0) != 0) fail("ftruncate");
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t count = pwrite(fd_, bytes.data() + written, bytes.size() - written, static_cast<off_t>(written));
    if (count < 0) fail("pwrite");
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace epochbench::fuzz
