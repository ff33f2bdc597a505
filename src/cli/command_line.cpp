#include "src/cli/command_line.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <poll.h>
#include <unistd.h>

#include "epochbench/backend.h"
#include "epochbench/dataset.h"
#include "src/base/errors.h"
#include "src/base/json.h"
#include "src/base/output_file.h"
#include "src/cli/commands.h"
#include "src/cli/examples.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

std::string first_of(const std::string& list) { return list.substr(0, list.find(',')); }  // "N" of "N,..."

// Every case option as text: what it may be is checked where cases are built, in one way for calls and suites.
// `keys`: those of a command that takes one value of each; all options, with their lists, where it is empty.
void add_case_options(CLI::App& command, const std::vector<std::string>& keys, CaseBlock& block) {
  for (const CaseOption& option : case_options()) {
    if (!keys.empty() && std::find(keys.begin(), keys.end(), option.key) == keys.end()) continue;
    if (std::string_view(option.key) == "repetitions") continue;  // each command has its own, for all cases
    command
        .add_option_function<std::string>(
            flag(option),
            [&option, &block](const std::string& text) {
              try {
                block[option.key] = {split_values(option, text), flag(option)};
              } catch (const CallError& error) {
                throw CallError(flag(option) + ": " + error.what());
              }
            },
            option.help)
        ->type_name(keys.empty() ? option.value_name : first_of(option.value_name));
  }
}

// CLI11's message as one line, with the way to the right one.
std::string parse_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string help = chosen.empty() ? "epochbench --help" : "epochbench " + chosen.front()->get_name() + " --help";
  if (dynamic_cast<const CLI::RequiredError*>(&error) && chosen.empty()) {
    const auto words = app.remaining();
    return (words.empty() ? "no command" : "unknown command '" + words.front() + "'") +
           "; choose from run, sweep, list, info, plan, speedup, compare, cost, claims, export, answers, report (see "
           "epochbench --help)";
  }
  return std::string(error.what()) + " (see " + help + ")";
}

// A full disk shows only when what was printed is written out. What one write lost, a later one does not tell of: ferror does.
void require_output_written() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return;  // its reader has gone, and wants no more
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return;
  const std::string why = flushed || errno == 0 ? "a part of it was not taken" : std::strerror(errno);
  throw FileError("cannot write the output: " + why + "; send stdout elsewhere");
}

template <typename Command>
int guarded(const Command& command) {
  try {
    const int code = command();
    if (code != kExitInterrupted) require_output_written();
    return code;
  } catch (const CallError& error) {
    print_error(error.what());
    return error.code();
  } catch (const DeviceError& error) {
    print_error(error.what());
    return kExitDeviceMissing;
  } catch (const std::bad_alloc&) {
    print_error("out of memory before anything ran; free some, or raise the limit");
    return kExitCallIsWrong;
  } catch (const std::invalid_argument& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const FormatError& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const FileError& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const DataError& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const std::exception& error) {
    print_error(std::string("unexpected error: ") + error.what());
    return kExitCallIsWrong;
  }
}

}  // namespace

std::string version_text() {
  const Context context = describe_context({});
  std::string text = "epochbench " + context.epochbench_version + " (";
  if (context.git_sha) text += context.git_sha->substr(0, 12) + (context.git_dirty.value_or(false) ? "-dirty, " : ", ");
  return text + context.build_type + ", " + context.compiler + ")";
}

int command_line(int argc, char** argv) {
  CLI::App app{kHelp, "epochbench"};
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "this help, or that of a command");
  bool version = false, json = false;
  app.add_flag_callback(
      "--version",
      [&version] {
        version = true;
        throw CLI::CallForVersion("", 0);
      },
      "the version");

  RunOptions run;
  CLI::App* run_app = app.add_subcommand("run", "train models and measure it");
  run_app->footer(kRunExamples);
  run_app->add_option("--suite", run.suite, "a suite's name or file (default quick, without --model)")->type_name("NAME|FILE");
  add_case_options(*run_app, {}, run.cases);
  run_app->add_option("--repetitions", run.repetitions, "all cases once, then all again (default: the suite's, or 1)")
      ->type_name("N");
  run_app->add_option("--budget", run.budget, "after so long the case that runs is ended, and what is left is skipped")
      ->type_name("SECONDS");
  run_app->add_option("--price", run.price, "USD an hour, or an instance of `list prices`: cpu=0.34,cuda=g5.xlarge")
      ->type_name("DEVICE=PRICE");
  run_app->add_option("--out", run.out, "the result file (default epochbench-<date>-<time>.json)")->type_name("FILE");
  run_app->add_option("--resume", run.resume, "run only what has no good run in this result")->type_name("FILE");
  run_app->add_flag("--profile", run.profile, "then time a step node by node, in a pass of its own");
  run_app->add_flag("--anonymous", run.anonymous, "leave out host name, paths and command line");
  run_app->add_flag("--quiet", run.quiet, "no progress and no table; errors are told all the same");
  run.command_line.assign(argv, argv + argc);

  SweepOptions sweep;
  CLI::App* sweep_app = app.add_subcommand("sweep", "throughput against size: best, where it flattens, where devices cross");
  sweep_app->footer(kSweepExamples);
  sweep_app->add_option("--over", sweep.over, "batch, width, samples or threads")->type_name("AXIS");
  sweep_app->add_option("--values", sweep.values, "the points (default: what the machine holds, in powers of two)")
      ->type_name("N,...");
  add_case_options(*sweep_app, {}, sweep.cases);
  sweep_app->add_option("--repetitions", sweep.repetitions, "of every point, each in a process of its own (default 1)")
      ->type_name("N");
  sweep_app->add_option("--price", sweep.price, "USD an hour, or an instance of `list prices`: cpu=0.34,cuda=g5.xlarge")
      ->type_name("DEVICE=PRICE");
  sweep_app->add_option("--out", sweep.out, "the result file (default epochbench-<date>-<time>.json)")->type_name("FILE");
  sweep_app->add_option("--resume", sweep.resume, "run only what has no good run in this result")->type_name("FILE");
  sweep_app->add_flag("--anonymous", sweep.anonymous, "leave out host name, paths and command line");
  sweep_app->add_flag("--json", sweep.json, "the result with its answers as JSON, instead of the table");
  sweep_app->add_flag("--quiet", sweep.quiet, "no progress and no table; errors are told all the same");
  sweep.command_line = run.command_line;

  std::string what;
  CLI::App* list_app = app.add_subcommand("list", "what there is to choose from");
  list_app->footer(kListExamples);
  list_app->add_option("what", what, "models, devices, suites, datasets, claims or prices (default: all)");
  list_app->add_flag("--json", json, "as JSON");

  CLI::App* info_app = app.add_subcommand("info", "this machine, with its measured peaks");
  info_app->footer(kInfoExamples);
  info_app->add_flag("--json", json, "as JSON");

  PlanOptions plan;
  CLI::App* plan_app = app.add_subcommand("plan", "parameters, FLOPs and memory of a model; runs nothing");
  plan_app->footer(kPlanExamples);
  add_case_options(*plan_app, {"model", "batch", "precision", "mode", "device"}, plan.cases);
  plan_app->add_flag("--json", json, "as JSON");

  CostOptions cost;
  CLI::App* cost_app = app.add_subcommand("cost", "local against cloud: cost per epoch, break-even hours a month");
  cost_app->footer(kCostExamples);
  cost_app->add_option("result", cost.result, "a result file (without: hours alone)")->type_name("RESULT");
  cost_app->add_option("--purchase", cost.purchase, "price of the local machine")->type_name("USD");
  cost_app->add_option("--lifetime", cost.lifetime, "over which its price is spread")->type_name("YEARS");
  cost_app->add_option("--power", cost.power, "that it draws at work (default: the result's, where a meter gave it)")
      ->type_name("WATTS");
  cost_app->add_option("--idle", cost.idle, "that it draws in the other hours (default: the result's, where a meter gave it)")
      ->type_name("WATTS");
  cost_app->add_option("--electricity", cost.electricity, "price of a kWh")->type_name("USD");
  cost_app->add_option("--utilisation", cost.utilisation, "part of all hours in which it works, above 0 to 1 (default 1)")
      ->type_name("FRACTION");
  cost_app->add_option("--cloud", cost.cloud, "an instance of `list prices` or USD an hour (default: the result's price)")
      ->type_name("PRICE");
  cost_app->add_option("--cloud-speed", cost.cloud_speed, "its samples a second over the local machine's (default 1)")
      ->type_name("RATIO");
  cost_app->add_flag("--json", json, "as JSON");

  SpeedupOptions speedup;
  CLI::App* speedup_app = app.add_subcommand("speedup", "how much faster, cheaper and thriftier, out of results");
  speedup_app->footer(kSpeedupExamples);
  speedup_app->add_option("RESULT", speedup.results, "result files, or folders of them");
  speedup_app->add_flag("--best", speedup.best, "each device at its own best batch");
  speedup_app->add_flag("--json", json, "as JSON");

  ClaimsOptions claims;
  CLI::App* claims_app = app.add_subcommand("claims", "what articles claim, and a verdict on each from results");
  claims_app->footer(kClaimsExamples);
  claims_app->add_option("result", claims.results, "result files, or folders of them (default: list the claims)")
      ->type_name("RESULT...");
  claims_app->add_flag("--strict", claims.strict, "exit with 1 if a claim is not reproduced");
  claims_app->add_flag("--json", json, "as JSON");

  ExportOptions exported;
  CLI::App* export_app = app.add_subcommand("export", "a result in the formats of other tools");
  export_app->footer("Formats:\n" + export_formats_help() + "\n" + kExportExamples);
  export_app->add_option("result", exported.result, "a result file")->type_name("RESULT")->required();
  export_app->add_option("--format", exported.format, "one of those below")->type_name("FORMAT")->required();
  export_app->add_flag("--raw", exported.raw, "csv: a row a step");
  export_app->add_option("-o,--out", exported.out, "a file, or a folder where the format has one (default: stdout)")
      ->type_name("FILE|DIR");

  CompareOptions compare;
  CLI::App* compare_app = app.add_subcommand("compare", "is the new one slower than the baseline? out of results");
  compare_app->footer(kCompareExamples);
  compare_app->add_option("BASELINE", compare.baseline, "results: a file, or a folder of them")->type_name("");
  compare_app->add_option("NEW", compare.contender, "the same of what is new")->type_name("");
  compare_app->add_option("--history", compare.history, "change points over many results, in place of BASELINE and NEW")
      ->type_name("DIR");
  compare_app->add_option("--threshold", compare.threshold, "of a slowdown that matters (default 3)")->type_name("PERCENT");
  compare_app->add_flag("--allow-missing", compare.allow_missing, "a case that the new side lacks is no failure");
  compare_app->add_flag("--force", compare.force, "also debug builds");
  compare_app->add_flag("--github", compare.github, "annotations and a job summary for GitHub Actions");
  compare_app->add_flag("--json", json, "as JSON");
  compare_app->add_option("--interleave", compare.interleave, "two binaries take turns, in place of BASELINE and NEW")
      ->type_name("BINARY")
      ->expected(2);
  compare_app->add_option("--suite", compare.suite, "with --interleave: a suite's name or file, such as gate")
      ->type_name("NAME|FILE");
  compare_app
      ->add_option("--max-pairs", compare.max_pairs,
                   "with --interleave: of processes, a case, where 10 do not decide (default 20)")
      ->type_name("N");
  compare_app->add_option("--order-seed", compare.order_seed, "with --interleave: of who has which turn (default 0)")
      ->type_name("N");
  compare_app->add_option("-o,--out", compare.out, "with --interleave: keeps every pair and its step times")->type_name("FILE");
  compare_app->add_flag("--quiet", compare.quiet, "with --interleave: no progress");
  compare.command_line = run.command_line;

  std::string answers_result;
  CLI::App* answers_app = app.add_subcommand("answers", "one page of answers out of a result, as `run --suite hour` ends with");
  answers_app->footer(kAnswersExamples);
  answers_app->add_option("result", answers_result, "a result file")->type_name("RESULT")->required();
  answers_app->add_flag("--json", json, "as JSON");

  ReportOptions report;
  CLI::App* report_app = app.add_subcommand("report", "results as one HTML page, with tables and charts");
  report_app->footer(kReportExamples);
  report_app->add_option("RESULT", report.results, "files of `run --out` or of `compare --interleave -o`, or folders of them");
  report_app->add_option("-o,--out", report.out, "the page; replaced whole")->type_name("FILE.html");

  bool calibrate = false;
  CLI::App* case_app = app.add_subcommand("case", "one case, driven by its parent")->group("");
  case_app->add_flag("--calibrate", calibrate, "the parent will ask for the machine's peaks");

  return guarded([&] {
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& done) {  // help or version
      if (version)
        std::printf("%s\n", version_text().c_str());
      else
        app.exit(done);
      return static_cast<int>(kExitDone);
    } catch (const CLI::ParseError& error) {
      throw CallError(parse_message(app, error));
    }
    for (const CLI::App* command : {run_app, sweep_app, cost_app, compare_app, export_app, report_app})
      for (const CLI::Option* option : command->get_options())
        if (option->count() > 0 && option->get_type_size() > 0 && option->results().front().empty())
          throw CallError(option->get_name() + ": an empty value; give one or leave the option out");
    if (run_app->parsed()) return run_command(run);
    if (sweep_app->parsed()) return sweep_command(sweep);
    if (list_app->parsed()) return list_command(what, json);
    if (info_app->parsed()) return info_command(json);
    if (case_app->parsed()) return case_command();
    cost.json = speedup.json = compare.json = claims.json = plan.json = json;
    if (cost_app->parsed()) return cost_command(cost);
    if (export_app->parsed()) return export_command(exported);
    if (answers_app->parsed()) return answers_command(answers_result, json);
    if (speedup_app->parsed()) return speedup_command(speedup);
    if (compare_app->parsed()) return compare_command(compare);
    if (report_app->parsed()) return report_command(report);
    if (claims_app->parsed()) return claims_command(claims);
    return plan_command(plan);
  });
}

}  // namespace epochbench
