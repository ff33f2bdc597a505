#include "src/session/complete_result.h"

#include "src/analysis/peak_share.h"
#include "src/session/bounds.h"
#include "src/workload/nominal_epoch.h"

namespace epochbench {

void complete(Result& result) {
  use_best_peaks(result);
  for (Run& run : result.runs)
    if (!run.workload.nominal_dataset) run.workload.nominal_dataset = nominal_dataset(run.workload);
  add_bounds(result);
}

}  // namespace epochbench
