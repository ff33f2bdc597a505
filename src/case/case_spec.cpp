#include "src/case/case_spec.h"

#include <algorithm>
#include <cstdint>

#include "src/base/numbers.h"

namespace epochbench {

std::optional<int> default_warm_up_steps(const CaseSpec& spec) {
  const bool counted = spec.stop.steps || spec.stop.epochs || spec.stop.until;
  return spec.device.kind == DeviceKind::cuda && !counted ? std::nullopt : std::optional(kDefaultWarmUpSteps);
}

std::string family_name(const std::string& model) { return model.substr(0, model.find(':')); }

const ModelFamily* find_family(const std::string& model) {
  const auto& families = model_registry();
  const auto found = std::ranges::find(families, family_name(model), &ModelFamily::name);
  return found == families.end() ? nullptr : &*found;
}

std::map<std::string, std::int64_t> model_options(const std::string& model) {
  std::map<std::string, std::int64_t> options;
  const std::size_t colon = model.find(':');
  if (colon == std::string::npos) return options;
  for (const std::string& part : split_list(model.substr(colon + 1))) {
    const std::size_t equals = std::min(part.find('='), part.size());
    options[part.substr(0, equals)] = parse_integer(part.substr(std::min(equals + 1, part.size())), INT64_MIN, INT64_MAX);
  }
  return options;
}

CaseSpec default_case(const std::string& model, std::optional<int> threads) {
  CaseSpec spec;
  spec.model = model;
  spec.threads = threads;
  if (const ModelFamily* family = find_family(model)) {
    spec.batch = family->default_batch;
    spec.data = family->default_data;
    spec.dropout = family->dropout;
  }
  return spec;
}

CaseSpec finished(CaseSpec spec, int threads) {
  constexpr int kOwnOfFramework = 0;
  const CaseSpec defaults = default_case(spec.model, threads);
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
