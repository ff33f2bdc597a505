// Preparing a case in a worker that may not be this build of epochbench, nor epochbench at all.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "src/case/case_spec.h"
#include "src/result/result.h"
#include "src/worker/conversation.h"

namespace epochbench {

// Sends `prepare` and returns the answer. With `workload` the case has what a worker needs that does not plan the model itself:
// samples_per_epoch, optimizer, parameters and, of a text, tokens.
// Errors: those of ask; CaseEnded where the worker ignores a setting that differs from its default, or where its number of
// parameters or threads is not that of the case.
nlohmann::json prepare_worker(Conversation& conversation, const CaseSpec& spec, const std::optional<Workload>& workload);

}  // namespace epochbench
