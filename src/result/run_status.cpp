// The names of the statuses, as the result file spells them.
#include "src/result/result.h"

namespace epochbench {

const char* name(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::failed:
      return "failed";
    case RunStatus::skipped:
      return "skipped";
    case RunStatus::out_of_memory:
      return "out_of_memory";
    case RunStatus::diverged:
      return "diverged";
    case RunStatus::interrupted:
      return "interrupted";
  }
  return "?";
}

}  // namespace epochbench
