// Documents of interleaved turns, and every answer from them.
#include <string>
#include <vector>

#include "fuzz/compare_answers.h"
#include "fuzz/targets.h"
#include "src/analysis/compare/comparison.h"
#include "src/report/compare/compare_report.h"
#include "src/report/html/html_page.h"
#include "src/result/result_json.h"

namespace epochbench::fuzz {

void turns(std::string_view bytes) {
  std::vector<NamedTurns> turns(1);
  turns.front().path = "fuzzed.json";
  TurnsDocument& document = turns.front().document;
  try {
    document = parse_turns(bytes, "fuzzed.json");
  } catch (const FormatError& error) {
    require_message(error.what());
    return;
  }
  const std::string written = turns_to_text(document);
  require(turns_to_text(parse_turns(written, "written.json")) == written, "what was written reads back as the same");
  pairs_wanted(document, rule_of(document));
  write_answers(compare_turns(document, rule_of(document)));
  turns.push_back(turns.front());
  const History history = history_of({}, turns);
  history_text(history);
  print_json(history_json(history));
  html_page(page_data({}, turns, ClaimCatalog{}), "fuzzed");
}

}  // namespace epochbench::fuzz
