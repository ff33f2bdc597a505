#include "src/session/complete_result.h"

#include "src/analysis/peak_share.h"
#include "src/session/bounds.h"

namespace epochbench {

void complete(Result& result) {
  use_best_peaks(result);
  add_bounds(result);
}

}  // namespace epochbench
