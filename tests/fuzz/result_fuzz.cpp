// Result files, and every answer that needs no measurement.
#include <string>
#include <vector>

#include "epochbench/embedded.h"
#include "fuzz/compare_answers.h"
#include "fuzz/targets.h"
#include "src/analysis/claims/claims.h"
#include "src/analysis/sweep/curves.h"
#include "src/report/answers/answers_page.h"
#include "src/report/export/export.h"
#include "src/report/html/html_page.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "src/result/anonymous.h"
#include "src/result/result_json.h"

namespace epochbench::fuzz {
namespace {

const ClaimCatalog& claims() {
  static const ClaimCatalog catalog = parse_claims(*embedded_file("bench/claims.json"), "bench/claims.json");
  return catalog;
}

void write_exports(const Result& whole) {
  for (const ExportFormat& format : export_formats())
    for (const ExportForm& form : {format.whole, format.raw}) {
      if (!form.text) continue;
      Result result = whole;
      std::erase_if(result.runs, [&](const Run& run) { return !form.left_out(run).empty(); });
      try {
        form.text(result);
        if (format.folder && form.text == format.whole.text) format.folder(result, "/folder");
      } catch (const FormatError& error) {
        require_message(error.what());
      }
    }
}

void answer(const std::vector<NamedResult>& results) {
  const Result& result = results.front().result;
  write_answers(compare_results(results, results));
  write_exports(result);
  summary(result);
  remarks(result);
  input_text(result);
  answers_page(results.front());
  answers_json(results.front());
  for (const Run& run : result.runs)
    if (run.status == RunStatus::ok && run.profile) profile_text(run);
  for (const SpeedupOf what : {SpeedupOf::same_batch, SpeedupOf::best_batch}) {
    const Speedup speedup = speedup_of(results, what);
    speedup_text(speedup);
    print_json(speedup_json(speedup));
  }
  Result swept = result;
  for (const Axis axis : kAxes) {
    swept.answers = answers_of(result, axis);
    sweep_text(swept);
  }
  claims_text(claims(), judge(claims().claims, results));
  print_json(page_data(results, {}, ClaimCatalog{}));
}

}  // namespace

void result(std::string_view bytes) {
  std::vector<NamedResult> results(1);
  results.front().path = "fuzzed.json";
  Result& result = results.front().result;
  try {
    result = parse_result(bytes, "fuzzed.json");
  } catch (const FormatError& error) {
    require_message(error.what());
    return;
  }
  const std::string written = result_to_text(result);
  require(result_to_text(parse_result(written, "written.json")) == written, "what was written reads back as the same");
  parse_result(result_to_text(anonymous(result)), "anonymous.json");
  answer(results);
}

}  // namespace epochbench::fuzz
