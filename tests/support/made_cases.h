// Options of cases as a call gives them.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "src/case/case_options.h"

namespace epochbench {

// {{"model", "lenet5"}, {"batch", "1,2"}}: option by option, as text.
inline CaseBlock block_of(std::initializer_list<std::pair<std::string, std::string>> options) {
  CaseBlock block;
  for (const auto& [key, text] : options) {
    const CaseOption* option = find_case_option(key);
    block[key] = {split_values(*option, text), flag(*option)};
  }
  return block;
}

}  // namespace epochbench
