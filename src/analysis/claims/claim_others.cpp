// Claims by figures of others: published results, makers' ratings, and statements of named sources. Such figures have no
// repetitions, so the interval is the range of all that the quantity names; none is paired with a result of ours.
#include <algorithm>

#include <fnmatch.h>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

using Names = std::vector<std::string>;

struct Cited {
  const PublishedDocument* document = nullptr;
  const PublishedEntry* entry = nullptr;
};

std::vector<Cited> named(std::span<const PublishedDocument> documents, const Names& patterns) {
  std::vector<Cited> found;
  for (const PublishedDocument& document : documents)
    for (const PublishedEntry& entry : document.entries)
      if (std::ranges::any_of(patterns,
                              [&](const std::string& pattern) { return fnmatch(pattern.c_str(), entry.name.c_str(), 0) == 0; }))
        found.push_back({&document, &entry});
  return found;
}

// One task with one program: MLPerf's terms also ask for one version and division, and no source is paired with another.
bool comparable(const Cited& a, const Cited& b) {
  const PublishedEntry &of = *a.entry, &to = *b.entry;
  return a.document->source == b.document->source && of.benchmark == to.benchmark && of.task == to.task &&
         of.model == to.model && of.data == to.data && of.framework == to.framework && of.version == to.version &&
         of.division == to.division;
}

std::optional<double> inverse(const std::optional<double>& value) { return value ? std::optional(1 / *value) : std::nullopt; }

std::optional<double> number_of(const PublishedEntry& entry, const std::string& measure) {
  const auto rate = entry.throughput ? std::optional(entry.throughput->samples_per_second) : std::nullopt;
  if (measure == "samples_per_second") return rate;
  if (measure == "samples_per_second_per_node")
    return rate && entry.machine.nodes ? std::optional(*rate / static_cast<double>(*entry.machine.nodes)) : std::nullopt;
  if (measure == "seconds_to_target") return entry.seconds_to_target;
  if (measure == "latency") return entry.latency_seconds;
  if (measure == "answers_per_second") return inverse(entry.latency_seconds);
  if (measure == "usd_per_hour") return entry.usd_per_hour;
  if (!entry.usd_per_hour || !entry.seconds_per_epoch) return std::nullopt;  // epochs_per_usd
  return kSecondsPerHour / (*entry.usd_per_hour * *entry.seconds_per_epoch);
}

void cite(std::vector<ClaimSource>& sources, ClaimSource source) {
  if (std::ranges::find(sources, source) == sources.end()) sources.push_back(std::move(source));
}

void cite(std::vector<ClaimSource>& sources, const Cited& cited) {
  cite(sources, {cited.entry->citation, cited.entry->link.value_or("")});
  if (!cited.document->notice.empty()) cite(sources, {cited.document->notice, ""});
}

void add_new(Names& texts, const std::optional<std::string>& text) {
  if (text && std::ranges::find(texts, *text) == texts.end()) texts.push_back(*text);
}

// SI units in one unit of this fact.
double unit_of(const std::string& fact) {
  constexpr double kMib = 1024.0 * 1024;
  if (fact.ends_with("_gb_per_second") || fact.ends_with("_ghz")) return 1e9;
  if (fact.ends_with("_tflops")) return 1e12;
  if (fact.ends_with("_gib")) return 1024 * kMib;
  return fact.ends_with("_mib") ? kMib : 1;
}

struct Rated {
  double value = 0;
  const CatalogDevice* device = nullptr;
  std::string source;  // key
};

std::vector<Rated> rated(const Names& ids, const std::string& fact) {
  std::vector<Rated> found;
  for (const CatalogDevice& device : embedded_devices().devices) {
    const auto rating = device.facts.find(fact);
    if (std::ranges::find(ids, device.id) != ids.end() && rating != device.facts.end() && rating->second.value)
      found.push_back({*rating->second.value * unit_of(fact), &device, rating->second.source});
  }
  return found;
}

void cite(std::vector<ClaimSource>& sources, const Rated& rating) {
  const CatalogSource& source = embedded_devices().sources.at(rating.source);
  cite(sources, {source.title + ", " + source.date, source.url});
}

std::string names_of(const std::vector<Rated>& ratings) {
  return joined(ratings, [](const Rated& rating) { return rating.device->name; });
}

ClaimAnswer unanswered_by_others(const ClaimQuantity& quantity, const std::string& reason) {
  ClaimAnswer answer = unanswered(quantity, reason);
  answer.evidence = EvidenceClass::published;
  return answer;
}

}  // namespace

ClaimAnswer answered_by_others(const ClaimQuantity& quantity, const std::vector<double>& values, std::string conditions,
                               std::vector<ClaimSource> sources) {
  const auto [least, greatest] = std::ranges::minmax(values);
  ClaimAnswer answer = answered(quantity, {mean(values), {{least, greatest}}, ""}, std::move(conditions));
  if (answer.verdict == Verdict::undecided) answer.reason = "what was published lies on both sides of a bound of the claim";
  answer.evidence = EvidenceClass::published;
  answer.sources = std::move(sources);
  return answer;
}

Answers answer_published(const ClaimQuantity& quantity, const Evidence& evidence) {
  if (quantity.entries.empty()) return {unanswered_by_others(quantity, quantity.reason)};
  std::vector<double> values;
  std::vector<ClaimSource> sources;
  Names machines, others, programs;
  const auto partners = named(evidence.facts.published, quantity.against);
  for (const Cited& of : named(evidence.facts.published, quantity.entries)) {
    const auto number = number_of(*of.entry, quantity.measure);
    const auto add = [&](double value) {
      values.push_back(value);
      cite(sources, of);
      add_new(machines, of.entry->machine.description);
      add_new(programs, of.entry->framework);
    };
    if (number && quantity.against.empty()) add(*number);
    for (const Cited& to : partners) {
      const auto beside = number_of(*to.entry, quantity.measure);
      if (!number || !beside || !comparable(of, to)) continue;
      add(*number / *beside);
      cite(sources, to);
      add_new(others, to.entry->machine.description);
    }
  }
  if (values.empty()) return {unanswered_by_others(quantity, "nothing published in this program's set has such entries")};
  std::string conditions = counted(values.size(), others.empty() ? "entry" : "pair", others.empty() ? "entries" : "pairs");
  conditions += ", by others: " + joined(machines) + (others.empty() ? "" : ", each against " + joined(others)) +
                " by the same program (" + joined(programs) + ")";
  if (others.empty()) conditions = counted(values.size(), "entry", "entries") + ", by others: " + joined(machines);
  return {answered_by_others(quantity, values, conditions, sources)};
}

Answers answer_rated(const ClaimQuantity& quantity, const Evidence&) {
  const auto ratings = rated(quantity.entries, quantity.measure),
             partners = rated(quantity.against, quantity.over.empty() ? quantity.measure : quantity.over);
  std::vector<double> values;
  std::vector<ClaimSource> sources;
  for (const Rated& rating : ratings) {
    if (quantity.against.empty()) values.push_back(rating.value);
    for (const Rated& partner : partners) values.push_back(rating.value / partner.value);
    cite(sources, rating);
  }
  for (const Rated& partner : partners) cite(sources, partner);
  if (values.empty()) return {unanswered_by_others(quantity, "no device of the catalog has this rating")};
  return {answered_by_others(
      quantity, values, "as rated: " + names_of(ratings) + (partners.empty() ? "" : ", each against " + names_of(partners)),
      sources)};
}

Answers answer_stated(const ClaimQuantity& quantity, const Evidence&) {
  std::vector<double> values;
  std::vector<ClaimSource> sources;
  Names figures;
  for (const StatedFigure& figure : quantity.figures) {
    values.push_back(quantity.scale * figure.value / figure.over.value_or(1));
    cite(sources, {figure.source + ", " + figure.date, figure.url});
    figures.push_back(figure.of +
                      (figure.over ? " (" + short_number(figure.value) + " over " + short_number(*figure.over) + ")" : ""));
  }
  return {answered_by_others(quantity, values, "as stated for " + joined(figures), sources)};
}

}  // namespace epochbench
