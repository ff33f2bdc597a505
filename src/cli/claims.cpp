// epochbench claims: the articles' claims, and a verdict on each from results.
#include "src/analysis/claims/claims.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/report/text/answer_text.h"

namespace epochbench {
namespace {

constexpr const char* kClaimsExamples = R"(Examples:
  epochbench run --suite claims --out claims.json        what this machine can measure, within 15 minutes
  epochbench claims claims.json                          a verdict on each claim, or why there is none
  epochbench claims cpu.json gpu.json --strict --json
  epochbench claims                                      the claims, their origins and their experiments

A verdict compares the measured 95 % interval with the claimed one: reproduced (inside), exceeded, not reproduced, undecided
(across a bound, or no interval), or not testable here. A claim of several parts is as good as the worst of those that could
be tested; the others are named.
Exit codes: 0 done, whatever the verdicts; 1 with --strict, a claim is not reproduced; 2 the call or a file is wrong.)";

struct ClaimsOptions {
  std::vector<std::string> results;  // files or folders; empty: the claims alone
  bool strict = false, json = false;
};

int claims(const ClaimsOptions& options) {
  const ClaimCatalog& catalog = embedded_claims();
  std::vector<NamedResult> results;
  if (!options.results.empty()) results = read_result_arguments("claims", options.results);
  const std::vector<ClaimAnswer> answers = judge(catalog.claims, results);
  print(options.json      ? print_json(claims_json(catalog, answers))
        : results.empty() ? fitted(claims_list_text(catalog))
                          : fitted(claims_text(catalog, answers)));
  const bool refuted = std::ranges::find(answers, Verdict::not_reproduced, &ClaimAnswer::verdict) != answers.end();
  return options.strict && refuted ? kExitAnswerIsNo : kExitDone;
}

}  // namespace

void add_claims(Commands& commands) {
  auto [command, options] =
      commands.add("claims", "list what articles claim, or judge each claim by results", kClaimsExamples, claims);
  command.add_option("result", options.results, "result files, or folders of them (default: list the claims)")
      ->type_name("RESULT...");
  command.add_flag("--strict", options.strict, "exit with 1 if a claim is not reproduced");
  command.add_flag("--json", options.json, "as JSON");
}

}  // namespace epochbench
