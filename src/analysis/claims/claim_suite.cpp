// Claims about a benchmark itself: how long a suite takes.
#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/compare/comparison.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

struct SuiteTime {
  std::string path;
  double seconds = 0;  // of its runs, without the time between them
  std::size_t runs = 0, left_out = 0;
};

SuiteTime time_of(const NamedResult& named) {
  SuiteTime time{named.path};
  for (const Run& run : named.result.runs) {
    ++time.runs;
    if (run.timing) time.seconds += run.timing->wall_seconds;
    if (run.status != RunStatus::ok) ++time.left_out;
  }
  return time;
}

}  // namespace

// The result of this suite that took longest.
Answers answer_suite(const ClaimQuantity& quantity, const Evidence& evidence) {
  SuiteTime longest;
  for (const NamedResult& named : evidence.results)
    if (suite_of(named.result.context) == quantity.measure)
      if (const SuiteTime time = time_of(named); time.seconds > longest.seconds) longest = time;
  if (!(longest.seconds > 0))
    return {unanswered(quantity, "none of these results says that it is of the suite " + quantity.measure +
                                     " (epochbench run --suite " + quantity.measure + ")")};
  return {answered(quantity, exact(longest.seconds),
                   longest.path + ", " + counted(longest.runs, "run", "runs") + ", " + std::to_string(longest.left_out) +
                       " of them skipped or failed; the seconds of its runs")};
}

}  // namespace epochbench
