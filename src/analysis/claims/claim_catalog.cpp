#include "src/analysis/claims/claim_catalog.h"

#include <algorithm>
#include <set>

#include "epochbench/embedded.h"
#include "src/analysis/claims/claim_kinds.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/case/case_block.h"

namespace epochbench {

namespace {

struct Keys {
  Words keys;
  void operator()(const char* key, const auto&, const Form& = {}) { keys.emplace_back(key); }
};

// A misspelled key would otherwise change what is judged.
void refuse_other_keys(const auto& part, const Json& object, const std::string& path) {
  constexpr std::size_t kMaxShown = 60;
  Keys known;
  fields(known, part);
  for (const auto& [key, value] : object.items())
    if (!contains(known.keys, key))
      throw FormatError(path + ": unknown key '" + key.substr(0, kMaxShown) + "'" + did_you_mean(key, known.keys));
}

// The order is that of setting_texts().
void check_and_sort(RunChoice& choice, const Json& object, const std::string& path) {
  refuse_other_keys(choice, object, path);
  if (!choice.data.empty()) check_word(path + ".data", choice.data, {"real"});
  if (choice.batch && (*choice.batch < 1 || *choice.batch > kMaxBatch))
    throw FormatError(path + ".batch: must be 1 to " + std::to_string(kMaxBatch));
  std::ranges::sort(choice.settings);
}

void check_listed(const std::string& path, const std::string& text, const WordList& list) {
  if (list.list || list.names) check_word(path, text, list.names ? list.names() : split(list.list, ' '));
}

// What its kind requires, so that judging it cannot fail.
void check_by_kind(const ClaimQuantity& quantity, const JsonFields& fields) {
  check_word(fields.path("kind"), quantity.kind, kind_names());
  const ClaimKind& kind = kind_named(quantity.kind);
  for (const std::string& key : split(kind.needs, ' '))
    if (quantity.to || !key.starts_with("to.")) check_given(fields, key);
  check_listed(fields.path("measure"), quantity.measure, kind.measures);
  if (!quantity.over.empty()) check_listed(fields.path("over"), quantity.over, kind.over);
  if (!quantity.pairing.empty()) check_word(fields.path("pairing"), quantity.pairing, {"best"});
  if (!quantity.weak.empty()) check_word(fields.path("weak"), quantity.weak, {"of", "to"});
  if (kind.check) kind.check(quantity, fields);
}

void check_choices(RunChoice* of, RunChoice* to, const JsonFields& fields) {
  for (const auto& [key, choice] : {std::pair("of", of), std::pair("to", to)})
    if (const Json* object = fields.find(key)) check_and_sort(*choice, *object, fields.path(key));
}

// Calls `check` with each element that was read from the list of this key, its object and its path.
void check_elements(auto& elements, const JsonFields& fields, const char* key, const auto& check) {
  for (std::size_t i = 0; i < elements.size(); ++i) check(elements[i], fields.at(key)[i], path_of_element(fields.path(key), i));
}

void check_quantity(ClaimQuantity& quantity, const Json& object, const std::string& path) {
  refuse_other_keys(quantity, object, path);
  const JsonFields fields(object, path);
  check_choices(&quantity.of, quantity.to ? &*quantity.to : nullptr, fields);
  if (quantity.than) {
    refuse_other_keys(*quantity.than, fields.at("than"), fields.path("than"));
    check_choices(&quantity.than->of, &quantity.than->to, fields.get<JsonFields>("than"));
  }
  check_elements(quantity.figures, fields, "figures", [](const auto&... figure) { refuse_other_keys(figure...); });
  check_by_kind(quantity, fields);
}

void check_article(const Article& article, const Json& object, const std::string& path) {
  constexpr std::size_t kHexDigits = 64;
  refuse_other_keys(article, object, path);
  if (article.sha256.size() != kHexDigits || article.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw FormatError(path + ".sha256: must be 64 lowercase hexadecimal digits, as sha256sum prints them");
}

void check_quote(const Quote& quote, const Json& object, const std::string& path, const std::vector<Article>& articles) {
  refuse_other_keys(quote, object, path);
  if (std::ranges::find(articles, quote.article, &Article::file) == articles.end())
    throw FormatError(path + ".article: '" + quote.article + "' is not in the list of articles");
  if (quote.text.empty() || display_width(quote.text) > kMaxQuoteCharacters)
    throw FormatError(path + ".text: a quote has 1 to " + std::to_string(kMaxQuoteCharacters) + " characters");
}

void check_claim(Claim& claim, const Json& object, const std::string& path, const std::vector<Article>& articles) {
  refuse_other_keys(claim, object, path);
  const JsonFields fields(object, path);
  check_elements(claim.quotes, fields, "quotes",
                 [&](const auto& quote, const auto&... where) { check_quote(quote, where..., articles); });
  check_elements(claim.quantities, fields, "quantities", check_quantity);
  std::set<std::string> ids;
  for (const ClaimQuantity& quantity : claim.quantities)
    if (!ids.insert(quantity.id).second)
      throw FormatError(fields.path("quantities") + ": the id '" + quantity.id + "' stands there twice");
  for (std::size_t i = 0; i < claim.quantities.size(); ++i)
    if (const std::string& given = claim.quantities[i].precondition; !given.empty() && !ids.contains(given))
      throw FormatError(path_of_element(fields.path("quantities"), i) + ".precondition: '" + given +
                        "' is not the id of a quantity of this claim");
  if (std::ranges::none_of(claim.quantities, &ClaimQuantity::counts))
    throw FormatError(fields.path("quantities") + ": a claim needs at least one quantity that counts");
}

void check_catalog(ClaimCatalog& catalog, const Json& object, const std::string& path) {
  refuse_other_keys(catalog, object, path);
  const JsonFields fields(object, path);
  check_elements(catalog.articles, fields, "articles", check_article);
  std::set<std::string> ids;
  check_elements(catalog.claims, fields, "claims", [&](Claim& claim, const Json& json, const std::string& where) {
    check_claim(claim, json, where, catalog.articles);
    if (!ids.insert(claim.id).second) throw FormatError(where + ".id: stands there twice");
  });
  if (catalog.claims.empty()) throw FormatError(fields.path("claims") + ": a catalog needs at least one claim");
  check_elements(catalog.conflicts, fields, "conflicts",
                 [&](const ClaimConflict& conflict, const Json& json, const std::string& where) {
                   refuse_other_keys(conflict, json, where);
                   for (const std::string& id : conflict.claims)
                     if (!ids.contains(id)) throw FormatError(where + ".claims: '" + id + "' is not the id of a claim");
                 });
}

}  // namespace

Json JsonConversion<ClaimedRange>::write(const ClaimedRange& range) {
  return Json::array({json_of(range.low), json_of(range.high)});
}

ClaimedRange JsonConversion<ClaimedRange>::read(const Json& value, const std::string& path) {
  const auto is_bound = [](const Json& bound) { return bound.is_number() || bound.is_null(); };
  if (!value.is_array() || value.size() != 2 || !is_bound(value[0]) || !is_bound(value[1]))
    throw FormatError(path + ": must be [low, high], with null for no bound");
  const auto [low, high] = read_value<std::pair<std::optional<double>, std::optional<double>>>(value, path);
  if (low && high && *low > *high) throw FormatError(path + ": the low bound is above the high one");
  return {low, high};
}

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
  const Json json = parse_json(text, source);
  auto catalog = read_value<ClaimCatalog>(json, source);
  check_catalog(catalog, json, source);
  return catalog;
}

const ClaimCatalog& embedded_claims() {
  constexpr const char* kPath = "bench/claims.json";
  static const ClaimCatalog catalog = parse_claims(embedded_file(kPath).value_or(""), kPath);
  return catalog;
}

}  // namespace epochbench
