// Compiled on its own: it changes with every commit, and when a source of a clean clone changes.
#include "src/machine/source_version.h"

#include "epochbench_version.h"

namespace epochbench {

SourceVersion source_version() { return {EPOCHBENCH_VERSION, EPOCHBENCH_GIT_SHA, EPOCHBENCH_GIT_DIRTY != 0}; }

}  // namespace epochbench
