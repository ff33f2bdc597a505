// Takes the variables of OpenMP's run-times out of the environment. Their initializers run before main, so a function of
// .preinit_array, which is called before those of any library, starts the program again without them.
//
// It must not allocate memory or call what a library's initializer prepares.
#include "src/machine/clean_start.h"

#include <cstddef>
#include <cstring>

#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "src/base/openmp_variables.h"

namespace epochbench {
namespace {

// A case or a rank, whose variables are those that we gave it.
bool is_started_by_us(int argc, char** argv, std::string_view entry) {
  return entry.starts_with("EPOCHBENCH_RANK_PLACED=") || (argc > 1 && std::string_view(argv[1]) == "case");
}

bool is_record(std::string_view entry) {
  return entry.starts_with(kStartedWith) && entry.substr(kStartedWith.size()).starts_with('=');
}

// Started again it is called "exe", after its path.
void restore_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  prctl(PR_SET_NAME, slash ? slash + 1 : path);
}

void start_clean(int argc, char** argv, char** environment) {
  std::size_t entries = 0, removed = 0, bytes = kStartedWith.size() + 2;
  for (char** entry = environment; *entry; ++entry, ++entries) {
    if (is_started_by_us(argc, argv, *entry)) return;
    if (is_record(*entry)) return restore_name(argv[0]);
    if (!is_of_openmp(*entry)) continue;
    ++removed;
    bytes += std::strlen(*entry) + 1;
  }
  if (removed == 0 || argc < 1) return;

  auto* record = static_cast<char*>(__builtin_alloca(bytes));
  auto** kept = static_cast<char**>(__builtin_alloca((entries - removed + 2) * sizeof(char*)));
  std::size_t count = 0;
  char* end = record + kStartedWith.copy(record, kStartedWith.size());
  *end++ = '=';
  for (char** entry = environment; *entry; ++entry) {
    if (!is_of_openmp(*entry)) {
      kept[count++] = *entry;
      continue;
    }
    const std::size_t length = std::strlen(*entry);
    std::memcpy(end, *entry, length);
    end += length;
    *end++ = kEntryEnd;
  }
  *end = '\0';
  kept[count++] = record;
  kept[count] = nullptr;
  execve("/proc/self/exe", argv, kept);
  execve(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), argv, kept);
}

[[gnu::used, gnu::section(".preinit_array")]] void (*const first)(int, char**, char**) = start_clean;

}  // namespace
}  // namespace epochbench
