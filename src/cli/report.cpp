// epochbench report: results as one HTML file.
#include <cstdio>
#include <filesystem>
#include <map>

#include "src/analysis/claims/claims.h"
#include "src/base/files.h"
#include "src/base/numbers.h"
#include "src/cli/commands.h"
#include "src/cli/elsewhere.h"
#include "src/cli/result_arguments.h"
#include "src/published/import.h"
#include "src/report/html/html_page.h"
#include "src/session/claim_plans.h"
#include "src/session/outside_program.h"
#include "src/session/page/chart_files.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

constexpr const char* kReportExamples = R"(Examples:
  epochbench report result.json -o result.html
  epochbench report cpu-box.json gpu-box.json -o both.html   two machines on one page
  epochbench report result.json -o result.html --open --charts charts/
  epochbench report result.json --on T4,a100 -o result.html  with these devices, published and predicted
  epochbench report nightly/ -o nightly.html                 many dated results, with their history
  epochbench report claims.json --articles -o articles.html  what articles say, and what was found
  epochbench report turns.json -o turns.html                 what `compare --interleave -o turns.json` measured

The page is one file that opens from disk and fetches nothing: the answers first, then tables that sort and charts with
their intervals. It contains the names of the result files without their folders, the host name, command lines and paths of data
sets (idx:DIR). Results made with --anonymous have none of the last three.)";

struct ReportOptions {
  std::vector<std::string> results;  // files and folders
  std::string out;                   // the page
  PriceOptions prices;
  PageOptions page;
  std::string charts;           // a folder; empty: none
  std::vector<std::string> on;  // devices of the catalog
  bool open = false;
};

// A page is sent to others, who should not see this machine's folders: a file is identified by its name, and among files with
// the same name by a number too.
void leave_out_folders(Measurements& measured) {
  std::map<std::string, int> seen;
  const auto leave_out = [&](std::string& path) {
    path = std::filesystem::path(path).filename().string();
    if (const int number = ++seen[path]; number > 1) path += " (" + std::to_string(number) + ")";
  };
  for (NamedResult& named : measured.results) leave_out(named.path);
  for (NamedTurns& named : measured.turns) leave_out(named.path);
}

std::size_t files_of(const Measurements& measured) { return measured.results.size() + measured.turns.size(); }

// "6 runs (2 of them without a result)", "3 cases by turns", or both.
std::string content_of(const Measurements& measured) {
  std::size_t runs = 0, empty = 0, cases = 0;
  for (const NamedResult& named : measured.results)
    for (const Run& run : named.result.runs) {
      runs += run.status != RunStatus::skipped;
      empty += run.status != RunStatus::skipped && run.status != RunStatus::ok;
    }
  for (const NamedTurns& named : measured.turns) cases += named.document.cases.size();
  const std::string by_turns = counted(cases, "case", "cases") + " by turns";
  if (measured.results.empty()) return by_turns;
  return counted(runs, "run", "runs") + (empty > 0 ? " (" + std::to_string(empty) + " of them without a result)" : "") +
         (measured.turns.empty() ? "" : " and " + by_turns);
}

ClaimFacts facts_for_claims() {
  ClaimFacts facts = facts_for(embedded_claims().claims);
  facts.published = embedded_published();
  return facts;
}

int report(const ReportOptions& options) {
  if (options.out.empty()) throw CallError("report: no output file; add -o FILE.html");
  const std::string browser = options.charts.empty() ? "" : chart_browser();
  std::optional<ResultFile> file;
  if (options.out != kStandardStream)
    file.emplace(options.out);
  else if (options.open)
    throw CallError("--open: a page on stdout is in no file; add -o FILE.html");
  std::FILE* const messages = file ? stdout : stderr;
  Measurements measured = read_measurement_arguments("report", options.results);
  for (const NamedResult& named : measured.results) refuse_to_replace(options.out, named.path);
  for (const NamedTurns& named : measured.turns) refuse_to_replace(options.out, named.path);
  for (NamedResult& named : measured.results) reprice(named, options.prices);
  leave_out_folders(measured);
  PageOptions page_options = options.page;
  if (shows_claims(measured.results, page_options)) page_options.facts = facts_for_claims();
  if (!options.on.empty()) page_options.elsewhere = elsewhere(measured.results, {options.on, {}, {}});
  const Json data = page_data(measured.results, measured.turns, embedded_claims(), page_options);
  const auto title = data["head"]["title"].get<std::string>();
  const std::string page = html_page(data, title);
  if (file)
    file->write(page);
  else
    print(page);
  std::fprintf(messages, "%s: %s of %s, %s\n", options.out.c_str(), content_of(measured).c_str(),
               counted(files_of(measured), "file", "files").c_str(), format_bytes(static_cast<double>(page.size())).c_str());
  if (options.open)
    if (const std::string why_not = open_in_browser(options.out); !why_not.empty())
      std::printf("no browser could be started (%s); the page is %s\n", why_not.c_str(),
                  std::filesystem::absolute(options.out).lexically_normal().c_str());
  if (!options.charts.empty()) {
    const std::size_t charts = write_charts(options.charts, browser, data, title).size();
    std::fprintf(messages, "%s: %s as SVG and as PNG\n", options.charts.c_str(), counted(charts, "chart", "charts").c_str());
  }
  return kExitDone;
}

}  // namespace

void add_report(Commands& commands) {
  auto [command, options] =
      commands.add("report", "write results as one HTML page, with tables and charts", kReportExamples, report);
  command.add_option("RESULT", options.results, "files of `run --out` or of `compare --interleave -o`, or folders of them");
  command.add_option("-o,--out", options.out, "write the page to this file, which it replaces; - is stdout")
      ->type_name("FILE.html");
  add_price_options(command, options.prices);
  add_on_option(command, options.on);
  command.add_option("--title", options.page.title, "title of the page (default: what was measured, and on what)");
  command.add_flag("--open", options.open, "show the page in the browser");
  command.add_option("--charts", options.charts, "write each chart as SVG and PNG too, which needs Chromium")->type_name("DIR");
  command.add_flag("--articles", options.page.articles,
                   "add what each article says and what was measured, computed, published and predicted about it");
  command.add_flag("--claims", options.page.claims,
                   "add the verdicts on claims of articles; a result of the suite `claims` always has them");
}

}  // namespace epochbench
