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

// Each * costs a search, so their number is limited.
void check_patterns(const ClaimQuantity& quantity, const JsonFields& fields) {
  constexpr std::size_t kLongest = 200, kMaxStars = 4;
  for (const auto& [key, patterns] : {std::pair("entries", &quantity.entries), std::pair("against", &quantity.against)})
    for (const std::string& pattern : *patterns)
      if (pattern.size() > kLongest || static_cast<std::size_t>(std::ranges::count(pattern, '*')) > kMaxStars)
        throw FormatError(fields.path(key) + ": a name has at most " + std::to_string(kLongest) + " characters and " +
                          std::to_string(kMaxStars) + " *");
}

// The facts and the devices must be in the device catalog.
void check_rating(const ClaimQuantity& quantity, const JsonFields& fields) {
  Names facts, devices;
  for (const char* fact : gpu_facts()) facts.emplace_back(fact);
  for (const char* fact : cpu_facts()) facts.emplace_back(fact);
  for (const CatalogDevice& device : embedded_devices().devices) devices.push_back(device.id);
  check_word(fields.path("measure"), quantity.measure, facts);
  if (!quantity.over.empty()) check_word(fields.path("over"), quantity.over, facts);
  for (const std::string& device : quantity.entries) check_word(fields.path("entries"), device, devices);
  for (const std::string& device : quantity.against) check_word(fields.path("against"), device, devices);
}

void check_example(const ClaimQuantity& quantity, const JsonFields& fields) {
  if (quantity.figures.empty()) return;
  Names given;
  for (const StatedFigure& figure : quantity.figures) {
    check_word(fields.path("figures"), figure.of, example_figures());
    given.push_back(figure.of);
  }
  for (const std::string& needed : example_figures())
    if (!contains(given, needed)) throw FormatError(fields.path("figures") + ": an example needs '" + needed + "' too");
}

}  // namespace

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
  const bool is_expected = kind == QuantityKind::expected;
  if (of_plans && !quantity.over.empty())
    check_word(fields.path("over"), quantity.over, {is_expected ? "parameters" : "weights"});
  needs("measure", kind != QuantityKind::suite || !quantity.measure.empty());
  needs("parameters", kind != QuantityKind::weights || (quantity.parameters > 0 && quantity.bytes > 0));
  const bool of_entries =
      kind == QuantityKind::published || kind == QuantityKind::rated || kind == QuantityKind::predicted || is_expected;
  const bool says_why_not = kind == QuantityKind::published && !quantity.reason.empty();
  needs("entries", !of_entries || says_why_not || !quantity.entries.empty());
  needs("against", !is_expected || !quantity.against.empty());
  needs("figures", kind != QuantityKind::stated || !quantity.figures.empty());
  if (kind == QuantityKind::published) check_patterns(quantity, fields);
  if (kind == QuantityKind::rated) check_rating(quantity, fields);
  if (kind == QuantityKind::break_even) check_example(quantity, fields);
  needs("samples", kind != QuantityKind::predicted || quantity.measure != "seconds" || quantity.samples > 0);
  needs("reason", kind != QuantityKind::missing || !quantity.reason.empty());
}

}  // namespace epochbench
