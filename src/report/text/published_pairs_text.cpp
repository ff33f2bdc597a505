// The answer of `speedup --with published`: throughput measured here beside that which others published.
#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/result/evidence.h"

namespace epochbench {
namespace {

// "1.23x", "1/426x": a small ratio by its inverse, which has digits.
std::string ratio_text(double ratio) {
  constexpr double kSmall = 0.1;
  return ratio >= kSmall || !(ratio > 0) ? format_times(ratio) : "1/" + significant(1 / ratio, 3) + "x";
}

}  // namespace

std::string published_pairs_text(const PublishedPairs& published, bool verbose) {
  View view = {"", columns("measured here|>samples/s|published by others|>published samples/s|>ratio|notes")};
  Notes notes;
  for (const PublishedPair& pair : published.pairs) {
    const std::string differs = notes.mark(joined(pair.differences, "; ")), source = notes.mark(pair.citation);
    view.rows.push_back({pair.run, format_rate(pair.measured), pair.machine, format_rate(pair.published),
                         ratio_text(pair.ratio), differs + source});
  }
  return terminal_table(view) +
         wrapped("", "",
                 "ratio: samples per second measured here over those published, of machines, programs, batches and inputs "
                 "that differ as the notes say; without an interval, since the source has one training each") +
         notes_below(numbered(notes.all()), verbose) + wrapped("", "", published.notice);
}

Json published_pairs_json(const PublishedPairs& published) {
  Json pairs = Json::array();
  for (const PublishedPair& pair : published.pairs)
    pairs.push_back({{"evidence", name(EvidenceClass::published)},
                     {"run", pair.run},
                     {"file", pair.file},
                     {std::string("measured_") + kThroughput.key, pair.measured},
                     {"repetitions", pair.repetitions},
                     {"published_entry", pair.entry},
                     {"published_machine", pair.machine},
                     {std::string("published_") + kThroughput.key, pair.published},
                     {"ratio_to_published", pair.ratio},
                     {"ratio_to_published_reason", "no interval: the source has one training each"},
                     {"differences", pair.differences},
                     {"citation", pair.citation},
                     {"link", text_or_null(pair.link)}});
  return {{"evidence", name(EvidenceClass::published)}, {"notice", published.notice}, {"pairs", std::move(pairs)}};
}

}  // namespace epochbench
