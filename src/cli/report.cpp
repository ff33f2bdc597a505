// epochbench report: results as one HTML file.
#include <cstdio>
#include <filesystem>
#include <map>

#include "src/cli/claims.h"
#include "src/cli/commands.h"
#include "src/cli/errors.h"
#include "src/cli/result_arguments.h"
#include "src/report/html_page.h"
#include "src/report/page_data.h"
#include "src/report/result_file.h"
#include "src/report/units.h"

namespace epochbench {
namespace {

// A page is sent to others, whom this machine's folders do not concern: a file is known by its name, and where two have the
// same one by its place among them too.
void leave_out_folders(std::vector<NamedResult>& results) {
  std::map<std::string, int> seen;
  for (NamedResult& named : results) {
    named.path = std::filesystem::path(named.path).filename().string();
    if (const int number = ++seen[named.path]; number > 1) named.path += " (" + std::to_string(number) + ")";
  }
}

std::string title_of(const std::vector<NamedResult>& results) {
  const std::string rest = results.size() > 1 ? " and " + std::to_string(results.size() - 1) + " more" : "";
  return "epochbench report: " + results.front().path + rest;
}

}  // namespace

int report_command(const ReportOptions& options) {
  if (options.out.empty()) throw CallError("report: no page to write; name it with -o FILE.html");
  const ResultFile file(options.out);
  std::vector<NamedResult> results = read_result_arguments("report", options.results);
  leave_out_folders(results);
  const Json data = page_data(results, embedded_claims());
  const std::string page = html_page(data, title_of(results));
  file.write(page);
  std::size_t runs = 0;
  for (const NamedResult& named : results) runs += named.result.runs.size();
  std::printf("%s: %s %s of %zu %s, %s\n", options.out.c_str(), format_count(static_cast<std::int64_t>(runs)).c_str(),
              runs == 1 ? "run" : "runs", results.size(), results.size() == 1 ? "file" : "files",
              format_bytes(static_cast<double>(page.size())).c_str());
  return kExitDone;
}

}  // namespace epochbench
