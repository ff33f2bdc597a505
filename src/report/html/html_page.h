// One HTML file that shows results, assembled from the template, style and script in src/report/html/page/, the charting
// library and the data. It opens from disk and fetches nothing.
//
// Text of results is only in one JSON block, in which every "<" is written as \u003c, so that no string can end the block or
// begin markup; the page's script inserts it as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analysis/claims/claims.h"
#include "src/analysis/predict/elsewhere.h"
#include "src/base/json.h"
#include "src/result/turns.h"

namespace epochbench {

// What the page shows, as one JSON document: measurements and the conclusions of src/analysis, laid out for drawing. Nothing is
// drawn or judged here: the page's JavaScript draws, and src/analysis judges.
//
// head, content, machines[], files[], tables{}, columns[], rows[], speedup, sweeps[], turns[], history[], steps[], losses[],
// profiles[], claims, articles; a part that the measurements do not cover is empty or null. tables: each as page_table() makes
// it, also for readers without scripts. At most some 15 MB for 10,000 runs: long series are downsampled (`every`).
struct PageOptions {
  std::string title = {};                 // empty: derived from what was measured
  bool claims = false;                    // even if the results were not measured to judge claims
  bool articles = false;                  // what each article says, with every class of evidence
  ClaimFacts facts = {};                  // for judging claims, in addition to the results
  std::vector<Elsewhere> elsewhere = {};  // models beside devices that were not measured
};
// Whether the page has verdicts on claims, which need facts.
bool shows_claims(const std::vector<NamedResult>& results, const PageOptions& options);

Json page_data(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns, const ClaimCatalog& catalog,
               const PageOptions& options = {});

enum class PageUse : std::uint8_t {
  reading,
  chart_files  // a browser leaves the page's charts in it, as JSON in a script element with the ID "charts" (export.js)
};

// `data`: from page_data(). `title`: the window's title, any text.
std::string html_page(const Json& data, const std::string& title, PageUse use = PageUse::reading);

// "&lt;b&gt;" for "<b>": text between tags or within a quoted attribute.
std::string html_text(std::string text);

// JSON for a script element: no "<", only valid UTF-8, null for numbers that are not finite.
std::string json_for_html(const Json& data);

}  // namespace epochbench
