// A claim worded by the call itself: "cuda/cpu of resnet50 >= 4".
#pragma once

#include <string>
#include <vector>

#include "src/analysis/claims/claims.h"

namespace epochbench {

inline constexpr const char* kOwnClaimGrammar =
    "[MEASURE] SIDE[/SIDE] [of MODEL] OPERATOR NUMBER, such as 'cuda/cpu >= 4' or 'per-dollar cuda-bf16/cpu of resnet50 > 1'";

// MEASURE: speed (default), per-dollar, per-joule, memory in MiB, accuracy in %. SIDE: cpu, cuda, a precision, or both as in
// cuda-bf16; a device alone means fp32, a precision alone the first GPU that has such runs, or else the CPU. OPERATOR: >=, >,
// <=, <, or =, which means 0.8 to 1.25 times the number, as in bench/claims.json. Without a model the claim is about each of
// `models`. Errors: CallError with the part that is wrong.
Claim parse_own_claim(const std::string& text, const std::vector<std::string>& models);

}  // namespace epochbench
