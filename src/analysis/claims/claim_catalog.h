// The claims of articles, as bench/claims.json states them: what is claimed, and by what it is to be judged. docs/claims.md
// describes the format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/result/result_json.h"

namespace epochbench {

struct ClaimedRange {
  std::optional<double> low, high;  // empty: no bound
  bool less_is_more = false;        // below the range the claim is exceeded, above it is not reproduced
  bool exact = false;               // a figure: on either side of the range it is not reproduced
};

// [low, high] or null; `less_is_more` and `exact` are keys of the quantity.
template <>
struct JsonConversion<ClaimedRange> {
  static Json write(const ClaimedRange& range);
  static ClaimedRange read(const Json& value, const std::string& path);
};

// Visits members that may be missing.
auto optional_fields(auto& visit) {
  return [&](const char* key, auto& member) { visit(key, member, {.addition = true}); };
}

// The runs that a quantity is about.
struct RunChoice {
  std::string model;                  // instead of the quantity's; empty: the quantity's
  std::vector<BackendKind> backends;  // in order of preference; the first that has such runs counts
  std::vector<Precision> precisions;  // any of them; empty: any
  Mode mode = Mode::train;
  std::string data;  // "real", or empty for any
  std::optional<std::int64_t> batch;
  // Conditions of the work besides device, precision and batch, as conditions_of() returns them: "without=fusion". A run with
  // any other condition is not chosen.
  std::vector<std::string> settings;
};
void fields(auto& visitor, Is<RunChoice> auto& choice) {
  const auto visit = optional_fields(visitor);
  VISIT(choice, model, backends, precisions, mode, data, batch, settings);
}

struct RunRatio {
  RunChoice of, to;
};
void fields(auto& visit, Is<RunRatio> auto& ratio) { VISIT(ratio, of, to); }

struct ClaimPart {
  std::string id;              // of a quantity within its claim, where it may be empty; of an answer "fusion/resnet20"
  std::string quantity, unit;  // for people: "samples/s, GPU over CPU", "x"
  ClaimedRange claimed;        // in `unit`
  bool carries = true;         // the claim, if no other part can be tested; a part that does not carry it can still refute it
  bool counts = true;          // toward the verdict; a part that does not is another reading, shown beside it
  std::string alternative;     // parts with the same name are readings of one statement, which holds if one of them does
  std::string precondition;    // the id of the part that has to be reproduced, or this one says nothing about the claim
};

// A figure that someone published, as the source gives it; with `over` there are two, whose ratio counts.
struct StatedFigure {
  std::string of;  // what it is a figure of: "NVIDIA V100", "purchase_usd"
  double value = 0;
  std::optional<double> over;
  std::string source, url, date;
  std::optional<std::pair<double, double>> ci95 = {};  // as the source gives it; of a figure alone in its part
};
void fields(auto& visit, Is<StatedFigure> auto& figure) {
  VISIT(figure, of);
  visit("ci95", figure.ci95, {.addition = true});
  visit("value", figure.value, {.positive = !figure.ci95});  // a difference with an interval may have either sign
  visit("over", figure.over, {.positive = true});
  VISIT(figure, source, url, date);
}

struct ClaimQuantity : ClaimPart {
  std::size_t choices = 1;       // not in the catalog: among how many the error of its interval is shared
  double scale = 1;              // SI units in one `unit`
  std::string kind = "missing";  // the name of a row (claim_kinds.h); docs/claims.md describes each
  std::string measure, over;     // "samples_per_second"; "batch"
  std::string learning_rate;     // of a slope over the batch: "square_root" of it; empty: one for all
  std::string pairing;           // "best": each device at its own best, instead of one workload on both
  std::string weak;              // "of" or "to": the side that could have been faster, so the ratio is a bound
  bool each = false;             // an answer for every model of memory, pair of expected or figure of stated
  std::vector<std::string> models;
  RunChoice of;
  std::optional<RunChoice> to;
  std::optional<RunRatio> than;      // for an effect: the ratio that it is compared with
  std::string device;                // of peaks: part of the GPU's name
  double parameters = 0, bytes = 0;  // of weights and memory
  int least_seeds = 5;
  std::optional<int> least_cores;             // of the CPU
  std::vector<std::string> entries, against;  // published: names with * for any text; others: devices
  std::vector<StatedFigure> figures;          // of stated; of break_even: an example, if the call has no prices
  double samples = 0;                         // of predicted seconds
  std::string differs, reason;                // how the test differs from the claim; why a quantity is missing
};
void fields(auto& visitor, Is<ClaimQuantity> auto& quantity) {
  visitor("quantity", quantity.quantity);
  visitor("unit", quantity.unit);
  visitor("scale", quantity.scale, {.addition = true, .positive = true});
  visitor("claimed", quantity.claimed);
  visitor("less_is_more", quantity.claimed.less_is_more);
  visitor("exact", quantity.claimed.exact);
  visitor("kind", quantity.kind);
  const auto visit = optional_fields(visitor);
  VISIT(quantity, id, carries, counts, alternative, precondition, measure, over, learning_rate, pairing, weak, each, models, of,
        to, than, device, parameters, bytes, least_seeds, least_cores, entries, against, figures, samples, differs, reason);
}

enum class HoldsFor : std::uint8_t {
  all,   // of its parts
  any,   // about some model, whichever
  most,  // "usually", "often": more than half of the models
};
constexpr auto texts_of(HoldsFor) { return std::array{"all", "any", "most"}; }

struct Article {
  std::string file, sha256;  // where its quotes are found; the catalog has only the quotes
};
void fields(auto& visit, Is<Article> auto& article) { VISIT(article, file, sha256); }

struct Quote {  // verbatim, except that a run of white space is one space
  std::string article, text;
  std::string reads;  // "4–8×", where the article's file lost characters: "4 8×"
};
void fields(auto& visit, Is<Quote> auto& quote) {
  VISIT(quote, article, text);
  visit("reads", quote.reads, {.addition = true});
}
inline constexpr std::size_t kMaxQuoteCharacters = 200;

struct Claim {
  std::string id, text, conditions, origin, experiment, verdict;  // for people; `verdict`: how it follows
  HoldsFor holds_for = HoldsFor::all;
  std::vector<Quote> quotes;  // empty: from the call
  std::vector<ClaimQuantity> quantities;
};
void fields(auto& visit, Is<Claim> auto& claim) {
  VISIT(claim, id, text, conditions, origin, experiment, verdict);
  visit("holds_for", claim.holds_for, {.addition = true});
  visit("quotes", claim.quotes, {.addition = true});
  VISIT(claim, quantities);
}

struct ClaimConflict {  // claims that cannot hold together
  std::vector<std::string> claims;
  std::string why;
};
void fields(auto& visit, Is<ClaimConflict> auto& conflict) { VISIT(conflict, claims, why); }

// bench/claims.json: the claims embedded in the binary, with how each is to be measured.
struct ClaimCatalog {
  std::string note;
  std::vector<Article> articles;
  std::vector<Claim> claims;
  std::vector<ClaimConflict> conflicts;
};
void fields(auto& visit, Is<ClaimCatalog> auto& catalog) {
  VISIT(catalog, note);
  visit("articles", catalog.articles, {.addition = true});
  VISIT(catalog, claims);
  visit("conflicts", catalog.conflicts, {.addition = true});
}

// `source` names the text in messages. Errors: FormatError, with the place.
ClaimCatalog parse_claims(std::string_view text, const std::string& source);
const ClaimCatalog& embedded_claims();

}  // namespace epochbench
