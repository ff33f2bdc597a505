// epochbench answers: the page of answers out of a result that is there already.
#include <cstdio>

#include "src/base/errors.h"
#include "src/cli/commands.h"
#include "src/report/answers/answers_page.h"
#include "src/result/result_json.h"

namespace epochbench {

int answers_command(const std::string& result, bool json) {
  const NamedResult named{result, read_result(result)};
  std::fputs((json ? print_json(answers_json(named)) : answers_page(named)).c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
