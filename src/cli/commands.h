// The subcommands. Each takes its options as read from the call and returns the exit code; what goes wrong is thrown.
#pragma once

#include <string>
#include <vector>

#include "src/case/case_block.h"

namespace epochbench {

struct RunOptions {
  std::string suite;        // a name or a file; empty: none named
  CaseBlock cases;          // options given on the command line
  std::string repetitions;  // empty: the suite's and its cases', or 1
  std::string budget;       // in seconds; empty: the suite's, or none
  std::string price, out, resume;
  std::vector<std::string> worker;  // the command of a peer's worker; empty: this program
  bool anonymous = false, profile = false, quiet = false;
  std::vector<std::string> command_line;
};
int run_command(const RunOptions& options);

struct SweepOptions {
  CaseBlock cases;     // options given on the command line
  std::string over;    // batch, width, samples or threads
  std::string values;  // "1,2,4"; empty: those of the axis
  std::string repetitions, price, out, resume;
  bool anonymous = false, json = false, quiet = false;
  std::vector<std::string> command_line;
};
int sweep_command(const SweepOptions& options);

int list_command(const std::string& what, bool json);  // "" lists everything
int info_command(bool json);

struct ClaimsOptions {
  std::vector<std::string> results;  // files or folders; empty: the claims alone
  bool strict = false, json = false;
};
int claims_command(const ClaimsOptions& options);

struct PlanOptions {
  CaseBlock cases;  // model, batch, precision, mode, device
  bool json = false;
};
int plan_command(const PlanOptions& options);

struct CostOptions {  // as text; empty: not given
  std::string result, purchase, lifetime, power, idle, electricity, utilization, cloud, cloud_speed;
  bool json = false;
};
int cost_command(const CostOptions& options);

struct SpeedupOptions {
  std::vector<std::string> results;  // files and folders
  bool best = false, json = false;
};
int speedup_command(const SpeedupOptions& options);

struct ExportOptions {
  std::string result, format;
  std::string out;  // a file or a folder; empty: stdout
  bool raw = false;
};
int export_command(const ExportOptions& options);
std::string export_formats_help();  // a line a format

struct CompareOptions {
  std::string baseline, contender;  // results: a file or a folder each; empty: not given
  std::string history;              // a folder of results; empty: not asked for
  std::string threshold;            // in percent; empty: the rule's
  bool allow_missing = false, force = false, github = false, json = false;
  // Of two binaries that take turns, in place of results.
  std::vector<std::string> interleave;       // their paths: the baseline and the new one; empty: not asked for
  std::string suite, max_pairs, order_seed;  // as text; empty: not given
  std::string out;                           // keeps every pair; empty: nowhere
  bool quiet = false;
  std::vector<std::string> command_line;
};
int compare_command(const CompareOptions& options);
int compare_interleave(const CompareOptions& options);

struct InterleaveOptions {  // of the hidden subcommand that scripts/peers/take_turns calls
  CaseBlock cases;
  std::vector<std::string> worker;                                   // the command of the peer's worker
  std::string groups, rounds, min_time, drop, order_seed, patience;  // as text; empty: not given
  std::string out;
  bool resume = false, json = false, quiet = false;
  std::vector<std::string> command_line;
};
int interleave_command(const InterleaveOptions& options);

int answers_command(const std::string& result, bool json);

struct ReportOptions {
  std::vector<std::string> results;  // files and folders
  std::string out;                   // the page
};
int report_command(const ReportOptions& options);

// The process of one case, driven by its parent over standard input and output.
int case_command();

std::string version_text();  // "epochbench 0.1.0 (1a2b3c4, Release, GNU 12.2.0)"
std::string own_binary();    // the path of this program

}  // namespace epochbench
