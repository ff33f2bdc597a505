// Claims by figures of others: published results, makers' ratings, and statements of named sources. Such figures have no
// repetitions, so the interval is the range of all that the quantity names; none is paired with a result of ours.
#include <algorithm>
#include <iterator>

#include <fnmatch.h>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/clock.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/figures/figure.h"

namespace epochbench {
namespace {

struct Cited {
  double value = 0;
  std::string of;  // a machine, a device, or what the source says
  std::vector<ClaimSource> sources;
  const PublishedDocument* document = nullptr;  // of a published result, with its entry
  const PublishedEntry* entry = nullptr;
};

struct PublishedFigure {
  const char* name;
  std::optional<double> (*of)(const PublishedEntry& entry);
};

std::optional<double> rate_of(const PublishedEntry& entry) { return member_of(entry.throughput, &PublishedThroughput::rate); }

constexpr PublishedFigure kPublishedFigures[] = {
    {kThroughput.key, rate_of},
    {"samples_per_second_per_node",
     [](const PublishedEntry& entry) {
       const auto rate = rate_of(entry);
       return rate && entry.machine.nodes ? std::optional(*rate / static_cast<double>(*entry.machine.nodes)) : std::nullopt;
     }},
    {"seconds_to_target", [](const PublishedEntry& entry) { return entry.seconds_to_target; }},
    {"epochs_per_usd",
     [](const PublishedEntry& entry) {
       const bool known = entry.usd_per_hour && entry.seconds_per_epoch;
       return known ? std::optional(kSecondsPerHour / (*entry.usd_per_hour * *entry.seconds_per_epoch)) : std::nullopt;
     }},
    {"answers_per_second",
     [](const PublishedEntry& entry) {
       return entry.latency_seconds ? std::optional(1 / *entry.latency_seconds) : std::nullopt;
     }},
    {"latency", [](const PublishedEntry& entry) { return entry.latency_seconds; }},
    {"usd_per_hour", [](const PublishedEntry& entry) { return entry.usd_per_hour; }},
};

Words published_figures() {
  Words names;
  for (const PublishedFigure& figure : kPublishedFigures) names.emplace_back(figure.name);
  return names;
}

// The entries whose names match one of the patterns and that have the measure.
std::vector<Cited> published(std::span<const PublishedDocument> documents, const Words& patterns, const std::string& measure) {
  std::vector<Cited> found;
  for (const PublishedDocument& document : documents)
    for (const PublishedEntry& entry : document.entries) {
      const auto matches = [&](const std::string& pattern) { return fnmatch(pattern.c_str(), entry.name.c_str(), 0) == 0; };
      const auto value = std::ranges::find(kPublishedFigures, measure, &PublishedFigure::name)->of(entry);
      if (!value || std::ranges::none_of(patterns, matches)) continue;
      std::vector<ClaimSource> sources{{entry.citation, entry.link.value_or("")}};
      if (!document.notice.empty()) sources.push_back({document.notice, ""});
      found.push_back({*value, entry.machine.description.value_or(""), std::move(sources), &document, &entry});
    }
  return found;
}

// One task with one program: MLPerf's terms also ask for one version and division, and no source is paired with another.
bool comparable(const Cited& a, const Cited& b) {
  if (!a.entry || !b.entry) return true;
  const PublishedEntry &of = *a.entry, &to = *b.entry;
  return a.document->source == b.document->source && of.benchmark == to.benchmark && of.task == to.task &&
         of.model == to.model && of.data == to.data && of.framework == to.framework && of.version == to.version &&
         of.division == to.division;
}

// SI units in one unit of this fact.
double unit_of(const std::string& fact) {
  constexpr double kMib = 1024.0 * 1024;
  if (fact.ends_with("_gb_per_second") || fact.ends_with("_ghz")) return 1e9;
  if (fact.ends_with("_tflops")) return 1e12;
  if (fact.ends_with("_gib")) return 1024 * kMib;
  return fact.ends_with("_mib") ? kMib : 1;
}

std::vector<Cited> rated(const Words& ids, const std::string& fact) {
  std::vector<Cited> found;
  for (const CatalogDevice& device : embedded_devices().devices) {
    const auto rating = device.facts.find(fact);
    if (contains(ids, device.id) && rating != device.facts.end() && rating->second.value)
      found.push_back({*rating->second.value * unit_of(fact), device.name, {source_of(rating->second)}});
  }
  return found;
}

void add_new(Words& texts, const std::string& text) {
  if (!text.empty() && !contains(texts, text)) texts.push_back(text);
}

// The numbers of `of`, or with `against` those of each comparable pair.
struct Citation {
  Numbers numbers = {.repeated = nullptr};
  Words of, to, programs;

  void add(double value, const Cited& cited) {
    numbers.of.push_back(value);
    for (const ClaimSource& source : cited.sources) cite(numbers.sources, source);
    add_new(of, cited.of);
    if (cited.entry) add_new(programs, cited.entry->framework.value_or(""));
  }
  std::string names() const { return joined(of) + (to.empty() ? "" : ", each against " + joined(to)); }
};

Citation citation_of(const ClaimQuantity& quantity, const std::vector<Cited>& of, const std::vector<Cited>& against) {
  Citation citation;
  for (const Cited& each : of) {
    if (quantity.against.empty()) citation.add(each.value, each);
    for (const Cited& other : against) {
      if (!comparable(each, other)) continue;
      citation.add(each.value / other.value, each);
      for (const ClaimSource& source : other.sources) cite(citation.numbers.sources, source);
      add_new(citation.to, other.of);
    }
  }
  return citation;
}

Numbers published_numbers(const ClaimQuantity& quantity, const Evidence& evidence) {
  if (quantity.entries.empty()) return {.missing = quantity.reason};
  const auto entries = [&](const Words& patterns) { return published(evidence.facts.published, patterns, quantity.measure); };
  Citation found = citation_of(quantity, entries(quantity.entries), entries(quantity.against));
  const std::size_t count = found.numbers.of.size();
  const bool pairs = !found.to.empty();
  if (count == 0) return {.missing = "nothing published in this program's set has such entries"};
  found.numbers.conditions = counted(count, pairs ? "pair" : "entry", pairs ? "pairs" : "entries") +
                             ", by others: " + found.names() +
                             (pairs ? " by the same program (" + joined(found.programs) + ")" : "");
  return found.numbers;
}

// Each * costs a search, so their number is limited.
void check_published(const ClaimQuantity& quantity, const JsonFields& fields) {
  constexpr std::size_t kLongest = 200, kMaxStars = 4;
  if (quantity.reason.empty()) check_given(fields, "entries");
  for (const auto& [key, patterns] : {std::pair("entries", &quantity.entries), std::pair("against", &quantity.against)})
    for (const std::string& pattern : *patterns)
      if (pattern.size() > kLongest || static_cast<std::size_t>(std::ranges::count(pattern, '*')) > kMaxStars)
        throw FormatError(fields.path(key) + ": a name has at most " + std::to_string(kLongest) + " characters and " +
                          std::to_string(kMaxStars) + " *");
}

Numbers rated_numbers(const ClaimQuantity& quantity, const Evidence&) {
  const std::string& over = quantity.over.empty() ? quantity.measure : quantity.over;
  Citation found = citation_of(quantity, rated(quantity.entries, quantity.measure), rated(quantity.against, over));
  if (found.numbers.of.empty()) return {.missing = "no device of the catalog has this rating"};
  found.numbers.conditions = "as rated: " + found.names();
  return found.numbers;
}

Words rated_facts() {
  Words facts(gpu_facts().begin(), gpu_facts().end());
  std::ranges::copy(cpu_facts(), std::back_inserter(facts));
  return facts;
}

void check_rated(const ClaimQuantity& quantity, const JsonFields& fields) {
  Words devices;
  for (const CatalogDevice& device : embedded_devices().devices) devices.push_back(device.id);
  for (const std::string& device : quantity.entries) check_word(fields.path("entries"), device, devices);
  for (const std::string& device : quantity.against) check_word(fields.path("against"), device, devices);
}

void check_stated(const ClaimQuantity& quantity, const JsonFields& fields) {
  for (std::size_t i = 0; i < quantity.figures.size(); ++i) {
    const StatedFigure& figure = quantity.figures[i];
    if (!figure.ci95) continue;
    const std::string place = fields.path("figures") + "[" + std::to_string(i) + "].ci95";
    if (figure.value < figure.ci95->first || figure.value > figure.ci95->second)
      throw FormatError(place + ": does not contain the value; give the ends as [low, high]");
    if (quantity.figures.size() > 1 && !quantity.each)
      throw FormatError(place + ": is of one figure among several; add \"each\": true, or leave it out");
    if (figure.over) throw FormatError(place + ": is of a ratio; give the ratio as value, without over");
  }
}

Numbers stated_numbers(const ClaimQuantity& quantity, const Evidence&) {
  Citation found;
  for (const StatedFigure& figure : quantity.figures) {
    const std::string ratio =
        figure.over ? " (" + short_number(figure.value) + " over " + short_number(*figure.over) + ")" : "";
    found.add(quantity.scale * figure.value / figure.over.value_or(1),
              {.of = figure.of + ratio, .sources = {{figure.source + ", " + figure.date, figure.url}}});
  }
  if (quantity.figures.size() == 1) found.numbers.ci95 = quantity.figures[0].ci95;
  found.numbers.conditions = "as stated for " + found.names();
  return found.numbers;
}

}  // namespace

ClaimKinds others_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "published",
       .numbers = published_numbers,
       .measures = published_figures,
       .evidence = EvidenceClass::published,
       .check = check_published},
      {.name = "rated",
       .numbers = rated_numbers,
       .needs = "entries",
       .measures = rated_facts,
       .over = rated_facts,
       .evidence = EvidenceClass::published,
       .check = check_rated},
      {.name = "stated",
       .numbers = stated_numbers,
       .needs = "figures",
       .by_figure = true,
       .evidence = EvidenceClass::published,
       .check = check_stated},
  };
  return kKinds;
}

}  // namespace epochbench
