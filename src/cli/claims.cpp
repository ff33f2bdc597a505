// epochbench claims: the articles' claims, and a verdict on each from results or plans.
#include "src/analysis/claims/claims.h"

#include <algorithm>
#include <set>

#include "src/analysis/claims/own_claim.h"
#include "src/base/files.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/owning_options.h"
#include "src/cli/result_arguments.h"
#include "src/published/import.h"
#include "src/report/text/answer_text.h"
#include "src/session/claim_plans.h"

namespace epochbench {
namespace {

constexpr const char* kClaimsExamples = R"(Examples:
  epochbench run --suite claims --out claims.json        what this machine can measure, within 25 minutes
  epochbench claims claims.json                          a table of verdicts, one row per claim
  epochbench claims claims.json --verbose                each claim in detail: figures, conditions, sources
  epochbench claims cpu.json gpu.json --strict --json
  epochbench claims                                      by arithmetic and by what others published, without any run
  epochbench list claims                                 all claims, with quotes, origins and experiments
  epochbench claims claims.json --id gap-widens --id days-to-hours
  epochbench claims claims.json --catalog other.json     claims of other articles (docs/claims.md has the format)
  epochbench claims --purchase 2500 --lifetime 4 --power 350 --electricity 0.3 --cloud 1.2   own or rent
  epochbench claims mine.json --claim 'cuda/cpu >= 4' --claim 'bf16/fp32 of resnet50 > 1.5'   claims of your own

A verdict compares the measured 95 % interval with the claimed one: reproduced (inside), exceeded, not reproduced, undecided
(across a bound, or no interval), or not testable here. A claim with several parts gets the worst verdict of the parts that could
be tested; the other parts are listed. Each kind of evidence gets its own verdict: measured, planned (by arithmetic), published (by
others; the range of their figures stands for an interval) and predicted (by bounds and expected times). If the measured or planned
evidence is decisive, its verdict is that of the claim.
A claim of your own: [MEASURE] SIDE[/SIDE] [of MODEL] OPERATOR NUMBER. MEASURE is speed (samples per second, the default),
per-dollar or per-joule (epochs), memory (MiB) or accuracy (%). SIDE is cpu, cuda, a precision, or both as in cuda-bf16; a device
alone is in fp32. OPERATOR is >=, >, <=, < or =, which means 0.8 to 1.25 times the number. Without a model the claim is
about each model of the results.
Exit codes: 0 done, whatever the verdicts; 1 with --strict, a result or a plan does not reproduce a claim; 2 the command line or a
file is wrong.)";

constexpr std::size_t kMaxCatalogBytes = std::size_t{1} << 24;

struct ClaimsOptions {
  std::vector<std::string> results;  // files or folders; empty: plans alone
  std::string catalog;               // file; empty: the articles' claims, embedded in the binary
  OwningOptions owning;
  std::vector<std::string> ids, own;  // both empty: the whole catalog
  bool strict = false, verbose = false, json = false;
};

std::vector<std::string> models_of(const std::vector<NamedResult>& results) {
  std::set<std::string> models;
  for (const NamedResult& named : results)
    for (const Run& run : named.result.runs)
      if (run.status == RunStatus::ok) models.insert(run.workload.model);
  return {models.begin(), models.end()};
}

// The claims that the call is about, with the conflicts among them.
ClaimCatalog chosen(const ClaimsOptions& options, const ClaimCatalog& all, const std::vector<NamedResult>& results) {
  if (options.ids.empty() && options.own.empty()) return all;
  std::vector<std::string> known;
  for (const Claim& claim : all.claims) known.push_back(claim.id);
  ClaimCatalog catalog;
  catalog.note = options.own.empty() ? all.note : "= p stands for 0.8 p to 1.25 p.";
  catalog.articles = all.articles;
  for (const std::string& id : options.ids) {
    const auto found = std::ranges::find(all.claims, id, &Claim::id);
    if (found == all.claims.end())
      throw CallError("--id: '" + id + "' is unknown; see " +
                      (options.catalog.empty() ? "epochbench list claims" : options.catalog) + did_you_mean(id, known));
    if (std::ranges::find(catalog.claims, id, &Claim::id) == catalog.claims.end()) catalog.claims.push_back(*found);
  }
  for (const ClaimConflict& conflict : all.conflicts)
    if (std::ranges::all_of(conflict.claims, [&](const std::string& id) { return contains(options.ids, id); }))
      catalog.conflicts.push_back(conflict);
  for (const std::string& text : options.own) catalog.claims.push_back(parse_own_claim(text, models_of(results)));
  return catalog;
}

ClaimCatalog catalog_of(const ClaimsOptions& options) {
  if (options.catalog.empty()) return embedded_claims();
  return parse_claims(read_text_file(options.catalog, kMaxCatalogBytes), options.catalog);
}

bool is_about_owning(const Claim& claim) {
  return std::ranges::find(claim.quantities, "break_even", &ClaimQuantity::kind) != claim.quantities.end();
}

RentOrBuy prices_of(const ClaimsOptions& options, const ClaimCatalog& catalog) {
  if (std::ranges::none_of(catalog.claims, is_about_owning))
    throw CallError("claims: no claim of this call is about owning and renting; leave out --purchase, --cloud and the like");
  RentOrBuy question;
  question.local = options.owning.local;
  question.cloud.speed = options.owning.cloud_speed;
  if (!options.owning.cloud) return question;
  const HourlyPrice price = whole_price(*options.owning.cloud);
  question.cloud.usd_per_hour = price.usd_per_hour;
  question.cloud_source = price.source;
  return question;
}

// By results and plans only: no run of yours changes what others published.
bool refuted_here(const ClaimAnswer& answer) {
  return std::ranges::any_of(answer.verdicts, [](const auto& verdict) {
    return verdict.second == Verdict::not_reproduced &&
           (verdict.first == EvidenceClass::measured || verdict.first == EvidenceClass::planned);
  });
}

// Claims that the call names in detail, a whole catalog as a table. With prices, the claims about them in detail too.
std::string text_of(const ClaimsOptions& options, const ClaimCatalog& catalog, const std::vector<ClaimAnswer>& answers) {
  const std::string note = wrapped("", "", catalog.note);
  if (!options.ids.empty() || !options.own.empty())
    return claim_counts_text(answers) + "\n" + claims_text(catalog, answers) + note;
  const std::string table = claims_table_text(answers);
  if (options.verbose) return table + "\n" + claims_text(catalog, answers) + note;
  ClaimCatalog asked;
  std::vector<ClaimAnswer> asked_answers;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (options.owning.any_given() && is_about_owning(catalog.claims[i])) {
      asked.claims.push_back(catalog.claims[i]);
      asked_answers.push_back(answers[i]);
    }
  const std::string details = asked.claims.empty() ? "" : "\n" + claims_text(asked, asked_answers);
  return table + note + "\n" +
         wrapped("", "",
                 "In detail: --id CLAIM, which may be given several times, or --verbose for all. What each claim says: "
                 "epochbench list claims") +
         details;
}

int claims(const ClaimsOptions& options) {
  std::vector<NamedResult> results;
  if (!options.results.empty()) results = read_result_arguments("claims", options.results);
  const ClaimCatalog catalog = chosen(options, catalog_of(options), results);
  ClaimFacts facts = facts_for(catalog.claims);
  facts.published = embedded_published();
  if (options.owning.any_given()) facts.prices = prices_of(options, catalog);
  const std::vector<ClaimAnswer> answers = judge(catalog.claims, results, facts);
  if (options.json)
    print(print_json(claims_json(catalog, answers)));
  else
    print_fitted(text_of(options, catalog, answers));
  const bool refuted = std::ranges::any_of(answers, refuted_here);
  return options.strict && refuted ? kExitAnswerIsNo : kExitDone;
}

}  // namespace

void add_claims(Commands& commands) {
  auto [command, options] =
      commands.add("claims", "check claims of articles against measured and published results", kClaimsExamples, claims);
  command.add_option("result", options.results, "result files or folders (default: judge what needs none)")
      ->type_name("RESULT...");
  command.add_option("--catalog", options.catalog, "claims of other articles, in the format of docs/claims.md")
      ->type_name("FILE");
  command.add_option("--id", options.ids, "judge only this claim; repeatable")->type_name("ID")->allow_extra_args(false);
  command.add_option("--claim", options.own, "a claim of your own, such as 'cuda/cpu >= 4'; repeatable")
      ->type_name("CLAIM")
      ->allow_extra_args(false);
  add_owning_options(command, options.owning);
  command.add_flag("-v,--verbose", options.verbose, "print every claim in detail below the table");
  command.add_flag("--strict", options.strict, "exit with 1 if a result or a plan does not reproduce a claim");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
