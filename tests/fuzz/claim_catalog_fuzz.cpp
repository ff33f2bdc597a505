// Catalogs of claims, and what is said of them without results and with one. Plans are made of models, which other tests cover.
#include <vector>

#include "fuzz/targets.h"
#include "src/analysis/claims/claims.h"
#include "src/base/errors.h"
#include "src/report/text/answer_text.h"
#include "tests/support/made_claims.h"

namespace epochbench::fuzz {

void claim_catalog(std::string_view bytes) try {
  const ClaimCatalog catalog = parse_claims(bytes, "fuzzed");
  require(!catalog.claims.empty(), "a catalog has a claim");
  claims_list_text(catalog);
  ClaimFacts facts;
  for (const PlannedStep& step : steps_of(catalog.claims).planned) facts.plans[step] = {1000, 4000, 1e6, "a GPU", ""};
  std::vector<std::vector<Run>> runs;
  for (const char* backend : {"cpu", "cuda"})
    for (const std::int64_t batch : {1, 16, 64}) runs.push_back(runs_of("resnet50", backend, "fp32", batch, 100));
  for (const std::vector<NamedResult>& results : {std::vector<NamedResult>{}, std::vector{result_of(runs)}}) {
    const std::vector<ClaimAnswer> answers = judge(catalog.claims, results, facts);
    require(answers.size() == catalog.claims.size(), "every claim has an answer");
    claims_text(catalog, answers);
    print_json(claims_json(catalog, answers));
  }
} catch (const FormatError& error) {
  require_message(error.what());
}

}  // namespace epochbench::fuzz
