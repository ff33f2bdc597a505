// From a case to its settings, and from settings to the label that tables and files show for a run.
#pragma once

#include <string>

#include "src/case/case_spec.h"
#include "src/case/settings.h"

namespace epochbench {

// What differs from `usual` (default_case) and changes anything in this case.
Settings settings_of(const CaseSpec& spec, const CaseSpec& usual);

// What tells one case of a call from another: all settings but those that say when it ends.
Settings identifying(Settings settings);

// "lenet5/cpu/fp32/b64/threads=1": model, device, precision and batch, then, sorted, the other identifying settings.
std::string run_name(const Settings& settings);

// The settings that such a name tells, of a result that has none of its own. A name of another form is the model.
// Nothing else reads names: they are labels.
Settings settings_from_name(const std::string& name);

}  // namespace epochbench
