// Converts a case to its settings, and settings to the label of a run in tables and files.
#pragma once

#include <string>
#include <vector>

#include "src/case/case_spec.h"
#include "src/case/settings.h"

namespace epochbench {

// The settings that differ from `defaults` (default_case) and have an effect in this case.
Settings settings_of(const CaseSpec& spec, const CaseSpec& defaults);

// The settings that distinguish the cases of a call: all except those that determine when a case ends.
Settings identifying(Settings settings);

// "lenet5/cpu/fp32/b64/threads=1": model, device, precision and batch, then, sorted, the other identifying settings.
std::string run_name(const Settings& settings);

// The settings in such a name, for a result that records none. A name of another form is taken as the model. Nothing else reads
// names: they are labels.
Settings settings_from_name(const std::string& name);

// The one of `names` that `text` means: a whole name, or the first parts of a single one ("resnet20"). Errors: CallError with
// the option that gave it, if it means none or several.
std::string named_case(const std::string& option, const std::string& text, const std::vector<std::string>& names);

}  // namespace epochbench
