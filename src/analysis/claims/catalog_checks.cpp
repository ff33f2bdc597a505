#include "src/analysis/claims/catalog_checks.h"

#include <algorithm>

#include "epochbench/precision.h"
#include "src/analysis/claims/claim_kinds.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/case/case_block.h"
#include "src/case/choices.h"
#include "src/case/device_id.h"

namespace epochbench {
namespace {

using Names = std::vector<std::string>;

Names names_in(const char* list) { return list[0] ? split(list, ' ') : Names{}; }

[[noreturn]] void refuse(const std::string& path, const std::string& text, const Names& known) {
  throw FormatError(path + ": " + (text.empty() ? "missing, and this kind needs it" : "'" + text + "' is unknown") +
                    "; choose from " + joined(known) + did_you_mean(text, known));
}

void check_word(const std::string& path, const std::string& text, const Names& known) {
  if (!contains(known, text)) refuse(path, text, known);
}

template <class Enum>
void check_each(const std::string& path, const Names& texts) {
  for (const std::string& given : texts)
    if (!from_name<Enum>(given)) {
      Names known;
      for (const char* text : texts_of(Enum{})) known.emplace_back(text);
      refuse(path, given, known);
    }
}

void check_object(const Json& object, const std::string& path, const Names& known) {
  if (!object.is_object()) return;  // reading says so
  for (const auto& [key, value] : object.items())
    if (!contains(known, key)) throw FormatError(path + ": unknown key '" + key.substr(0, 60) + "'" + did_you_mean(key, known));
}

// Every element of a list, if it is one.
void for_each_in(const Json& object, const char* key, const std::string& path, const auto& check) {
  const auto list = object.is_object() ? object.find(key) : object.end();
  if (list == object.end() || !list->is_array()) return;
  for (std::size_t i = 0; i < list->size(); ++i) check((*list)[i], path_of_element(path + "." + key, i));
}

void check_quantity_keys(const Json& quantity, const std::string& path) {
  static const Names choice{"model", "backends", "precisions", "mode", "data", "batch", "settings"};
  check_object(quantity, path, {"id",     "quantity",    "unit",  "scale",       "claimed",     "less_is_more", "carries",
                                "counts", "alternative", "kind",  "measure",     "over",        "pairing",      "each",
                                "device", "parameters",  "bytes", "least_seeds", "least_cores", "models",       "differs",
                                "reason", "of",          "to",    "than"});
  if (!quantity.is_object()) return;
  for (const char* key : {"of", "to"})
    if (quantity.contains(key)) check_object(quantity[key], path + "." + key, choice);
  if (!quantity.contains("than")) return;
  check_object(quantity["than"], path + ".than", {"of", "to"});
  for (const auto& [key, side] : quantity["than"].items()) check_object(side, path + ".than." + key, choice);
}

}  // namespace

void check_keys(const Json& catalog, const std::string& source) {
  check_object(catalog, source, {"note", "articles", "conflicts", "claims"});
  for_each_in(catalog, "articles", source, [](const Json& article, const std::string& path) {
    check_object(article, path, {"file", "sha256"});
  });
  for_each_in(catalog, "conflicts", source, [](const Json& conflict, const std::string& path) {
    check_object(conflict, path, {"claims", "why"});
  });
  for_each_in(catalog, "claims", source, [](const Json& claim, const std::string& path) {
    check_object(claim, path,
                 {"id", "text", "quotes", "conditions", "origin", "experiment", "verdict", "holds_for", "quantities"});
    for_each_in(claim, "quotes", path, [](const Json& quote, const std::string& quote_path) {
      check_object(quote, quote_path, {"article", "text", "reads"});
    });
    for_each_in(claim, "quantities", path, check_quantity_keys);
  });
}

void check_choice(const RunChoice& choice, const JsonFields& fields) {
  check_each<Mode>(fields.path("mode"), {choice.mode});
  check_each<Precision>(fields.path("precisions"), choice.precisions);
  check_each<DeviceKind>(fields.path("backends"), choice.backends);
  if (!choice.data.empty()) check_word(fields.path("data"), choice.data, {"real"});
  if (choice.batch && (*choice.batch < 1 || *choice.batch > kMaxBatch))
    throw FormatError(fields.path("batch") + ": must be 1 to " + std::to_string(kMaxBatch));
}

void check_quantity(const ClaimQuantity& quantity, const JsonFields& fields) {
  const auto needs = [&](const char* key, bool there) {
    if (!there) throw FormatError(fields.path(key) + ": missing, and this kind needs it");
  };
  const QuantityKind kind = quantity.kind;
  const KindRow& row = quantity_kinds()[static_cast<std::size_t>(kind)];
  const bool of_runs = row.about == KindRow::About::runs, of_plans = row.about == KindRow::About::plans;
  needs("models", !(of_runs || of_plans) || !quantity.models.empty());
  needs("of.backends", !of_runs || !quantity.of.backends.empty());
  needs("to", !row.has_partner || quantity.to.has_value());
  needs("to.backends", !of_runs || !quantity.to || !quantity.to->backends.empty());
  needs("than", kind != QuantityKind::effect || quantity.than.has_value());
  if (quantity.than)
    for (const RunChoice& side : {quantity.than->first, quantity.than->second}) needs("than", !side.backends.empty());
  const bool of_one_precision = kind == QuantityKind::input || of_plans;
  needs("of.precisions", !of_one_precision || !quantity.of.precisions.empty());
  needs("to.precisions", !of_plans || !quantity.to || !quantity.to->precisions.empty());
  if (of_runs && !row.measures)
    check_word(fields.path("measure"), quantity.measure, metric_names());
  else if (row.measures)
    check_word(fields.path("measure"), quantity.measure, names_in(row.measures));
  if (row.over) check_word(fields.path("over"), quantity.over, names_in(row.over));
  if (kind == QuantityKind::slope) check_word(fields.path("over"), quantity.over, {quantity.to ? "parameters" : "batch"});
  if (of_plans && !quantity.over.empty()) check_word(fields.path("over"), quantity.over, {"weights"});
  needs("measure", kind != QuantityKind::suite || !quantity.measure.empty());
  needs("parameters", kind != QuantityKind::weights || (quantity.parameters > 0 && quantity.bytes > 0));
  needs("reason", kind != QuantityKind::missing || !quantity.reason.empty());
}

}  // namespace epochbench
