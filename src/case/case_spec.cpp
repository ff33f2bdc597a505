#include "src/case/case_spec.h"

#include <algorithm>
#include <stdexcept>

namespace epochbench {

std::optional<int> default_warm_up_steps(const CaseSpec& spec) {
  const bool counted = spec.stop.steps || spec.stop.epochs || spec.stop.until;
  return spec.device.kind == DeviceKind::cuda && !counted ? std::nullopt : std::optional(kDefaultWarmUpSteps);
}

const ModelFamily* find_family(const std::string& model) {
  const auto& families = model_registry();
  const auto found = std::ranges::find(families, model.substr(0, model.find(':')), &ModelFamily::name);
  return found == families.end() ? nullptr : &*found;
}

Model model_in_message(const std::string& name) try { return find_model(name); } catch (const std::invalid_argument&) {
  return {.name = name};
}

CaseSpec default_case(const ModelFamily* family, std::optional<int> threads) {
  CaseSpec spec;
  spec.model.family = family;
  spec.threads = threads;
  if (family) {
    spec.batch = family->default_batch;
    spec.data = family->default_data;
    spec.dropout = family->dropout;
  }
  return spec;
}

CaseSpec finished(CaseSpec spec, int threads) {
  constexpr int kOwnOfFramework = 0;
  const CaseSpec defaults = default_case(spec.model.family, threads);
  if (!spec.batch) spec.batch = defaults.batch;
  if (!spec.data) spec.data = defaults.data;
  if (!spec.dropout) spec.dropout = defaults.dropout;
  if (!spec.threads) {
    spec.threads = spec.framework == Framework::epochbench ? threads : kOwnOfFramework;
    spec.has_default_threads = true;
  }
  return spec;
}

}  // namespace epochbench
