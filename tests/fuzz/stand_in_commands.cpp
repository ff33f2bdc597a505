// Commands that read their case options as the real ones do, and measure nothing.
#include "src/base/errors.h"
#include "src/cli/commands.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

int read_cases(const CaseBlock& cases) {
  expand(cases);
  return kExitDone;
}

}  // namespace

Context describe_context(const std::vector<std::string>&) { return {}; }

std::string export_formats_help() { return "formats\n"; }

int run_command(const RunOptions& options) { return read_cases(options.cases); }
int sweep_command(const SweepOptions& options) { return read_cases(options.cases); }
int plan_command(const PlanOptions& options) { return read_cases(options.cases); }

int list_command(const std::string&, bool) { return kExitDone; }
int info_command(bool) { return kExitDone; }
int cost_command(const CostOptions&) { return kExitDone; }
int speedup_command(const SpeedupOptions&) { return kExitDone; }
int claims_command(const ClaimsOptions&) { return kExitDone; }
int compare_command(const CompareOptions&) { return kExitDone; }
int export_command(const ExportOptions&) { return kExitDone; }
int report_command(const ReportOptions&) { return kExitDone; }
int answers_command(const std::string&, bool) { return kExitDone; }
int case_command() { return kExitDone; }
int interleave_command(const InterleaveOptions& options) { return read_cases(options.cases); }

}  // namespace epochbench
