// The answers of `speedup`, `claims`, `cost`, `plan --on` and `interleave`, as tables for people and as JSON. Nothing is
// computed here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/analysis/claims/claims.h"
#include "src/analysis/compare/peer_ratios.h"
#include "src/analysis/cost/local_cost.h"
#include "src/analysis/predict/elsewhere.h"
#include "src/analysis/predict/prediction.h"
#include "src/analysis/speedup/published_pairs.h"
#include "src/analysis/speedup/speedup.h"
#include "src/base/json.h"
#include "src/report/view.h"

namespace epochbench {

// One row per pair; of at least one pair.
View speedup_view(const Speedup& speedup);

// The same table with its notes, then the runs that have no pair, with the reasons. Empty without a pair. Here and below,
// `verbose` is that of notes_below.
std::string speedup_text(const Speedup& speedup, bool verbose = false);

// The contract's keys, and: *_reason if a number is null, the interval of cost and energy, repetitions and files of both sides,
// `batch`: "same" or "best", and `compares`: what the sides differ in, as name(Compares) has it.
Json speedup_json(const Speedup& speedup);

// A table whose heading says which numbers others published; below it what differs, the sources and their notice.
std::string published_pairs_text(const PublishedPairs& published, bool verbose = false);
Json published_pairs_json(const PublishedPairs& published);

// "12 ms", "12x".
std::string with_unit(const std::string& number, const std::string& unit);

// "4 to 8x", "above 1x", "at most 16 GB", "no figure".
std::string claimed_text(const ClaimPart& part);

// Every claim with what is claimed, where it comes from and the experiment. Lines of at most 100 columns.
std::string claims_list_text(const ClaimCatalog& catalog);

// "54 claims: 23 reproduced, ..., 3 not testable here", one line.
std::string claim_counts_text(std::span<const ClaimAnswer> answers);

// The counts, a table with one row per claim and a column per class of evidence, and how to read it.
std::string claims_table_text(std::span<const ClaimAnswer> answers);

// Every claim with its verdict, what was measured, the conditions and the reason; claims that contradict each other at the end.
// `answers`: to the catalog's claims, in their order.
std::string claims_text(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers);

// What a claim says, where it comes from and how it is tested; without a verdict.
Json claim_json(const Claim& claim, const std::vector<Article>& articles);

// {"claims": [...], "conflicts": [...]}. `answers`: to the catalog's claims, in their order.
Json claims_json(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers);

struct RentOrBuyAnswer {
  RentOrBuy question;
  bool utilization_given = false;
  std::string measured_on;    // "AMD EPYC, NVIDIA T4, 2026-11-21"; empty: no result was given, the answer is only about hours
  std::vector<RunCost> runs;  // of the result
};

// Local against cloud, with every assumption.
std::string rent_or_buy_text(const RentOrBuyAnswer& answer);

// assumptions{…}, runs[]{name, repetitions, epoch, epoch_seconds, …}, months[]{hours, local_usd, cloud_usd} and
// break_even_hours_per_month (both only for hours, so null if runs have their own power); a figure that is null has its reason
// as <key>_reason. Per epoch: <key>_ci95, or null, interval_reason and <key>_range.
Json rent_or_buy_json(const RentOrBuyAnswer& answer);

// A table whose heading says that these are predictions, with interval, error and bound; for epochs with hours and costs. Then
// why figures are missing, and notes.
std::string predictions_text(const std::vector<Prediction>& predictions, bool verbose = false);

// {"evidence": "predicted", "predictions": [{"evidence": "predicted", …, step_seconds_at_least, step_seconds_expected, …}]}.
Json predictions_json(const std::vector<Prediction>& predictions);

// A measured model elsewhere: one table per model, what would change it, notes, and how to read it. Not empty.
View elsewhere_view(const Elsewhere& answer);
std::string elsewhere_text(const std::vector<Elsewhere>& answers, bool verbose = false);
Json elsewhere_json(const std::vector<Elsewhere>& answers);  // [{model, samples_per_epoch, rows[], changes[]}]

// The answer of `rent`: one row per instance, and what was left out.
std::string rentals_text(const Rentals& rentals, bool verbose = false);
Json rentals_json(const Rentals& rentals);

// The catalog of devices: one row for each index in `kept`.
std::string devices_catalog_text(const DeviceCatalog& catalog, const std::vector<std::size_t>& kept);

// The table of scripts/peers/take_turns.
std::string peer_table(const std::vector<PeerRow>& rows);
Json peer_json(const std::vector<PeerRow>& rows);

}  // namespace epochbench
