// Suite files, up to the cases that they request. Planning the cases reads data and builds models, which other tests cover.
#include "fuzz/targets.h"
#include "src/base/errors.h"
#include "src/case/suite.h"

namespace epochbench::fuzz {

void suite(std::string_view bytes) try {
  const Suite suite = parse_suite(bytes, "fuzzed");
  require(!suite.cases.empty(), "a suite has a case");
  std::size_t cases = 0;
  for (const CaseBlock& block : suite.cases)
    if (cases < kMaxCases) cases += expand(block).size();
} catch (const CallError& error) {
  require_message(error.what());
  require(error.code() == kExitCallIsWrong, "a wrong suite is a wrong call");
} catch (const FormatError& error) {
  require_message(error.what());
}

}  // namespace epochbench::fuzz
