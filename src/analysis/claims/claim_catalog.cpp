#include <algorithm>
#include <set>

#include "epochbench/embedded.h"
#include "src/analysis/claims/catalog_checks.h"
#include "src/analysis/claims/claim_kinds.h"
#include "src/base/json_fields.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

std::vector<std::string> maybe_texts(const JsonFields& fields, const char* key) {
  return fields.find(key) ? fields.texts(key) : std::vector<std::string>{};
}

QuantityKind kind_from_name(const JsonFields& fields) {
  std::set<std::string> known;
  for (std::size_t i = 0; i < quantity_kinds().size(); ++i) {
    if (fields.text("kind") == quantity_kinds()[i].name) return static_cast<QuantityKind>(i);
    known.insert(quantity_kinds()[i].name);
  }
  throw FormatError(fields.path("kind") + ": '" + fields.text("kind") + "' is unknown; choose from " +
                    joined({known.begin(), known.end()}));
}

ClaimedRange parse_range(const JsonFields& fields) {
  const Json& bounds = fields.at("claimed");
  const auto is_bound = [](const Json& bound) { return bound.is_number() || bound.is_null(); };
  if (!bounds.is_array() || bounds.size() != 2 || !is_bound(bounds[0]) || !is_bound(bounds[1]))
    throw FormatError(fields.path("claimed") + ": must be [low, high], with null for no bound");
  ClaimedRange range;
  if (bounds[0].is_number()) range.low = bounds[0].get<double>();
  if (bounds[1].is_number()) range.high = bounds[1].get<double>();
  if (range.low && range.high && *range.low > *range.high)
    throw FormatError(fields.path("claimed") + ": the low bound is above the high one");
  range.less_is_more = fields.maybe_boolean("less_is_more").value_or(false);
  return range;
}

RunChoice parse_choice(const JsonFields& fields) {
  RunChoice choice;
  choice.model = fields.maybe_text("model").value_or("");
  choice.backends = maybe_texts(fields, "backends");
  choice.precisions = maybe_texts(fields, "precisions");
  choice.mode = fields.maybe_text("mode").value_or(choice.mode);
  choice.data = fields.maybe_text("data").value_or("");
  choice.batch = fields.maybe_integer("batch");
  choice.settings = maybe_texts(fields, "settings");
  check_choice(choice, fields);
  std::ranges::sort(choice.settings);  // as setting_texts() has them
  return choice;
}

JsonFields choice_at(const JsonFields& fields, const char* key) { return {fields.at(key), fields.path(key)}; }

HoldsFor parse_holds_for(const JsonFields& fields) {
  const std::string text = fields.maybe_text("holds_for").value_or("all");
  if (text == "all") return HoldsFor::all;
  if (text == "any") return HoldsFor::any;
  if (text == "most") return HoldsFor::most;
  throw FormatError(fields.path("holds_for") + ": '" + text + "' is unknown; choose from all, any, most");
}

ClaimQuantity parse_quantity(const JsonFields& fields) {
  ClaimQuantity quantity;
  quantity.id = fields.maybe_text("id").value_or("");
  quantity.quantity = fields.text("quantity");
  quantity.unit = fields.text("unit");
  quantity.scale = fields.maybe_number("scale").value_or(1);
  if (!(quantity.scale > 0)) throw FormatError(fields.path("scale") + ": must be above 0");
  quantity.claimed = parse_range(fields);
  quantity.kind = kind_from_name(fields);
  quantity.measure = fields.maybe_text("measure").value_or("");
  quantity.over = fields.maybe_text("over").value_or("");
  quantity.best = fields.maybe_text("pairing") == "best";
  quantity.carries = fields.maybe_boolean("carries").value_or(true);
  quantity.counts = fields.maybe_boolean("counts").value_or(true);
  quantity.alternative = fields.maybe_text("alternative").value_or("");
  quantity.each = fields.maybe_boolean("each").value_or(false);
  quantity.models = maybe_texts(fields, "models");
  if (const auto of = fields.maybe_group("of")) quantity.of = parse_choice(*of);
  if (const auto to = fields.maybe_group("to")) quantity.to = parse_choice(*to);
  if (const auto than = fields.maybe_group("than"))
    quantity.than = {parse_choice(choice_at(*than, "of")), parse_choice(choice_at(*than, "to"))};
  quantity.device = fields.maybe_text("device").value_or("");
  quantity.parameters = fields.maybe_number("parameters").value_or(0);
  quantity.bytes = fields.maybe_number("bytes").value_or(0);
  quantity.least_seeds = static_cast<int>(fields.maybe_integer("least_seeds").value_or(quantity.least_seeds));
  if (const auto cores = fields.maybe_integer("least_cores")) quantity.least_cores = static_cast<int>(*cores);
  quantity.differs = fields.maybe_text("differs").value_or("");
  quantity.reason = fields.maybe_text("reason").value_or("");
  check_quantity(quantity, fields);
  return quantity;
}

Article parse_article(const JsonFields& fields) {
  constexpr std::size_t kHexDigits = 64;
  Article article{fields.text("file"), fields.text("sha256")};
  if (article.sha256.size() != kHexDigits || article.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw FormatError(fields.path("sha256") + ": must be 64 lowercase hexadecimal digits, as sha256sum prints them");
  return article;
}

Quote parse_quote(const JsonFields& fields, const std::vector<Article>& articles) {
  Quote quote{fields.text("article"), fields.text("text"), fields.maybe_text("reads").value_or("")};
  if (std::ranges::find(articles, quote.article, &Article::file) == articles.end())
    throw FormatError(fields.path("article") + ": '" + quote.article + "' is not in the list of articles");
  if (quote.text.empty() || display_width(quote.text) > kLongestQuote)
    throw FormatError(fields.path("text") + ": a quote has 1 to " + std::to_string(kLongestQuote) + " characters");
  return quote;
}

Claim parse_claim(const JsonFields& fields, const std::vector<Article>& articles) {
  Claim claim;
  claim.id = fields.text("id");
  claim.text = fields.text("text");
  claim.conditions = fields.text("conditions");
  claim.origin = fields.text("origin");
  claim.experiment = fields.text("experiment");
  claim.verdict = fields.text("verdict");
  claim.holds_for = parse_holds_for(fields);
  if (fields.find("quotes"))
    for (const JsonFields& quote : fields.groups("quotes")) claim.quotes.push_back(parse_quote(quote, articles));
  for (const JsonFields& quantity : fields.groups("quantities")) claim.quantities.push_back(parse_quantity(quantity));
  std::set<std::string> ids;
  for (const ClaimQuantity& quantity : claim.quantities)
    if (!ids.insert(quantity.id).second)
      throw FormatError(fields.path("quantities") + ": the id '" + quantity.id + "' stands there twice");
  if (std::ranges::none_of(claim.quantities, &ClaimQuantity::counts))
    throw FormatError(fields.path("quantities") + ": a claim needs at least one quantity that counts");
  return claim;
}

}  // namespace

ClaimCatalog parse_claims(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonFields fields(document, source);
  check_keys(document, source);
  ClaimCatalog catalog;
  catalog.note = fields.text("note");
  if (fields.find("articles"))
    for (const JsonFields& article : fields.groups("articles")) catalog.articles.push_back(parse_article(article));
  std::set<std::string> ids;
  for (const JsonFields& claim : fields.groups("claims")) {
    catalog.claims.push_back(parse_claim(claim, catalog.articles));
    if (!ids.insert(catalog.claims.back().id).second) throw FormatError(claim.path("id") + ": stands there twice");
  }
  if (catalog.claims.empty()) throw FormatError(fields.path("claims") + ": a catalog needs at least one claim");
  if (!fields.find("conflicts")) return catalog;
  for (const JsonFields& fields_of_conflict : fields.groups("conflicts")) {
    ClaimConflict conflict{fields_of_conflict.texts("claims"), fields_of_conflict.text("why")};
    for (const std::string& id : conflict.claims)
      if (!ids.contains(id)) throw FormatError(fields_of_conflict.path("claims") + ": there is no claim '" + id + "'");
    catalog.conflicts.push_back(std::move(conflict));
  }
  return catalog;
}

const ClaimCatalog& embedded_claims() {
  constexpr const char* kPath = "bench/claims.json";
  static const ClaimCatalog catalog = parse_claims(embedded_file(kPath).value_or(""), kPath);
  return catalog;
}

}  // namespace epochbench
