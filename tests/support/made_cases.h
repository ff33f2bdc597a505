// Options of cases as a call gives them.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "src/case/case_block.h"
#include "src/case/run_name.h"

namespace epochbench {

// {{"model", "lenet5"}, {"batch", "1,2"}}: option by option, as text.
inline CaseBlock block_of(std::initializer_list<std::pair<std::string, std::string>> options) {
  CaseBlock block;
  for (const auto& [key, text] : options) {
    const CaseOption* option = find_case_option(key);
    block[option->key] = {split_values(*option, text), flag(*option)};
  }
  return block;
}

// The run's name on a machine of so many cores.
inline std::string name_on(CaseSpec spec, int threads) {
  spec = finished(spec, threads);
  return run_name(settings_of(spec, default_case(spec.model.family, threads)));
}

}  // namespace epochbench
