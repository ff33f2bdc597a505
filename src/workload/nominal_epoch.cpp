#include "src/workload/nominal_epoch.h"

#include <stdexcept>

#include "epochbench/model.h"

namespace epochbench {

std::optional<std::string> nominal_dataset(const Workload& work) {
  if (work.dataset != "synthetic" || work.samples_per_epoch < 1) return std::nullopt;
  try {
    const NominalEpoch& epoch = find_model(work.model).family->nominal_epoch;
    const bool whole = work.samples_per_epoch <= epoch.samples && epoch.samples - work.samples_per_epoch < work.batch;
    const bool cut_alike = epoch.cut_to_tokens == 0 || work.tokens_per_sample == epoch.cut_to_tokens;
    return whole && cut_alike ? std::optional(epoch.dataset) : std::nullopt;
  } catch (const std::invalid_argument&) {  // a model of another version
    return std::nullopt;
  }
}

}  // namespace epochbench
