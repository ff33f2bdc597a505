#include <algorithm>
#include <set>

#include "epochbench/embedded.h"
#include "epochbench/precision.h"
#include "src/analysis/claims/catalog_fields.h"
#include "src/analysis/claims/claim_kinds.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/case/case_block.h"
#include "src/case/choices.h"
#include "src/case/device_id.h"

namespace epochbench {
namespace {

template <class Enum>
void check_each(const std::string& path, const Words& texts) {
  const auto known = texts_of(Enum{});
  for (const std::string& text : texts) check_word(path, text, {known.begin(), known.end()});
}

ClaimedRange parse_range(CatalogFields& fields) {
  const Json& bounds = fields.at("claimed");
  const auto is_bound = [](const Json& bound) { return bound.is_number() || bound.is_null(); };
  if (!bounds.is_array() || bounds.size() != 2 || !is_bound(bounds[0]) || !is_bound(bounds[1]))
    throw FormatError(fields.path("claimed") + ": must be [low, high], with null for no bound");
  ClaimedRange range;
  if (bounds[0].is_number()) range.low = bounds[0].get<double>();
  if (bounds[1].is_number()) range.high = bounds[1].get<double>();
  if (range.low && range.high && *range.low > *range.high)
    throw FormatError(fields.path("claimed") + ": the low bound is above the high one");
  range.less_is_more = fields.maybe<bool>("less_is_more").value_or(false);
  return range;
}

void check_choice(const RunChoice& choice, const JsonFields& fields) {
  check_each<Mode>(fields.path("mode"), {choice.mode});
  check_each<Precision>(fields.path("precisions"), choice.precisions);
  check_each<DeviceKind>(fields.path("backends"), choice.backends);
  if (!choice.data.empty()) check_word(fields.path("data"), choice.data, {"real"});
  if (choice.batch && (*choice.batch < 1 || *choice.batch > kMaxBatch))
    throw FormatError(fields.path("batch") + ": must be 1 to " + std::to_string(kMaxBatch));
}

RunChoice parse_choice(CatalogFields& fields) {
  RunChoice choice;
  choice.model = fields.text_or("model", "");
  choice.backends = fields.texts_or_none("backends");
  choice.precisions = fields.texts_or_none("precisions");
  choice.mode = fields.text_or("mode", choice.mode);
  choice.data = fields.text_or("data", "");
  choice.batch = fields.maybe<std::int64_t>("batch");
  choice.settings = fields.texts_or_none("settings");
  check_choice(choice, fields.all());
  std::ranges::sort(choice.settings);  // in the order of setting_texts()
  return choice;
}

std::pair<RunChoice, RunChoice> parse_ratio(CatalogFields& fields) {
  return {fields.object("of", parse_choice).value_or(RunChoice{}), fields.object("to", parse_choice).value_or(RunChoice{})};
}

StatedFigure parse_figure(CatalogFields& fields) {
  StatedFigure figure{fields.text("of"),     fields.get<double>("value"), fields.maybe<double>("over"),
                      fields.text("source"), fields.text("url"),          fields.text("date")};
  if (!(figure.value > 0) || (figure.over && !(*figure.over > 0)))
    throw FormatError(fields.path("value") + ": must be above 0");
  return figure;
}

HoldsFor parse_holds_for(CatalogFields& fields) {
  const std::string text = fields.text_or("holds_for", "all");
  check_each<HoldsFor>(fields.path("holds_for"), {text});
  return *from_name<HoldsFor>(text);
}

void check_listed(const std::string& path, const std::string& text, const WordList& list) {
  if (list.list || list.names) check_word(path, text, list.names ? list.names() : split(list.list, ' '));
}

// What its kind requires, so that judging it cannot fail.
void check_quantity(const ClaimQuantity& quantity, const JsonFields& fields) {
  check_word(fields.path("kind"), quantity.kind, kind_names());
  const ClaimKind& kind = kind_named(quantity.kind);
  for (const std::string& key : split(kind.needs, ' '))
    if (quantity.to || !key.starts_with("to.")) check_given(fields, key);
  check_listed(fields.path("measure"), quantity.measure, kind.measures);
  if (!quantity.over.empty()) check_listed(fields.path("over"), quantity.over, kind.over);
  if (kind.check) kind.check(quantity, fields);
}

ClaimQuantity parse_quantity(CatalogFields& fields) {
  ClaimQuantity quantity;
  quantity.id = fields.text_or("id", "");
  quantity.quantity = fields.text("quantity");
  quantity.unit = fields.text("unit");
  quantity.scale = fields.maybe<double>("scale").value_or(1);
  if (!(quantity.scale > 0)) throw FormatError(fields.path("scale") + ": must be above 0");
  quantity.claimed = parse_range(fields);
  quantity.kind = fields.text("kind");
  quantity.measure = fields.text_or("measure", "");
  quantity.over = fields.text_or("over", "");
  quantity.best = fields.text_or("pairing", "") == "best";
  quantity.carries = fields.maybe<bool>("carries").value_or(true);
  quantity.counts = fields.maybe<bool>("counts").value_or(true);
  quantity.alternative = fields.text_or("alternative", "");
  quantity.each = fields.maybe<bool>("each").value_or(false);
  quantity.models = fields.texts_or_none("models");
  if (auto of = fields.object("of", parse_choice)) quantity.of = std::move(*of);
  quantity.to = fields.object("to", parse_choice);
  quantity.than = fields.object("than", parse_ratio);
  quantity.device = fields.text_or("device", "");
  quantity.parameters = fields.maybe<double>("parameters").value_or(0);
  quantity.bytes = fields.maybe<double>("bytes").value_or(0);
  quantity.least_seeds = static_cast<int>(fields.maybe<std::int64_t>("least_seeds").value_or(quantity.least_seeds));
  if (const auto cores = fields.maybe<std::int64_t>("least_cores")) quantity.least_cores = static_cast<int>(*cores);
  quantity.entries = fields.texts_or_none("entries");
  quantity.against = fields.texts_or_none("against");
  quantity.figures = fields.list("figures", parse_figure);
  quantity.samples = fields.maybe<double>("samples").value_or(0);
  quantity.differs = fields.text_or("differs", "");
  quantity.reason = fields.text_or("reason", "");
  check_quantity(quantity, fields.all());
  return quantity;
}

Article parse_article(CatalogFields& fields) {
  constexpr std::size_t kHexDigits = 64;
  Article article{fields.text("file"), fields.text("sha256")};
  if (article.sha256.size() != kHexDigits || article.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw FormatError(fields.path("sha256") + ": must be 64 lowercase hexadecimal digits, as sha256sum prints them");
  return article;
}

Quote parse_quote(CatalogFields& fields, const std::vector<Article>& articles) {
  Quote quote{fields.text("article"), fields.text("text"), fields.text_or("reads", "")};
  if (std::ranges::find(articles, quote.article, &Article::file) == articles.end())
    throw FormatError(fields.path("article") + ": '" + quote.article + "' is not in the list of articles");
  if (quote.text.empty() || display_width(quote.text) > kLongestQuote)
    throw FormatError(fields.path("text") + ": a quote has 1 to " + std::to_string(kLongestQuote) + " characters");
  return quote;
}

Claim parse_claim(CatalogFields& fields, const std::vector<Article>& articles) {
  Claim claim;
  claim.id = fields.text("id");
  claim.text = fields.text("text");
  claim.conditions = fields.text("conditions");
  claim.origin = fields.text("origin");
  claim.experiment = fields.text("experiment");
  claim.verdict = fields.text("verdict");
  claim.holds_for = parse_holds_for(fields);
  claim.quotes = fields.list("quotes", [&](CatalogFields& quote) { return parse_quote(quote, articles); });
  fields.at("quantities");  // at least one is needed
  claim.quantities = fields.list("quantities", parse_quantity);
  std::set<std::string> ids;
  for (const ClaimQuantity& quantity : claim.quantities)
    if (!ids.insert(quantity.id).second)
      throw FormatError(fields.path("quantities") + ": the id '" + quantity.id + "' stands there twice");
  if (std::ranges::none_of(claim.quantities, &ClaimQuantity::counts))
    throw FormatError(fields.path("quantities") + ": a claim needs at least one quantity that counts");
  return claim;
}

ClaimCatalog parse_catalog(CatalogFields& fields) {
  ClaimCatalog catalog;
  catalog.note = fields.text("note");
  catalog.articles = fields.list("articles", parse_article);
  fields.at("claims");
  std::set<std::string> ids;
  catalog.claims = fields.list("claims", [&](CatalogFields& claim_fields) {
    Claim claim = parse_claim(claim_fields, catalog.articles);
    if (!ids.insert(claim.id).second) throw FormatError(claim_fields.path("id") + ": stands there twice");
    return claim;
  });
  if (catalog.claims.empty()) throw FormatError(fields.path("claims") + ": a catalog needs at least one claim");
  catalog.conflicts = fields.list("conflicts", [&](CatalogFields& conflict_fields) {
    ClaimConflict conflict{conflict_fields.get<std::vector<std::string>>("claims"), conflict_fields.text("why")};
    for (const std::string& id : conflict.claims)
      if (!ids.contains(id)) throw FormatError(conflict_fields.path("claims") + ": '" + id + "' is not the id of a claim");
    return conflict;
  });
  return catalog;
}

}  // namespace

void check_word(const std::string& path, const std::string& text, const Words& known) {
  if (contains(known, text)) return;
  throw FormatError(path + ": " + (text.empty() ? "missing, and this kind needs it" : "'" + text + "' is unknown") +
                    "; choose from " + joined(known) + did_you_mean(text, known));
}

void check_given(const JsonFields& fields, const std::string& key) {
  const Words path = split(key, '.');
  const Json* value = fields.find(path.front().c_str());
  for (std::size_t i = 1; value && i < path.size(); ++i) value = value->contains(path[i]) ? &value->at(path[i]) : nullptr;
  if (!value || value->empty() || *value == Json("") || (value->is_number() && !(value->get<double>() > 0)))
    throw FormatError(fields.path(key.c_str()) + ": missing, and this kind needs it");
}

ClaimCatalog parse_claims(std::string_view text, const std::string& source) {
  return CatalogFields::whole(parse_json(text, source), source, parse_catalog);
}

const ClaimCatalog& embedded_claims() {
  constexpr const char* kPath = "bench/claims.json";
  static const ClaimCatalog catalog = parse_claims(embedded_file(kPath).value_or(""), kPath);
  return catalog;
}

}  // namespace epochbench
