// Cases as a call or a suite specifies them: option values as text. Lists of values multiply out.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/case/case_option.h"

namespace epochbench {

// The values that a call or a part of a suite gives to an option, and where, for messages.
struct OptionValues {
  std::vector<std::string> values;
  std::string where;  // "--batch", "suite quick: cases[1].batch"
};
using CaseBlock = std::map<std::string, OptionValues>;  // by key

// Splits "mlp:width=4096,depth=3,lenet5" if the option takes a list. Errors: CallError.
std::vector<std::string> split_values(const CaseOption& option, const std::string& text);

// `over` replaces values of the same keys in `block`; any stopping option in it replaces all those of `block`.
CaseBlock merged(CaseBlock block, const CaseBlock& over);

// More cases than anyone measures, but few enough to hold in memory.
inline constexpr std::size_t kMaxCases = 10'000;
// Above any batch that fits into memory, but small enough that no size computed from it overflows.
inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;

// Every combination of the values; options left to the model and the machine stay empty. Errors: CallError with the place, also
// for more than kMaxCases cases.
std::vector<CaseSpec> expand(const CaseBlock& block);

}  // namespace epochbench
