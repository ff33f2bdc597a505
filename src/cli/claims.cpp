// epochbench claims: the articles' claims, and a verdict on each from results.
#include "src/cli/claims.h"

#include <algorithm>
#include <cstdio>

#include "epochbench/embedded.h"
#include "src/base/errors.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/report/text/claims_json.h"
#include "src/report/text/claims_text.h"

namespace epochbench {

const ClaimCatalog& embedded_claims() {
  static const ClaimCatalog catalog = [] {
    const char* path = "bench/claims.json";
    return parse_claims(embedded_file(path).value_or(""), path);
  }();
  return catalog;
}

int claims_command(const ClaimsOptions& options) {
  const ClaimCatalog& catalog = embedded_claims();
  std::vector<NamedResult> results;
  if (!options.results.empty()) results = read_result_arguments("claims", options.results);
  const std::vector<ClaimAnswer> answers = judge(catalog.claims, results);
  const std::string text = options.json      ? print_json(claims_json(catalog, answers))
                           : results.empty() ? claims_list_text(catalog)
                                             : claims_text(catalog, answers);
  std::fputs(text.c_str(), stdout);
  const bool refuted = std::any_of(answers.begin(), answers.end(),
                                   [](const ClaimAnswer& answer) { return answer.verdict == Verdict::not_reproduced; });
  return options.strict && refuted ? kExitAnswerIsNo : kExitDone;
}

}  // namespace epochbench
